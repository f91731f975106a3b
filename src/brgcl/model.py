"""BRGCL, the estimator: `fit` a graph without labels, `transform` any graph like it."""

import contextlib
import dataclasses
import inspect
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from torch import Tensor
from torch_geometric.data import Data

from brgcl.atomic_files import replacing, write_json
from brgcl.checkpoint import load_training, saving
from brgcl.config import BRGCLConfig
from brgcl.data.fingerprint import fingerprint
from brgcl.data.graphs import check_graph
from brgcl.errors import InputError, NotFitted
from brgcl.machine import check_width, keep_freed_memory
from brgcl.method.attributes import Preparation, learn_preparation
from brgcl.method.confidence import threshold
from brgcl.method.encoder import Encoder
from brgcl.method.graph import Graph
from brgcl.method.inputs import prepare
from brgcl.method.train import (
    Epoch,
    begin_training,
    continue_training,
    find_prototypes,
    make_encoder,
    num_negatives,
)
from brgcl.progress import progress_bar
from brgcl.tasks.cluster import Clusters, kmeans

log = logging.getLogger("brgcl")

FORMAT = "brgcl-model-1"
LEARNED = ("representations_", "pseudo_labels_", "prototypes_", "confidence_", "confident_")


class BRGCL:
    """Robust node representations, learned without labels (Bayesian Robust GCL).

    Arguments are the fields of `BRGCLConfig`, by keyword. `fit` reads attributes and edges only.

    Attributes:
        representations_: Unit-length representations of the training graph, `(N, D)`.
        pseudo_labels_: Cluster of each node, `(N,)`.
        prototypes_: Robust prototypes, `(K, D)`.
        num_prototypes_: K, found by clustering the final representations from a cold start.
        num_prototypes_capped_: Whether K stopped at `max_prototypes`.
        confidence_: Confidence of each node in its pseudo label, in [0, 1], `(N,)`.
        confident_: Mask of confident nodes, `(N,)`.
        history_: What each epoch did, a list of `Epoch`.

    Example:
        >>> import brgcl
        >>> data = brgcl.make_graph(num_nodes=120, num_classes=3, labels_per_class=5)
        >>> model = brgcl.BRGCL(epochs=2, hidden=16, dim=8, warmup_epochs=1).fit(data)
        >>> model.transform(data).shape
        torch.Size([120, 8])
    """

    config_: BRGCLConfig
    encoder_: Encoder
    preparation_: Preparation
    representations_: Tensor
    pseudo_labels_: Tensor
    prototypes_: Tensor
    num_prototypes_: int
    num_prototypes_capped_: bool
    confidence_: Tensor
    confident_: Tensor
    history_: list[Epoch]

    def __init__(self, **params: Any) -> None:
        BRGCLConfig.check_names(params)
        self.config = BRGCLConfig(**params)

    @classmethod
    def from_config(cls, config: BRGCLConfig) -> "BRGCL":
        """Make an estimator with these settings."""
        return cls(**config.to_dict())

    def fit(
        self,
        data: Data,
        y: None = None,
        *,
        progress: bool = False,
        callback: Callable[[Epoch], None] | None = None,
        checkpoint: str | Path | None = None,
    ) -> "BRGCL":
        """Learn from a graph; labels in `data`, if there are any, are not read.

        Args:
            data: A graph with `x` and `edge_index`.
            y: Ignored, there for scikit-learn's sake.
            progress: Show a progress bar on stderr.
            callback: Called with an `Epoch` after each epoch.
            checkpoint: A file that keeps where training stands, every five seconds or every
                epoch, whichever is longer. If it is there, training goes on from it and ends as
                if it had never stopped; at the end it is removed.

        Returns:
            The fitted estimator itself.

        Raises:
            InputError: The graph is wrong, or the checkpoint is of another graph or of other
                settings.
        """
        keep_freed_memory()
        config = self.config_ = self.config
        data = check_graph(_without_labels(data))
        kind = None if config.attributes == "auto" else config.attributes
        self.preparation_ = learn_preparation(data.x, kind)
        graph = self._graph(data)
        _tell_negatives(config, graph.x.shape[0])
        _tell_warmup(config)
        check_width(*graph.x.shape, *[config.hidden] * (config.num_layers - 1), config.dim)
        training = begin_training(graph, config, torch.Generator().manual_seed(config.seed))
        file = None if checkpoint is None else Path(checkpoint)
        save = None
        if file is not None:
            name = fingerprint(data, None, config.to_dict())
            load_training(file, training, name)
            save = saving(file, training, name)
        shown = progress_bar("training") if progress else contextlib.nullcontext()
        with shown as report:

            def after_epoch(epoch: Epoch) -> None:
                if save is not None:
                    save(epoch)
                if report is not None:
                    report(epoch.epoch, config.epochs, str(epoch))
                if callback is not None:
                    callback(epoch)

            continue_training(training, graph, config, after_epoch)
        self.encoder_, self.history_ = training.encoder, training.history
        self.encoder_.requires_grad_(False)
        h = self._encode(graph)
        gamma = threshold(len(self.history_), config.epochs, config.gamma0)
        found = find_prototypes(h, graph, gamma, config, None, max_rounds=300)
        self.representations_ = h.cpu()
        self.pseudo_labels_ = found.clusters.assignment.cpu()
        self.prototypes_ = found.prototypes.cpu()
        self.num_prototypes_ = found.clusters.num_clusters
        self.num_prototypes_capped_ = found.clusters.capped
        self.confidence_ = found.confidence.cpu()
        self.confident_ = found.confident.cpu()
        if file is not None:
            file.unlink(missing_ok=True)
        return self

    def transform(self, data: Data) -> Tensor:
        """Represent the nodes of a graph that has the attributes of the training graph.

        Args:
            data: The training graph or another one, a subgraph of it for example.

        Returns:
            Unit-length rows, `(N, D)`, float32.
        """
        self._check_fitted()
        data = check_graph(_without_labels(data), announce=False)
        expected = self.encoder_.weights[0].shape[0]
        if data.x.shape[1] != expected:
            raise InputError(
                f"the graph has {data.x.shape[1]} attributes but the model was fitted with "
                f"{expected}; give the same columns in the same order"
            )
        return self._encode(self._graph(data)).cpu()

    def fit_transform(self, data: Data, y: None = None, **options: Any) -> Tensor:
        """Fit, then return the representations of the same graph, `(N, D)`."""
        return self.fit(data, **options).representations_

    def cluster(self, k: int | None = None) -> Tensor:
        """Return the cluster of each training node, `(N,)`.

        Args:
            k: Number of clusters for K-means; None takes the pseudo labels and their number.
        """
        self._check_fitted()
        if k is None:
            return self.pseudo_labels_
        found: Clusters = kmeans(self.representations_, k, seed=self.config.seed)
        return found.assignment

    def save(self, path: str | Path) -> None:
        """Write the fitted model into a folder: weights as safetensors, settings as JSON.

        `model.safetensors` alone is enough to load; it is replaced in one step.
        """
        self._check_fitted()
        folder = Path(path)
        tensors = {f"encoder.{name}": t for name, t in self.encoder_.state_dict().items()}
        for name in ("mean", "scale"):
            value = getattr(self.preparation_, name)
            if value is not None:
                tensors[f"preparation.{name}"] = value
        tensors |= {name: getattr(self, name) for name in LEARNED}
        settings = {
            "format": FORMAT,
            "config": self.config_.to_dict(),
            "preparation": self.preparation_.kind,
            "num_prototypes_capped": self.num_prototypes_capped_,
            "history": [dataclasses.asdict(epoch) for epoch in self.history_],
        }
        tensors = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}
        with replacing(folder / "model.safetensors") as temporary:
            safetensors.torch.save_file(tensors, temporary, {"brgcl": json.dumps(settings)})
        write_json(folder / "config.json", self.config_.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> "BRGCL":
        """Read a model that `save` wrote; nothing in it is executed.

        Raises:
            InputError: The folder holds no model, or a damaged one.
        """
        file = Path(path) / "model.safetensors"
        if not file.is_file():
            raise InputError(f"no model in '{path}': '{file.name}' is not there")
        try:
            with safe_open(file, framework="pt") as stored:
                settings = json.loads((stored.metadata() or {}).get("brgcl", "{}"))
                tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        except (SafetensorError, ValueError, OSError) as error:
            raise InputError(f"'{file}' is damaged ({error}); save the model again") from error
        if not isinstance(settings, dict) or settings.get("format") != FORMAT:
            raise InputError(f"'{file}' is not a brgcl model of this version ({FORMAT})")
        try:
            return cls._from_stored(settings, tensors)
        except (KeyError, TypeError, RuntimeError) as error:
            text = " ".join(str(error).split())
            raise InputError(f"'{file}' is damaged ({text}); save the model again") from error

    @classmethod
    def _from_stored(cls, settings: dict[str, Any], tensors: dict[str, Tensor]) -> "BRGCL":
        settings["config"].pop("products", None)  # a setting that older files have
        model = cls(**settings["config"])
        model.config_ = model.config
        model.preparation_ = Preparation(
            settings["preparation"],
            tensors.get("preparation.mean"),
            tensors.get("preparation.scale"),
        )
        num_features = tensors["encoder.weights.0"].shape[0]
        model.encoder_ = make_encoder(num_features, model.config, torch.Generator())
        prefix = "encoder."
        state = {k.removeprefix(prefix): t for k, t in tensors.items() if k.startswith(prefix)}
        model.encoder_.load_state_dict(state)
        model.encoder_.requires_grad_(False).to(model.config.device)
        for name in LEARNED:
            setattr(model, name, tensors[name])
        model.num_prototypes_ = model.prototypes_.shape[0]
        model.num_prototypes_capped_ = settings["num_prototypes_capped"]
        model.history_ = [Epoch(**epoch) for epoch in settings["history"]]
        return model

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all settings, as scikit-learn expects."""
        return self.config.to_dict()

    def set_params(self, **params: Any) -> "BRGCL":
        """Change settings; learned attributes stay until the next `fit`."""
        self.config = self.config.replace(**params)
        return self

    def __repr__(self) -> str:
        changed = {
            field.name: getattr(self.config, field.name)
            for field in dataclasses.fields(self.config)
            if getattr(self.config, field.name) != field.default
        }
        return f"BRGCL({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def _graph(self, data: Data) -> Graph:
        return prepare(data, self.preparation_, self.config.device)

    def _encode(self, graph: Graph) -> Tensor:
        with torch.no_grad():
            h: Tensor = self.encoder_(graph.x, graph.adjacency.normalized)
        return F.normalize(h, dim=1)

    def _check_fitted(self) -> None:
        if not hasattr(self, "encoder_"):
            raise NotFitted("this BRGCL is not fitted yet; call fit(data) first")


def _without_labels(data: Data) -> Data:
    """Keep what the method reads: attributes and edges."""
    if not isinstance(data, Data):
        return check_graph(data)  # says what is wrong with it
    names = ("x", "edge_index", "edge_weight", "num_nodes", "node_ids")
    return Data(**{name: data[name] for name in names if name in data})


BRGCL.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default)
        for field in dataclasses.fields(BRGCLConfig)
    ]
)


def _tell_negatives(config: BRGCLConfig, num_nodes: int) -> None:
    """Say when a sample of nodes was chosen for the node contrast instead of all."""
    if config.node_objective == "decorrelation":
        return
    m = num_negatives(config, num_nodes)
    if config.num_negatives == "auto" and m is not None:
        log.info(
            "contrasting with %s of the %s nodes, drawn anew in each epoch; "
            "num_negatives=none takes all",
            f"{m:,}",
            f"{num_nodes:,}",
        )


def _tell_warmup(config: BRGCLConfig) -> None:
    """Say when training ends before prototypes join."""
    if config.warmup_epochs >= config.epochs and config.proto_weight != 0:
        log.warning(
            "prototypes never join: training has %d epochs and the warm-up %d; "
            "set warmup_epochs below epochs, or proto_weight=0 if this is meant",
            config.epochs,
            config.warmup_epochs,
        )
