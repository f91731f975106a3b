"""Run folders as find-errors writes them, small and made by hand."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

CLASSES = ["theory", "vision", "language", "robotics"]


def write_run(run: Path, *, num_nodes=120, classes=CLASSES, seed=0, prefix="paper-") -> Path:
    """A run folder as find-errors writes it: two thirds of the nodes labelled, 30 flagged."""
    generator = np.random.default_rng(seed)
    run.mkdir(parents=True, exist_ok=True)
    ids = [f"{prefix}{number}" for number in range(num_nodes)]
    code = generator.integers(len(classes), size=num_nodes)
    centre = generator.normal(size=(len(classes), 2)) * 4
    place = centre[code] + generator.normal(size=(num_nodes, 2))
    labelled = np.sort(generator.permutation(num_nodes)[: num_nodes * 2 // 3])
    wrong = generator.permutation(labelled)[: len(labelled) * 3 // 8]
    given = code.copy()
    given[wrong] = (code[wrong] + 1) % len(classes)
    flagged = np.isin(labelled, wrong)
    score = np.where(flagged, generator.uniform(0, 0.4, len(labelled)), 0.97)
    names = np.array(classes, dtype=object)
    suspects = pd.DataFrame(
        {
            "node": [ids[node] for node in labelled],
            "given": names[given[labelled]],
            "suggested": names[code[labelled]],
            "probability": np.where(flagged, 0.99 - score, score),
            "score": score,
            "is_error": flagged,
            "neighbours_given": 0.25,
            "neighbours_suggested": np.where(flagged, 0.75, np.nan),
            "nearest": [
                ", ".join(f"{ids[n]} ({names[given[n]]})" for n in (labelled[:5])) for _ in labelled
            ],
            "prototype_confidence": 0.8,
            "evidence": [
                f"3 of 4 neighbours are labelled {names[code[n]]}, 1 is {names[given[n]]}."
                for n in labelled
            ],
        }
    ).sort_values("score", kind="stable", ignore_index=True)
    suspects.to_parquet(run / "suspects.parquet", index=False)
    nodes = pd.DataFrame({"node_id": ids, "map_x": place[:, 0], "map_y": place[:, 1]})
    nodes["label_given"] = [None] * num_nodes
    nodes.loc[labelled, "label_given"] = names[given[labelled]]
    nodes.to_parquet(run / "nodes.parquet", index=False)
    ends = generator.integers(num_nodes, size=(3 * num_nodes, 2)).astype(np.int32)
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    edges = pd.DataFrame(ends, columns=["source", "target"])
    edges.to_parquet(run / "edges.parquet", index=False)
    off = 0.1 / (len(classes) - 1)
    transition = np.full((len(classes), len(classes)), off) + np.eye(len(classes)) * (0.9 - off)
    findings = {"class_names": list(classes), "transition": transition.tolist()}
    (run / "findings.json").write_text(json.dumps(findings), encoding="utf-8")
    return run
