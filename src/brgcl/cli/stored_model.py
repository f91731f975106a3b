"""What a run has learned, read back: its model, and its classifier where it has one."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from brgcl.cli.run_folder import tell_unfinished
from brgcl.errors import InputError

if TYPE_CHECKING:
    from brgcl.model import BRGCL
    from brgcl.tasks.linear_classifier import LinearClassifier

log = logging.getLogger("brgcl")
MODEL_FILE, CLASSIFIER_FILE = "model.safetensors", "classifier.safetensors"


def load_model(path: Path) -> "BRGCL":
    """Load the model of a run folder, or of the folder that `BRGCL.save` wrote.

    Raises:
        InputError: There is none.
    """
    from brgcl.model import BRGCL

    tell_unfinished(path)
    for folder in (path / "model", path):
        if (folder / MODEL_FILE).is_file():
            return BRGCL.load(folder)
    raise InputError(
        f"'{path}' has no model; give a run of the method brgcl, or a folder that BRGCL.save wrote"
    )


def load_classifier(path: Path) -> "LinearClassifier | None":
    """Load the classifier of a run folder; None if it has none."""
    from brgcl.tasks.linear_classifier import LinearClassifier

    file, nodes = path / CLASSIFIER_FILE, path / "nodes.parquet"
    if file.is_file():
        return LinearClassifier.load(file)
    if nodes.is_file():
        from pyarrow import parquet

        if "predicted" in parquet.read_schema(nodes).names:
            log.warning(
                "%s: no classes are predicted, because a run does not store the perceptron; use a "
                "run of brgcl classify with another --rule",
                path,
            )
    return None
