"""A training on disk: what it takes to resume after the process was stopped.

The file is safetensors and JSON, whole or not there. It belongs to one graph and one set of
settings; for others it is refused, so that nothing is mixed and nothing is lost.
"""

import dataclasses
import logging
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import torch

from brgcl.atomic_files import make_parent, read_tensors, refusing_damage, write_tensors
from brgcl.errors import InputError
from brgcl.method.train import Epoch, TrainingState

log = logging.getLogger("brgcl")

SECONDS = 5.0  # between two writes: long epochs are all kept, short ones not each


def save_training(path: Path, training: TrainingState, name: str) -> None:
    """Write where a training stands; `name` is a digest of its graph and settings."""
    tensors = {f"encoder.{key}": value for key, value in training.encoder.state_dict().items()}
    for number, parts in training.optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{number}.{key}": torch.as_tensor(value) for key, value in parts.items()}
    tensors["generator"] = training.generator.get_state()
    if training.centers is not None:
        tensors["centers"] = training.centers
    tensors |= {f"parts.{key}": value for key, value in training.parts.items()}
    history = [dataclasses.asdict(epoch) for epoch in training.history]
    write_tensors(path, tensors, {"name": name, "history": history})


def load_training(path: Path, training: TrainingState, name: str) -> None:
    """Put what a file holds into a training that has just begun; no file changes nothing.

    Raises:
        InputError: The path cannot be a file, or the file is damaged or of another training.
    """
    make_parent(path)
    if not path.exists():
        return
    with refusing_damage(path, "remove it to begin anew"):
        tensors, about = read_tensors(path)
        if about["name"] != name:
            raise InputError(
                f"'{path}' is the training of another graph or of other settings; "
                "give another file, or remove it to start again"
            )
        training.encoder.load_state_dict(named(tensors, "encoder."))
        adam: dict[int, dict[str, torch.Tensor]] = {}
        for key, value in named(tensors, "adam.").items():
            number, part = key.split(".")
            adam.setdefault(int(number), {})[part] = value
        state = training.optimizer.state_dict()
        training.optimizer.load_state_dict(state | {"state": adam})
        training.generator.set_state(tensors["generator"])
        if "centers" in tensors:
            device = next(training.encoder.parameters()).device
            training.centers = tensors["centers"].to(device)
        training.parts = named(tensors, "parts.")
        training.history[:] = [Epoch(**epoch) for epoch in about["history"]]


def named(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    """Return the tensors whose names begin with a prefix, under the rest of their names."""
    return {k.removeprefix(prefix): t for k, t in tensors.items() if k.startswith(prefix)}


def saving(
    path: Path, training: TrainingState, name: str, seconds: float | None = None
) -> Callable[[], None]:
    """Make a function that, called after each step or epoch, writes the file every few seconds.

    A file that cannot be written, on a full disk for example, is warned of once; the last one that
    could is still there.
    """
    last, warned = monotonic(), False

    def write() -> None:
        nonlocal last, warned
        if monotonic() - last < (SECONDS if seconds is None else seconds):
            return
        try:
            save_training(path, training, name)
        except OSError as error:
            if not warned:
                log.warning("cannot write checkpoint '%s' (%s); training continues", path, error)
            warned = True
        last = monotonic()

    return write
