"""Representations on disk: trained once, they serve every run whose noise is in labels alone.

A representation that was trained without labels does not depend on them. Methods that read labels
are refused here (`RunSpec.training`).
"""

import dataclasses
import hashlib
import json
import math
from pathlib import Path

import torch

from brgcl.atomic_files import UNREADABLE, read_tensors, write_tensors
from brgcl.benchmark.run_spec import RunSpec
from brgcl.contract import Fitted
from brgcl.machine import library_versions
from brgcl.method.dpmeans import Clustering


def representations_file(folder: Path, training: RunSpec) -> Path:
    """Where a training is kept; other defaults or other versions have another file."""
    settings = dataclasses.asdict(training.config)
    if settings.get("encoder") == "gcn":  # not in the names of files from before there were others
        del settings["encoder"]
    made_by = {"all": settings, "versions": library_versions()}
    digest = hashlib.sha256(json.dumps(made_by, sort_keys=True).encode()).hexdigest()[:8]
    return folder / f"{training.dataset}-{training.method}-{training.key}-{digest}.safetensors"


def save_fitted(path: Path, fitted: Fitted) -> None:
    """Write all but the model; the file is whole or not there."""
    clusters = fitted.clustering
    stored = {
        "representations": fitted.representations,
        "confidence": fitted.confidence,
        "confident": fitted.confident,
        "assignment": None if clusters is None else clusters.assignment,
        "centers": None if clusters is None else clusters.centers,
    }
    capped = clusters is not None and clusters.capped
    tensors = {name: tensor for name, tensor in stored.items() if tensor is not None}
    about = {"measurements": fitted.measurements, "capped": capped, "smooth": fitted.smooth}
    write_tensors(path, tensors, about)


def load_fitted(path: Path) -> Fitted | None:
    """Read what `save_fitted` wrote; None if the file is missing or cannot be read."""
    try:
        tensors, about = read_tensors(path)
        z, measurements, capped = tensors["representations"], about["measurements"], about["capped"]
    except UNREADABLE:
        return None
    if not torch.isfinite(z).all():
        return None
    clustering = None
    if "assignment" in tensors:
        clustering = Clustering(tensors["assignment"], tensors["centers"], math.nan, (), capped)
    return Fitted(
        z,
        clustering=clustering,
        confidence=tensors.get("confidence"),
        confident=tensors.get("confident"),
        smooth=about.get("smooth", False),
        measurements=measurements,
    )
