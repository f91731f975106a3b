"""Which labels `brgcl find-errors` judges: all or those of a split, noisy or not, and reviewed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brgcl.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor
    from torch_geometric.data import Data

    from brgcl.evaluation.protocol import NoisyGraph
    from brgcl.noise.graph import Noise


def draw_labels(data: "Data", labelled: str, noise: "Noise", seed: int) -> "NoisyGraph":
    """Draw noise; the labels that are judged are those for training.

    Args:
        data: A checked graph.
        labelled: "all" labels there are, or those of the "train" nodes of a data set.
        noise: What to corrupt.
        seed: Seed of the noise.

    Raises:
        InputError: There are no labels, too few, or all of one class, or there are no training
            nodes.
    """
    from brgcl.evaluation.protocol import draw_noisy_graph
    from brgcl.tasks.label_error_inputs import enough_labels

    if labelled == "train" and data.get("train_mask") is None:
        raise InputError(
            "--labelled train needs a data set with training nodes; on your own files all labels "
            "that are given are judged"
        )
    noisy = draw_noisy_graph(data, noise=noise, protocol="no-val", seed=seed, labelled=labelled)
    given = noisy.labels.train
    if not bool((given >= 0).any()):
        raise InputError("no node has a label to judge; --labels FILE must name some")
    enough_labels(given, len(given))
    return noisy


def take_decisions(labels: "Tensor", data: "Data", run: Path) -> "tuple[Tensor, Tensor]":
    """Put the labels that a person decided on in the place of the given ones.

    Args:
        labels: Given labels, -1 = unlabelled, `(N,)`.
        data: The graph, with ids and class names.
        run: Run folder with a review.

    Returns:
        The labels, and a mask of those that were decided, `(N,)` each.

    Raises:
        InputError: There is no review, or it is about other nodes or other classes.
    """
    import torch

    from brgcl.review.decisions import read_decisions

    decided = read_decisions(run)
    if len(decided) == 0:
        raise InputError(
            f"there are no decisions in '{run}' yet; brgcl review {run} opens the page"
        )
    rows = _numbers(decided["node"], data.node_ids, "node", run)
    codes = _numbers(decided["label"], class_names(data, data.y), "class", run)
    labels, certain = labels.clone(), torch.zeros_like(labels, dtype=torch.bool)
    labels[rows], certain[rows] = torch.tensor(codes), True
    return labels, certain


def class_names(graph: "Data", labels: "Tensor") -> list[str]:
    """Names as text of the classes 0..C-1 of labels `(N,)`, and of others that the graph names."""
    from brgcl.tasks.checks import class_name

    number = max(int(labels.max()) + 1, len(graph.get("class_names") or ()))
    return [str(class_name(label, graph)) for label in range(number)]


def as_names(labels: "Tensor", names: Sequence[str]) -> list[str | None]:
    """Class names of labels, `(N,)`; None for -1."""
    return [None if label < 0 else names[label] for label in labels.tolist()]


def rows_of(ids: Any, data: "Data") -> list[int]:
    """Numbers of the nodes with these ids."""
    place = {str(id): row for row, id in enumerate(data.node_ids)}
    return [place[str(id)] for id in ids]


def corrected_labels(suspects: "pd.DataFrame", given: Mapping[Any, str | None]) -> "pd.DataFrame":
    """A row for each labelled node, in the order of the graph: the corrected label first.

    Args:
        suspects: What was found out about the labelled nodes.
        given: Label of each node as it was given, by id; None for a node without one.

    Returns:
        `node_id`; `label`, the suggested one if the label is flagged, else the one that
        was judged; `label_given`; whether it was `changed`; and `score`, the probability that the
        label that was judged is right.
    """
    found = suspects.set_index("node")
    found = found.loc[[node for node in given if node in found.index]]
    frame = found[["score"]].reset_index(names="node_id")
    frame.insert(1, "label", found["suggested"].where(found["is_error"], found["given"]).tolist())
    frame.insert(2, "label_given", [given[id] for id in frame["node_id"]])
    frame.insert(3, "changed", frame["label"] != frame["label_given"])
    return frame


def _numbers(values: Any, known: Sequence[Any], what: str, run: Path) -> list[int]:
    place = {str(name): number for number, name in enumerate(known)}
    strange = next((value for value in values if str(value) not in place), None)
    if strange is not None:
        raise InputError(
            f"the review in '{run}' names the {what} '{strange}', which this graph does not have; "
            "give the run of the same graph"
        )
    return [place[str(value)] for value in values]
