"""Pictures of a report: the map of the nodes and the course of training."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from brgcl.method.train import Epoch
from brgcl.report.report import Picture, import_extra
from brgcl.tasks.number_of_clusters import ClusterNumber


def draw_map(
    z: Tensor, confidence: Tensor | None, groups: Tensor, title: str, *, seed: int = 0
) -> Picture:
    """Draw the nodes on a plane (t-SNE), coloured by group and by confidence.

    Args:
        z: Representations, `(N, D)`; above 20,000 nodes a random sample is drawn.
        confidence: Confidence of each node in [0, 1], `(N,)`; None for methods that have none.
        groups: Class or cluster of each node, -1 = none, `(N,)`.
        title: What the groups are.
        seed: Seed of the layout.
    """
    shown, points = place_nodes(z, seed=seed)
    panels = 1 if confidence is None else 2
    figure, axes = _axes(panels, width=5.5 * panels, height=5)
    look = {"s": float(np.clip(20_000 / len(shown), 1, 12)), "linewidths": 0}
    axes[0].scatter(*points.T, c=groups[shown].numpy(), cmap="tab20", **look)
    axes[0].set_title(title)
    if confidence is not None:
        colours = {"c": confidence[shown].numpy(), "cmap": "coolwarm", "vmin": 0, "vmax": 1}
        dots = axes[1].scatter(*points.T, **colours, **look)
        axes[1].set_title("confidence of a node in its cluster")
        figure.colorbar(dots, ax=axes[1], fraction=0.04)
    for panel in axes:
        panel.set(xticks=[], yticks=[])
    note = "t-SNE of the representations; one dot a node."
    return Picture("Map of the nodes", _png(figure), note)


def draw_history(history: Sequence[Epoch]) -> Picture:
    """Draw losses, effective rank, number of prototypes and confident share over training."""
    figure, (left, rank, middle, right) = _axes(4, width=13, height=3)
    epochs = [epoch.epoch for epoch in history]
    left.plot(epochs, [epoch.node_loss for epoch in history], label="node contrast")
    rank.plot(epochs, [epoch.effective_rank for epoch in history])
    late = [epoch for epoch in history if epoch.proto_loss is not None]
    if late:
        since = [epoch.epoch for epoch in late]
        left.plot(since, [epoch.proto_loss for epoch in late], label="prototype contrast")
        middle.plot(since, [epoch.num_prototypes for epoch in late])
        right.plot(since, [epoch.confident_share for epoch in late])
    left.legend(frameon=False)
    titles = ("loss", "effective rank", "prototypes", "confident share")
    for axes, title in zip((left, rank, middle, right), titles, strict=True):
        axes.set(title=title, xlabel="epoch")
    right.set_ylim(0, 1)
    return Picture("Training", _png(figure))


def draw_cluster_number(found: ClusterNumber) -> Picture:
    """Draw the number of clusters over the price of one, beside that of permuted columns.

    Where the clusters of random halves were compared, their agreement is drawn too.
    """
    panels = 2 if found.stability else 1
    figure, axes = _axes(panels, width=5.5 * panels, height=3.5)
    axes[0].step(found.prices, found.numbers, where="mid", label="clusters")
    axes[0].step(found.prices, found.null_numbers, where="mid", label="columns permuted")
    axes[0].plot(found.price, found.num_clusters, "o", color="black", label="reported")
    if found.plateau is not None:
        axes[0].axvspan(*found.plateau, alpha=0.15, label="longest plateau")
    axes[0].set_yscale("log")
    axes[0].legend(frameon=False)
    axes[0].set_title("number of clusters")
    if found.stability:
        axes[1].plot(found.prices, found.stability)
        axes[1].set_ylim(0, 1)
        axes[1].set_title("agreement between random halves (ARI)")
    for panel in axes:
        panel.set_xscale("log")
        panel.invert_xaxis()
        panel.set_xlabel("price of a cluster, share of the scatter")
    return Picture("Number of clusters", _png(figure), f"{str(found).capitalize()}.")


def place_nodes(z: Tensor, *, seed: int = 0) -> tuple[Any, Any]:
    """Place nodes on a plane so that neighbours in direction are neighbours there (t-SNE).

    Args:
        z: Representations, `(N, D)`; above 20,000 nodes a random sample is placed.
        seed: Seed of the sample and of the layout.

    Returns:
        Indices of the nodes that are placed, `(M,)`, and where, `(M, 2)`.
    """
    rng = np.random.default_rng(seed)
    shown = np.sort(rng.permutation(len(z))[:20_000])
    rows = F.normalize(z[shown], dim=1).numpy()  # a row of zeros stays, which cosine would not bear
    N = len(rows)
    if N < 5:  # too few to have neighbours
        return shown, np.stack([np.arange(N), np.zeros(N)], axis=1)
    flat = min(rows.shape) < 2 or bool((rows == rows[0]).all())  # no two principal components
    tsne = import_extra("openTSNE").TSNE(
        perplexity=min(30, (N - 1) / 3),
        initialization="random" if flat else "pca",
        random_state=seed,
        n_jobs=1 if N < 5_000 else 2,  # few points: threads would wait for each other
    )
    return shown, np.asarray(tsne.fit(rows))


def _axes(columns: int, *, width: float, height: float) -> Any:
    import_extra("matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, columns, squeeze=False)[0]


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()
