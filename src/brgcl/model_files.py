"""A fitted model on disk: `model.safetensors` has all of it, `config.json` the settings to read."""

import dataclasses
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from brgcl.atomic_files import read_tensors, refusing_damage, write_json, write_tensors
from brgcl.checkpoint import named
from brgcl.config import BRGCLConfig
from brgcl.errors import InputError
from brgcl.method.attributes import Preparation
from brgcl.method.dpmeans import Clustering
from brgcl.method.inputs import check_device
from brgcl.method.own_module import OwnEncoder
from brgcl.method.train import AnyEncoder, Epoch, make_encoder
from brgcl.tasks.number_of_clusters import ClusterNumber

if TYPE_CHECKING:
    from brgcl.model import BRGCL

log = logging.getLogger("brgcl")

FORMAT = "brgcl-model-2"
RETIRED = {"products"}  # settings that older files have and that no longer do anything
LEARNED = ("mean_", "representations_", "prototypes_", "confidence_", "confident_")


def save_model(model: "BRGCL", folder: Path) -> None:
    """Write a fitted model. Of an encoder of the user there are the weights, not the code."""
    if (folder / "config.json").exists() and not (folder / "model.safetensors").exists():
        raise InputError(f"'{folder}' has a config.json that is of no model; give another folder")
    encoder, preparation = model.encoder_, model.preparation_
    # copies, since two names of a module may share one tensor
    tensors = {f"encoder.{name}": t.clone() for name, t in encoder.state_dict().items()}
    for name in ("mean", "scale"):
        value = getattr(preparation, name)
        if value is not None:
            tensors[f"preparation.{name}"] = value
    tensors |= {name: getattr(model, name) for name in LEARNED}
    clusters = vars(model.clustering_).copy()
    tensors |= {f"clustering.{name}": clusters.pop(name) for name in ("assignment", "centers")}
    settings: dict[str, Any] = {
        "format": FORMAT,
        "config": model.config_.to_dict(),
        "preparation": preparation.kind,
        "num_prototypes_capped": model.num_prototypes_capped_,
        "clustering": clusters,
        "feature_names": model.feature_names_in_,
        "history": [dataclasses.asdict(epoch) for epoch in model.history_],
    }
    if isinstance(encoder, OwnEncoder):
        name = type(encoder.module).__name__
        settings["own_encoder"] = [name, encoder.num_features]
        log.info(
            "the weights of %s are saved but not its code: to load the model, give a module of the "
            "same shape, BRGCL.load(path, encoder=module)",
            name,
        )
    write_tensors(folder / "model.safetensors", tensors, settings)
    write_json(folder / "config.json", model.config_.to_dict())


def load_model(
    cls: "type[BRGCL]", path: str | Path, device: str | None, module: nn.Module | None
) -> "BRGCL":
    """Read what `save_model` wrote; see `BRGCL.load`."""
    file = Path(path) / "model.safetensors"
    if not file.is_file():
        raise InputError(f"no model in '{path}': '{file.name}' is not there")
    with refusing_damage(file, "save the model again"):
        tensors, settings = read_tensors(file)
        if not isinstance(settings, dict) or settings.get("format") != FORMAT:
            raise InputError(f"'{file}' is not a brgcl model of this version ({FORMAT})")
        if device is not None:
            settings["config"]["device"] = device
        model = cls.from_config(_config(settings))
        model.config_ = model.config
        if module is not None:
            model.encoder = module
        model.encoder_ = _encoder(model.config_, settings, named(tensors, "encoder."), module)
        model.preparation_ = Preparation(
            settings["preparation"],
            tensors.get("preparation.mean"),
            tensors.get("preparation.scale"),
        )
        for name in LEARNED:
            setattr(model, name, tensors[name])
        parts = settings["clustering"] | named(tensors, "clustering.")
        parts = {name: tuple(v) if isinstance(v, list) else v for name, v in parts.items()}
        model.clustering_ = (ClusterNumber if "rule" in parts else Clustering)(**parts)
        model.num_prototypes_capped_ = settings["num_prototypes_capped"]
        names = settings.get("feature_names")  # files from before have none
        if names is not None and len(names) != model.encoder_.num_features:
            raise ValueError(f"{len(names)} names of {model.encoder_.num_features} attributes")
        model.feature_names_in_ = names
        model.history_ = [Epoch(**epoch) for epoch in settings["history"]]
        return model


def _config(settings: dict[str, Any]) -> BRGCLConfig:
    stored = {k: value for k, value in settings["config"].items() if k not in RETIRED}
    return BRGCLConfig().replace(**stored)


def _encoder(
    config: BRGCLConfig, settings: dict[str, Any], weights: dict[str, Tensor], module: Any
) -> AnyEncoder:
    """The encoder with its weights, on its device."""
    if config.encoder == "own":
        name, num_features = settings["own_encoder"]
        if module is None:
            raise InputError(
                f"the model was trained with an encoder of the user, {name}, whose code is not in "
                "the file; give a module of the same shape: BRGCL.load(path, encoder=module)"
            )
    else:
        if module is not None:
            raise InputError(f"the model has the encoder '{config.encoder}'; give no other")
        num_features = weights["weights.0"].shape[0]
        config = config.replace(num_layers=sum(name.startswith("weights.") for name in weights))
    encoder = make_encoder(num_features, config, torch.Generator(), module)
    try:
        encoder.load_state_dict(weights)
    except RuntimeError as error:
        if config.encoder != "own":
            raise
        raise InputError(f"the module does not fit the weights of {name}: {error}") from error
    return encoder.requires_grad_(False).eval().to(check_device(config.device))
