"""BRGCL as one of the methods: the estimator behind the common contract."""

from dataclasses import replace
from pathlib import Path

import torch
from torch_geometric.data import Data

from brgcl.config import PAPER_LITERAL, PAPER_TABLE, BRGCLConfig
from brgcl.contract import Fitted, Method, ObservedLabels, Reporter
from brgcl.model import BRGCL
from brgcl.scale.parts import PartGraph
from brgcl.scale.train import Processes


def fit(
    graph: Data | PartGraph,
    labels: ObservedLabels | None,
    config: BRGCLConfig,
    generator: torch.Generator,
    report: Reporter | None = None,
    checkpoint: Path | None = None,
    seed: int | None = None,
    processes: Processes | None = None,
) -> Fitted:
    """Train BRGCL on attributes and edges; `labels` are not read.

    The seed of the model is drawn from `generator`, unless one is given.
    """
    if seed is None:
        seed = int(torch.randint(2**31 - 1, (), generator=generator))
    model = BRGCL.from_config(config.replace(seed=seed))
    callback = None
    if report is not None:
        callback = lambda epoch: report(epoch.epoch, config.epochs, str(epoch))  # noqa: E731
    model.fit(graph, callback=callback, checkpoint=checkpoint, processes=processes)
    return Fitted(
        model.representations_,
        clustering=model.clustering_,
        confidence=model.confidence_,
        confident=model.confident_,
        smooth=config.reported == "clusters",
        model=model,
    )


def represent(graph: Data, model: BRGCL) -> Fitted:
    """Take a model that was fitted before, perhaps on another graph, instead of training one."""
    found = model.assign(graph)
    return Fitted(
        found.representations,
        clustering=replace(model.clustering_, assignment=found.cluster),
        confidence=found.confidence,
        confident=found.confident,
        smooth=model.config_.reported == "clusters",
        model=model,
    )


GRACE = "GRACE (Zhu et al. 2020) for Cora"
APPNP = "APPNP (Klicpera et al. 2019)"

METHOD = Method(
    name="brgcl",
    fit=fit,
    Config=BRGCLConfig,
    kind="representation",
    citation="Wang & Yang, Bayesian Robust Graph Contrastive Learning, 2022",
    cost="time O(N² D) exact or O(N m D) with m sampled negatives; memory O(E + N D)",
    source="Ours, see parameters.md",
    sources={
        **dict.fromkeys(("drop1", "drop2", "mask1", "mask2", "tau"), GRACE),
        **dict.fromkeys(("alpha", "propagation_steps"), APPNP),
    },
    space={
        "lr": (5e-4, 1e-3, 2e-3),
        "tau": (0.2, 0.4, 0.8),
        "dim": (128, 256, 512),
        "proto_weight": (0.1, 0.3, 1.0),
        "epochs": (100, 200),
    },
    deviations=("[Deviations](deviations.md) lists every reading of the paper.",),
    resumable=True,
    version=2,
)
PAPER = replace(
    METHOD,
    name="brgcl-paper",
    version=1,
    citation="Wang & Yang, Bayesian Robust Graph Contrastive Learning, 2022, as printed",
    cost="time O(N² D); memory O(E + N D)",
    sources={**METHOD.sources, **dict.fromkeys((*PAPER_LITERAL, "xi", "gamma0"), "The paper")},
    presets={
        "default": {**PAPER_LITERAL, "xi": 0.2, "gamma0": 0.3},  # those of cora
        **{name: {"xi": xi, "gamma0": gamma0} for name, (xi, gamma0) in PAPER_TABLE.items()},
    },
    space={},
    reduced={name: {"num_negatives": 256} for name in ("pubmed", "coauthor-cs", "ogbn-arxiv")},
    deviations=(
        "It follows the printed form in [deviations](deviations.md) wherever there is "
        "a setting for it.",
    ),
)
