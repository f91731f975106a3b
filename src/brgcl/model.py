"""The estimator BRGCL: `fit` a graph without labels, `transform` any graph with its attributes."""

import contextlib
import dataclasses
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from brgcl.checkpoint import load_training, saving
from brgcl.config import Activation, BRGCLConfig, EncoderKind, Mode, Scaling, ViewKind
from brgcl.data.graphs import check_graph
from brgcl.data.ids import check_feature_names
from brgcl.errors import InputError, NotFitted
from brgcl.machine import check_width, keep_freed_memory
from brgcl.method.attributes import Preparation, learn_preparation
from brgcl.method.centering import center_rows
from brgcl.method.confidence import confident_nodes, threshold
from brgcl.method.depth import DEEPEST
from brgcl.method.dpmeans import ROWS, Clustering
from brgcl.method.graph import Graph
from brgcl.method.own_module import OwnEncoder, digest
from brgcl.method.sparse import Matrix
from brgcl.method.train import (
    AnyEncoder,
    Epoch,
    TrainingState,
    begin_with,
    continue_training,
    diverged,
    last_prototypes,
    neighbourhood_confidence,
)
from brgcl.model_files import load_model, save_model
from brgcl.notebook import model_html
from brgcl.notices import tell_choices, tell_depth
from brgcl.scale.memory import Plan
from brgcl.scale.parts import PartGraph
from brgcl.scale.placement import (
    encode_graph,
    place_graph,
    plan_for,
    resolve_depth,
    training_name,
    transition_of,
)
from brgcl.scale.train import Processes, train_by_parts
from brgcl.tasks.new_nodes import Assigned, assign_nodes
from brgcl.tasks.number_of_clusters import number_of_clusters

log = logging.getLogger("brgcl")
SETTINGS = tuple(field.name for field in dataclasses.fields(BRGCLConfig))


class BRGCL:
    """Robust node representations, learned without labels (Bayesian Robust GCL).

    All arguments are keywords. They are the fields of `BRGCLConfig`, which describes them. `fit`
    reads attributes and edges only. `encoder` may also be a module, for example from PyG, that is
    called as `module(x, edge_index)` and returns one row per node, `(N, D)`.

    Attributes:
        representations_: Representations of the training graph, centred and of unit length,
            `(N, D)`.
        clustering_: The reported clusters: a `ClusterNumber`, which says how their number was
            found, or the prototypes of the contrast with `reported="prototypes"`.
        pseudo_labels_: Cluster of each node, `(N,)`.
        num_clusters_: Number of clusters.
        confidence_: Confidence of each node in its cluster, in [0, 1], `(N,)`.
        confident_: Mask of confident nodes, `(N,)`.
        prototypes_: Robust prototypes of the contrast, `(K, D)`, on the scale before centring.
        num_prototypes_: Number of prototypes, K; prototypes are finer than clusters, see
            docs/method.md.
        num_prototypes_capped_: Whether K reached `max_prototypes`.
        mean_: Mean row of the training graph before centring, `(D,)`.
        history_: Measurements of each epoch, a list of `Epoch`.

    Example:
        >>> import brgcl
        >>> data = brgcl.make_graph(num_nodes=120, num_classes=3, labels_per_class=5)
        >>> model = brgcl.BRGCL(epochs=2, hidden=16, dim=8, warmup_epochs=1).fit(data)
        >>> model.transform(data).shape
        torch.Size([120, 8])
    """

    config_: BRGCLConfig
    encoder_: AnyEncoder
    preparation_: Preparation
    mean_: Tensor
    representations_: Tensor
    clustering_: Clustering
    confidence_: Tensor
    confident_: Tensor
    prototypes_: Tensor
    num_prototypes_capped_: bool
    history_: list[Epoch]
    feature_names_in_: list[str] | None  # of the training graph, where its attributes have names

    def __init__(
        self,
        *,
        seed: int = 0,
        device: str = "cpu",
        attributes: Literal["auto"] | Scaling = "auto",
        encoder: EncoderKind | nn.Module = "gcn",
        hidden: int = 512,
        dim: int = 256,
        num_layers: int | Literal["auto"] = "auto",
        activation: Activation = "relu",
        center: bool = True,
        epochs: int = 100,
        warmup_epochs: int = 50,
        lr: float = 1e-3,
        weight_decay: float = 0.0,
        patience: int | None = None,
        view1: ViewKind = "edges",
        view2: ViewKind = "edges",
        drop1: float = 0.2,
        drop2: float = 0.4,
        mask1: float = 0.3,
        mask2: float = 0.4,
        node_objective: Literal["exp", "abs", "decorrelation"] = "exp",
        node_weight: float = 1.0,
        tau: float = 0.4,
        tau_degree: float | None = 10.0,
        positive_twice: bool = False,
        decorrelation_weight: float = 1e-3,
        num_negatives: int | Literal["auto"] | None = "auto",
        tile_mb: int = 256,
        proto_weight: float | Literal["1/N"] = 0.3,
        proto_tau: float = 0.4,
        prototypes: Literal["confident", "all"] = "confident",
        normalize_prototypes: bool = True,
        clustering: Literal["dp-means", "kmeans"] = "dp-means",
        xi: float = 0.5,
        num_prototypes: int | None = None,
        max_prototypes: int = 64,
        cluster_rounds: int = 5,
        reported: Literal["clusters", "prototypes"] = "clusters",
        alpha: float = 0.1,
        propagation_steps: int = 10,
        gamma0: float = 0.3,
        mode: Mode = "auto",
        num_partitions: int | None = None,
        batches_per_step: int | None = None,
        memory_budget: float | None = None,
    ) -> None:
        self.seed, self.device, self.attributes = seed, device, attributes
        self.encoder: EncoderKind | nn.Module = encoder
        self.hidden, self.dim, self.num_layers = hidden, dim, num_layers
        self.activation, self.center = activation, center
        self.epochs, self.warmup_epochs, self.lr = epochs, warmup_epochs, lr
        self.weight_decay, self.patience = weight_decay, patience
        self.view1, self.view2, self.drop1, self.drop2 = view1, view2, drop1, drop2
        self.mask1, self.mask2 = mask1, mask2
        self.node_objective, self.node_weight, self.tau = node_objective, node_weight, tau
        self.tau_degree = tau_degree
        self.positive_twice, self.decorrelation_weight = positive_twice, decorrelation_weight
        self.num_negatives, self.tile_mb = num_negatives, tile_mb
        self.proto_weight, self.proto_tau, self.prototypes = proto_weight, proto_tau, prototypes
        self.normalize_prototypes, self.clustering, self.xi = normalize_prototypes, clustering, xi
        self.num_prototypes, self.max_prototypes = num_prototypes, max_prototypes
        self.cluster_rounds, self.reported = cluster_rounds, reported
        self.alpha, self.propagation_steps, self.gamma0 = alpha, propagation_steps, gamma0
        self.mode, self.num_partitions, self.memory_budget = mode, num_partitions, memory_budget
        self.batches_per_step = batches_per_step
        _ = self.config  # checks them

    @property
    def config(self) -> BRGCLConfig:
        """The current settings.

        Raises:
            InputError: A setting breaks its rule.
        """
        return BRGCLConfig(**_plain(self.get_params()))

    @classmethod
    def from_config(cls, config: BRGCLConfig) -> "BRGCL":
        """Make an estimator with these settings."""
        return cls(**config.to_dict())

    def fit(
        self,
        data: Data | PartGraph,
        y: None = None,
        *,
        progress: bool = False,
        callback: Callable[[Epoch], None] | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: float | None = None,
        processes: Processes | None = None,
    ) -> "BRGCL":
        """Learn representations of a graph. Labels in `data` are not read.

        Args:
            data: A graph with `x` and `edge_index`, or one that is stored by parts (`scale`).
            y: Ignored; exists for compatibility with scikit-learn.
            progress: Show a progress bar on stderr.
            callback: Called with an `Epoch` after each epoch.
            checkpoint: File that stores the state of training. If it exists, training resumes
                from it and gives the same result as an uninterrupted training. The file is
                removed at the end.
            checkpoint_every: Seconds between two writes of the file (default 5), or one step of
                training if that is longer. A step is an epoch unless the graph is trained by
                parts.
            processes: The processes that train together on one graph that is stored by parts
                (`scale.ranks`). The first one writes the checkpoint and does the work after the
                last epoch; the others get the weights only.

        Returns:
            The fitted estimator itself.

        Raises:
            InputError: The graph is invalid, the checkpoint belongs to another graph or to other
                settings, or training diverges.
        """
        keep_freed_memory()
        config = self.config
        if not isinstance(data, PartGraph):
            data = check_graph(_without_labels(data))
        feature_names = data.get("feature_names") if isinstance(data, Data) else None
        shape = (int(data.x.shape[0]), int(data.x.shape[1]))
        weighted = isinstance(data, Data) and "edge_weight" in data
        tell_choices(config, shape[0], weighted=weighted)
        plan = plan_for(data, config)
        leads = processes is None or processes.rank == 0
        if plan.mode == "partitioned" and leads:
            log.info("%s", plan)
        if processes is not None and plan.mode != "partitioned":
            raise InputError("several processes train by parts; set mode='partitioned'")
        layers = DEEPEST if config.num_layers == "auto" else config.num_layers
        widths = [config.hidden] * (layers - 1)
        check_width(-(-shape[0] // plan.batches), shape[1], *widths, config.dim)
        if isinstance(data, PartGraph):
            preparation = data.preparation
        else:
            kind = None if config.attributes == "auto" else config.attributes
            preparation = learn_preparation(data.x, kind)
        graph = place_graph(data, preparation, plan, config)
        generator = torch.Generator().manual_seed(config.seed)
        module = self.encoder if isinstance(self.encoder, nn.Module) else None
        deep = resolve_depth(graph, plan, config)
        if processes is not None and deep != config:  # elsewhere rounding might decide otherwise
            own = torch.tensor([[float(deep.num_layers)]]) if leads else None
            deep = deep.replace(num_layers=int(processes.from_first(own)))
        tell_depth(config, deep, *shape)
        training = begin_with(shape[1], deep, generator, device=config.device, module=module)
        listeners: list[Callable[[Epoch], None]] = []
        file, write = None if checkpoint is None else Path(checkpoint), None
        if file is not None:
            name = training_name(data, config)
            name += digest(training.encoder) if isinstance(training.encoder, OwnEncoder) else ""
            load_training(file, training, name)
            write = saving(file, training, name, checkpoint_every) if leads else None
        with contextlib.ExitStack() as shown:
            if progress:
                from brgcl.progress import progress_bar

                report = shown.enter_context(progress_bar("training"))
                listeners.append(lambda epoch: report(epoch.epoch, config.epochs, str(epoch)))
            if callback is not None:
                listeners.append(callback)

            def after_epoch(epoch: Epoch) -> None:
                if write is not None:
                    write()
                for listener in listeners:
                    listener(epoch)

            if isinstance(graph, Graph):
                continue_training(training, graph, config, after_epoch)
            else:
                train_by_parts(
                    training, graph, config, plan,
                    after_epoch=after_epoch, after_step=write, processes=processes,
                )  # fmt: skip
        if not leads:
            self.config_, self.encoder_, self.history_ = config, training.encoder, training.history
            return self
        self._learn(training, graph, plan, config)
        self.preparation_, self.feature_names_in_ = preparation, feature_names
        if file is not None:
            file.unlink(missing_ok=True)
        return self

    def _learn(
        self, training: TrainingState, graph: Graph | PartGraph, plan: Plan, config: BRGCLConfig
    ) -> None:
        """Set the attributes that a finished training leaves, or none of them."""
        encoder = training.encoder.requires_grad_(False).eval()
        h, transition = encode_graph(encoder, graph, plan), transition_of(graph)
        if not all(bool(rows.isfinite().all()) for rows in torch.split(h, ROWS)):
            raise diverged("in the last epoch", config)
        gamma = threshold(len(training.history), config.epochs, config.gamma0)
        found = last_prototypes(h, transition, gamma, config)
        mean = h.mean(0)
        z = _centered(h, mean, config).cpu()
        del h
        clusters, own = found.clusters.cpu(), found.confidence
        if config.reported == "clusters":
            clusters = number_of_clusters(
                z, transition=Matrix(transition.data.cpu()), seed=config.seed
            )
            own = neighbourhood_confidence(clusters, transition, config)
        if isinstance(graph, PartGraph):  # back to the order in which nodes were given
            z, own = graph.as_given(z), graph.as_given(own)
            clusters = dataclasses.replace(clusters, assignment=graph.as_given(clusters.assignment))
        self.config_, self.encoder_, self.history_ = config, encoder, training.history
        self.mean_, self.representations_ = mean.cpu(), z
        self.clustering_, self.confidence_ = clusters, own.cpu()
        self.confident_ = confident_nodes(own, gamma).cpu()
        self.prototypes_ = found.prototypes.cpu()
        self.num_prototypes_capped_ = found.clusters.capped

    @property
    def pseudo_labels_(self) -> Tensor:
        """Reported cluster of each training node, `(N,)`."""
        return self.clustering_.assignment

    @property
    def num_clusters_(self) -> int:
        """Number of reported clusters."""
        return self.clustering_.num_clusters

    @property
    def num_prototypes_(self) -> int:
        """Number of prototypes of the contrast."""
        return self.prototypes_.shape[0]

    def transform(self, data: Data | PartGraph) -> Tensor:
        """Represent the nodes of a graph that has the attributes of the training graph.

        Args:
            data: The training graph or another graph, such as a subgraph. A large graph is
                encoded in blocks of rows.

        Returns:
            Rows of unit length, `(N, D)`, float32. With `center`, the mean row of the training
            graph is subtracted; a node that lies at the mean has a row of 0.
        """
        self._check_fitted()
        if not isinstance(data, PartGraph):
            data = check_graph(_without_labels(data), announce=False)
        expected = self.encoder_.num_features
        if data.x.shape[1] != expected:
            raise InputError(
                f"the graph has {data.x.shape[1]} attributes but the model was fitted with "
                f"{expected}; give the same columns in the same order"
            )
        if isinstance(data, Data):
            check_feature_names(data.get("feature_names"), self.feature_names_in_)
        plan = dataclasses.replace(plan_for(data, self.config_), num_parts=1, parts_per_batch=1)
        graph = place_graph(data, self.preparation_, plan, self.config_)
        h = _centered(encode_graph(self.encoder_, graph, plan).cpu(), self.mean_, self.config_)
        return graph.as_given(h) if isinstance(graph, PartGraph) else h

    def fit_transform(self, data: Data, y: None = None, **options: Any) -> Tensor:
        """Fit, then return the representations of the same graph, `(N, D)`."""
        return self.fit(data, **options).representations_

    def assign(self, data: Data) -> Assigned:
        """Represent the nodes of a graph, and assign each node to a reported cluster.

        On the training graph this returns the values of the fitted attributes. On another graph
        it assigns nodes that were not seen in training.

        Args:
            data: A graph with the attributes of the training graph.

        Returns:
            `representations`, `cluster`, `confidence` and `confident` of its nodes.
        """
        z = self.transform(data)
        gamma = threshold(len(self.history_), self.config_.epochs, self.config_.gamma0)
        return assign_nodes(
            z, data, self.clustering_, self.config_,
            trained=self.representations_, mean=self.mean_, gamma=gamma,
        )  # fmt: skip

    def cluster(self, k: int | None = None, *, graph: Data | None = None) -> Tensor:
        """Return the cluster of each training node, `(N,)`.

        Args:
            k: Number of clusters for K-means; None takes the reported clusters.
            graph: The training graph. K-means then averages the representations over it, as for
                the reported clusters. None clusters the representations as they are.
        """
        self._check_fitted()
        if k is None:
            return self.pseudo_labels_
        from brgcl.tasks.cluster import cluster  # loads scikit-learn

        return cluster(self.representations_, k, graph=graph, seed=self.config.seed).assignment

    def save(self, path: str | Path) -> None:
        """Write the fitted model into a folder: weights as safetensors, settings as JSON.

        `model.safetensors` is enough to load the model, and is replaced atomically. If you passed
        your own encoder, the file has its weights but not its code, so `load` needs a module of
        the same shape.

        Raises:
            InputError: The path is a file.
        """
        self._check_fitted()
        save_model(self, Path(path))

    @classmethod
    def load(
        cls, path: str | Path, *, device: str | None = None, encoder: nn.Module | None = None
    ) -> "BRGCL":
        """Read a model that `save` wrote. Nothing in the files is executed.

        Args:
            path: The folder.
            device: Device for the model; None for the device on which it was trained.
            encoder: A module of the same shape, if the model was trained with your own encoder.
                It is copied, and the copy gets the weights of the file.

        Raises:
            InputError: The folder has no model or a damaged one, the device does not exist, or
                the encoder does not fit.
        """
        return load_model(cls, path, device, encoder)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all settings, as scikit-learn expects."""
        return {name: getattr(self, name) for name in SETTINGS}

    def set_params(self, **params: Any) -> "BRGCL":
        """Change settings. Learned attributes are kept until the next `fit`."""
        self.config.replace(**_plain(params))  # checks them
        vars(self).update(params)
        return self

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what kind of estimator this is."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    def __repr__(self) -> str:
        defaults = {field.name: field.default for field in dataclasses.fields(BRGCLConfig)}
        changed = {k: v for k, v in self.get_params().items() if v != defaults[k]}
        if isinstance(self.encoder, nn.Module):
            changed["encoder"] = type(self.encoder)
        shown = {k: v.__name__ if isinstance(v, type) else repr(v) for k, v in changed.items()}
        return f"BRGCL({', '.join(f'{name}={value}' for name, value in shown.items())})"

    def _repr_html_(self) -> str:
        return model_html(self)

    def _check_fitted(self) -> None:
        if not hasattr(self, "encoder_"):
            raise NotFitted("this BRGCL is not fitted yet; call fit(data) first")


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    """Settings as `BRGCLConfig` takes them: a module of the user goes by the name "own"."""
    own = isinstance(params.get("encoder"), nn.Module)
    return params | {"encoder": "own"} if own else params


def _centered(h: Tensor, mean: Tensor, config: BRGCLConfig) -> Tensor:
    """Rows with the mean subtracted, if that is wanted; h is overwritten."""
    if config.center:
        for rows in torch.split(h, ROWS):
            rows.copy_(center_rows(rows, mean))
    return h


def _without_labels(data: Data) -> Data:
    """Keep what the method reads: attributes and edges."""
    if not isinstance(data, Data):
        return check_graph(data)  # says what is wrong with it
    names = ("x", "edge_index", "edge_weight", "num_nodes", "node_ids", "feature_names")
    return Data(**{name: data[name] for name in names if name in data})
