"""Follow a training in TensorBoard or MLflow: callbacks for `BRGCL.fit(callback=...)`."""

import dataclasses
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from brgcl.errors import InputError
from brgcl.method.train import Epoch


def tensorboard_callback(folder: str | Path) -> Callable[[Epoch], None]:
    """Write the measurements of each epoch for TensorBoard; needs the `track` extra.

    Args:
        folder: Folder of the logs; show them with `tensorboard --logdir FOLDER`.

    Example:
        model.fit(data, callback=brgcl.tensorboard_callback("logs"))
    """
    writer = _import("torch.utils.tensorboard", "TensorBoard").SummaryWriter(str(folder))

    def after_epoch(epoch: Epoch) -> None:
        for name, value in measured(epoch).items():
            writer.add_scalar(name, value, epoch.epoch)
        writer.flush()

    return after_epoch


def mlflow_callback() -> Callable[[Epoch], None]:
    """Log the measurements of each epoch to the active MLflow run; needs the `track` extra.

    Example:
        with mlflow.start_run():
            mlflow.log_params(model.get_params())
            model.fit(data, callback=brgcl.mlflow_callback())
    """
    mlflow = _import("mlflow", "MLflow")

    def after_epoch(epoch: Epoch) -> None:
        mlflow.log_metrics(measured(epoch), step=epoch.epoch)

    return after_epoch


def measured(epoch: Epoch) -> dict[str, float]:
    """Numbers of an epoch that it has, without its own number."""
    values: dict[str, Any] = dataclasses.asdict(epoch)
    del values["epoch"]
    return {name: float(value) for name, value in values.items() if value is not None}


def _import(module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"{name} is not installed; pip install 'brgcl[track]'") from error
