"""A training on disk: what it takes to go on after the process was stopped.

The file is safetensors and JSON, whole or not there. It belongs to one graph and one set of
settings; for others it is refused, so that nothing is mixed and nothing is lost.
"""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from brgcl.atomic_files import replacing
from brgcl.errors import InputError
from brgcl.method.train import Epoch, TrainingState

SECONDS = 5.0  # between two writes: long epochs are all kept, short ones not each


def save_training(path: Path, training: TrainingState, name: str) -> None:
    """Write where a training stands.

    Args:
        path: The file.
        training: Where it stands.
        name: What it is the training of: a digest of graph and settings.
    """
    tensors = {f"encoder.{key}": value for key, value in training.encoder.state_dict().items()}
    for number, parts in training.optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{number}.{key}": torch.as_tensor(value) for key, value in parts.items()}
    tensors["generator"] = training.generator.get_state()
    if training.centers is not None:
        tensors["centers"] = training.centers
    told = {"name": name, "history": [dataclasses.asdict(epoch) for epoch in training.history]}
    tensors = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
    with replacing(path) as temporary:
        save_file(tensors, temporary, {"brgcl": json.dumps(told)})


def load_training(path: Path, training: TrainingState, name: str) -> None:
    """Put what a file holds into a training that has just begun; no file changes nothing.

    Raises:
        InputError: The file is damaged, or is the training of something else.
    """
    if not path.exists():
        return
    try:
        with safe_open(path, framework="pt") as stored:
            told = json.loads(stored.metadata()["brgcl"])
            tensors = {key: stored.get_tensor(key) for key in stored.keys()}  # noqa: SIM118
        if told["name"] != name:
            raise InputError(
                f"'{path}' is the training of another graph or of other settings; "
                "give another file, or remove it to begin anew"
            )
        _restore(training, tensors)
        training.history[:] = [Epoch(**epoch) for epoch in told["history"]]
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        if isinstance(error, InputError):
            raise
        text = " ".join(str(error).split())
        raise InputError(f"'{path}' is damaged ({text}); remove it to begin anew") from error


def _restore(training: TrainingState, tensors: dict[str, torch.Tensor]) -> None:
    encoder = {
        key.removeprefix("encoder."): value
        for key, value in tensors.items()
        if key.startswith("encoder.")
    }
    training.encoder.load_state_dict(encoder)
    adam: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in tensors.items():
        if key.startswith("adam."):
            _, number, part = key.split(".")
            adam.setdefault(int(number), {})[part] = value
    state = training.optimizer.state_dict()
    training.optimizer.load_state_dict(state | {"state": adam})
    training.generator.set_state(tensors["generator"])
    centers = tensors.get("centers")
    device = next(training.encoder.parameters()).device
    training.centers = None if centers is None else centers.to(device)


def saving(path: Path, training: TrainingState, name: str) -> Callable[[Epoch], None]:
    """Make a function that, called after each epoch, writes the file every few seconds."""
    last = monotonic()

    def after_epoch(epoch: Epoch) -> None:
        nonlocal last
        if monotonic() - last >= SECONDS:
            save_training(path, training, name)
            last = monotonic()

    return after_epoch
