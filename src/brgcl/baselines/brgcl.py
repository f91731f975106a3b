"""BRGCL as one of the methods: the estimator behind the common contract."""

import math
from pathlib import Path

import torch
from torch_geometric.data import Data

from brgcl.config import BRGCLConfig
from brgcl.contract import Fitted, ObservedLabels, Reporter
from brgcl.method.dpmeans import Clustering
from brgcl.model import BRGCL
from brgcl.progress import describe


def fit(
    graph: Data,
    labels: ObservedLabels | None,
    config: BRGCLConfig,
    generator: torch.Generator,
    report: Reporter | None = None,
    checkpoint: Path | None = None,
) -> Fitted:
    """Train BRGCL on attributes and edges; `labels` are not read."""
    seed = int(torch.randint(2**31 - 1, (), generator=generator))
    model = BRGCL.from_config(config.replace(seed=seed))
    callback = None
    if report is not None:
        callback = lambda epoch: report(epoch.epoch, config.epochs, describe(epoch))  # noqa: E731
    model.fit(graph, callback=callback, checkpoint=checkpoint)
    return Fitted(
        model.representations_,
        clustering=Clustering(
            model.pseudo_labels_, model.prototypes_, math.nan, (), model.num_prototypes_capped_
        ),
        confidence=model.confidence_,
        confident=model.confident_,
        model=model,
    )
