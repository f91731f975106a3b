"""Judge labels by a detector, whichever it is: a row for each label, and a summary of them all."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from brgcl.cli.graph import train
from brgcl.cli.labels_to_judge import class_names
from brgcl.progress import progress_bar

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor
    from torch_geometric.data import Data

    from brgcl.contract import Fitted
    from brgcl.detectors.contract import Detected
    from brgcl.evaluation.protocol import NoisyGraph

JUDGE_LABELS = ("brgcl", "smooth")  # the detectors that are `judge_labels` itself


def judge(
    noisy: "NoisyGraph",
    judged: "Tensor",
    certain: "Tensor | None",
    detector: str,
    config: Any,
    fdr: float,
    seed: int,
) -> "tuple[Fitted | None, pd.DataFrame, dict[str, Any]]":
    """Judge labels by a detector.

    Args:
        noisy: The graph as it is observed.
        judged: Labels to judge, -1 = unlabelled, `(N,)`.
        certain: Mask of the labels that a person decided on, `(N,)`; None if there are none.
        detector: Name of the detector.
        config: Settings of its method.
        fdr: Share of right labels allowed among the flagged ones.
        seed: Seed of all that is random.

    Returns:
        What was learned without labels, a row for each labelled node, and what holds for all.
    """
    from brgcl.detectors.registry import find_detector
    from brgcl.tasks.label_errors import judge_labels

    entry, fitted = find_detector(detector), None
    if entry.kind == "representation":
        fitted = train(noisy, entry.method, config, seed)
    with progress_bar("judging labels") as report:
        if fitted is not None and entry.name in JUDGE_LABELS:
            errors = judge_labels(
                fitted.representations, judged, graph=noisy.graph, certain=certain,
                labels_before=None if certain is None else noisy.labels.train,
                confidence=fitted.confidence, fdr=fdr, seed=seed, report=report,
            )  # fmt: skip
            names = {"given": str, "suggested": str}
            return fitted, errors.frame.astype(names), errors.to_dict()
        found = entry.run(
            noisy.graph, judged, seed=seed, config=config, fitted=fitted, report=report
        )
    frame = detected_table(found, judged, certain, noisy.graph)
    rate = float(frame["is_error"].mean()) if found.error_rate is None else found.error_rate
    return fitted, frame, summary(frame, rate)


def detected_table(
    found: "Detected", judged: "Tensor", certain: "Tensor | None", graph: "Data"
) -> "pd.DataFrame":
    """What a detector says, as `find_label_errors` returns it; labels decided on are right.

    Args:
        found: What the detector says of the labelled nodes.
        judged: Labels of all nodes, -1 = unlabelled, `(N,)`.
        certain: Mask of the labels that a person decided on, `(N,)`; None if there are none.
        graph: The graph as it is observed.
    """
    import numpy as np
    import pandas as pd
    import torch

    from brgcl.tasks.checks import transition_of
    from brgcl.tasks.evidence import count_neighbours, sentence
    from brgcl.tasks.label_noise import without_loops

    known = torch.zeros(len(found.nodes), dtype=torch.bool)
    if certain is not None:
        known = certain[found.nodes]
    score = torch.where(known, 1.0, found.score.double())
    order = torch.argsort(score, stable=True)
    nodes, known = found.nodes[order], known[order]
    given = judged[nodes]
    suggested = torch.where(known, given, found.suggested[order])
    neighbours = without_loops(transition_of(graph, len(judged)))
    around = count_neighbours(neighbours, judged, nodes, given, suggested)
    total = torch.where(around.labelled > 0, around.labelled.double(), torch.nan)
    counts = zip(
        around.labelled.tolist(), around.given.tolist(), around.suggested.tolist(), strict=True
    )
    names = class_names(graph, judged)
    frame = pd.DataFrame(
        {
            "node": [graph.node_ids[node] for node in nodes.tolist()],
            "given": [names[label] for label in given.tolist()],
            "suggested": [names[label] for label in suggested.tolist()],
            "probability": np.nan,  # of the suggestion: detectors do not say
            "score": score[order].clamp(0, 1).numpy(),
            "is_error": (found.is_error[order] & ~known).numpy(),
            "neighbours_given": (around.given / total).numpy(),
            "neighbours_suggested": (around.suggested / total).numpy(),
            "nearest": "",
            "prototype_confidence": np.nan,
        }
    )
    pairs = zip(frame["given"], frame["suggested"], counts, strict=True)
    frame["evidence"] = [sentence(own, other, near, None) for own, other, near in pairs]
    frame.loc[known.numpy(), "evidence"] = "Known to be right."
    return frame


def summary(frame: "pd.DataFrame", error_rate: float) -> dict[str, Any]:
    """What holds for all labels, by the names of `LabelErrors.to_dict`; None where unknown."""
    errors = frame[frame["is_error"]]
    pairs = Counter(zip(errors["given"], errors["suggested"], strict=True))
    return {
        "num_labelled": len(frame),
        "num_suspects": len(errors),
        "estimated_error_rate": error_rate,
        "error_interval": None,
        "fdr_target": None,
        "fdr_estimated": None,
        "class_names": sorted(set(frame["given"])),
        "transition": None,
        "error_rate_by_class": {
            name: float(rate) for name, rate in frame.groupby("given")["is_error"].mean().items()
        },
        "classes": [
            {"given": given, "suggested": suggested, "count": count}
            for (given, suggested), count in pairs.most_common()
        ],
        "not_judged": [],
    }
