"""Representations on disk: trained once, they serve every cell whose noise is in labels alone.

A representation that was trained without labels does not depend on them. Methods that read labels
are refused here (`RunSpec.training`).
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from brgcl.atomic_files import replacing
from brgcl.benchmark.run_spec import RunSpec
from brgcl.contract import Fitted


@dataclass(frozen=True)
class Learned:
    """What a training without labels left behind.

    Attributes:
        representations: One row per node, `(N, D)`.
        confidence: Confidence of each node, `(N,)`; None for methods that have none.
        facts: Figures about the training: time, memory, number of prototypes.
    """

    representations: Tensor
    confidence: Tensor | None
    facts: dict[str, Any]

    @property
    def fitted(self) -> Fitted:
        """In the form in which methods return it."""
        return Fitted(self.representations)


def learned_from(fitted: Fitted, facts: dict[str, Any]) -> Learned:
    """Keep what later cells need."""
    model = fitted.model
    if getattr(model, "num_prototypes_", None) is None:
        return Learned(fitted.representations, None, facts)
    found = {
        "num_prototypes": model.num_prototypes_,
        "capped": model.num_prototypes_capped_,
        "confident_share": float(model.confident_.float().mean()),
    }
    return Learned(fitted.representations, model.confidence_, facts | found)


def cache_file(folder: Path, training: RunSpec, versions: Mapping[str, str]) -> Path:
    """Where a training is kept; other defaults or other versions have another file."""
    told = {"all": dataclasses.asdict(training.config), "versions": dict(versions)}
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:8]
    return folder / f"{training.dataset}-{training.method}-{training.key}-{digest}.safetensors"


def save_learned(path: Path, learned: Learned) -> None:
    """Write a training; the file is whole or not there."""
    tensors = {"representations": learned.representations.contiguous()}
    if learned.confidence is not None:
        tensors["confidence"] = learned.confidence.contiguous()
    with replacing(path) as temporary:
        save_file(tensors, temporary, metadata={"facts": json.dumps(learned.facts)})


def load_learned(path: Path) -> Learned | None:
    """Read a training; None where there is none, or the file cannot be read."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            facts = json.loads(file.metadata()["facts"])
    except (OSError, SafetensorError, ValueError, KeyError, TypeError):
        return None
    if not torch.isfinite(tensors["representations"]).all():
        return None
    return Learned(tensors["representations"], tensors.get("confidence"), facts)
