"""Names that options and records use; importing them loads nothing else."""

from typing import Literal, get_args

Protocol = Literal["clean-val", "noisy-val", "no-val"]
ScoredOn = Literal["test", "validation"]
Labelled = Literal["train", "all"]
Task = Literal["classify", "cluster"]

PROTOCOLS: tuple[str, ...] = get_args(Protocol)
SCORED_ON: tuple[str, ...] = get_args(ScoredOn)
LABELLED: tuple[str, ...] = get_args(Labelled)
RIGHT = "right"  # an oracle: training nodes whose label is right
TASKS: tuple[str, ...] = get_args(Task)
