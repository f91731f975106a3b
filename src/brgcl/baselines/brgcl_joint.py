"""BRGCL with its classifier trained jointly: the ablation against training one after the other.

The encoder sees the contrasts of BRGCL and, through a perceptron f on its unit rows h, the labels:

    L = L_rep + class_weight L_cls
    L_rep = node contrast + contrast to robust prototypes (Eq. 8)
    L_cls = mean over labelled nodes of  - sum_c y_ic log f(h_i)_c

with y the given labels propagated over the graph, as for the perceptron that is trained after
BRGCL. One optimiser moves the encoder and the perceptron. Wrong labels thus reach the
representation, which is what the decoupled training avoids.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Generator, nn
from torch_geometric.data import Data

from brgcl.baselines.shared.gcn_training import BestEpoch
from brgcl.baselines.shared.inputs import labelled_nodes, seeded
from brgcl.config import BRGCLConfig, Count, Positive, Weight, setting
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.method.confidence import threshold
from brgcl.method.depth import with_depth
from brgcl.method.inputs import prepare
from brgcl.method.prototypes import prototype_loss
from brgcl.method.train import (
    add_gradient,
    contrast_views,
    find_prototypes,
    make_encoder,
    representation_loss,
    resolve_proto_weight,
)
from brgcl.method.views import two_views
from brgcl.tasks.classifiers import soft_targets
from brgcl.tasks.rules import SoftLabels


@dataclass(frozen=True, kw_only=True)
class BRGCLJointConfig(BRGCLConfig):
    """Settings of joint training: those of BRGCL and of the classifier."""

    head_units: Count = setting(128, "Hidden units of the classifier.")
    head_lr: Positive = setting(
        0.01, "Learning rate of the classifier's weights; `lr` is that of the encoder's."
    )
    class_weight: Weight = setting(1.0, "Weight of the classifier's loss.")
    soft_labels: SoftLabels = setting(
        "normalize",
        "Targets: propagated labels with rows of sum 1, their softmax (the paper), or hard ones.",
    )
    patience: None = setting(None, "None: validation labels choose the epoch.")
    device: Literal["cpu"] = setting("cpu", "Joint training runs on the processor only.")


def fit(
    graph: Data, labels: Labels, config: BRGCLJointConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train encoder and classifier together; return unit-length rows and class probabilities."""
    labels, nodes = labelled_nodes(labels, "brgcl-joint")
    prepared = prepare(graph, config.attributes)
    x, adjacency = prepared.x, prepared.adjacency
    N = x.shape[0]
    targets = soft_targets(
        labels.train,
        labels.num_classes,
        adjacency.transition,
        config.soft_labels,
        config.alpha,
        config.propagation_steps,
    )[nodes]  # (L, C)
    head = make_head(config.dim, config.head_units, labels.num_classes, generator)
    encoder = make_encoder(x.shape[1], with_depth(config, x, adjacency.transition), generator)
    groups: list[dict[str, Any]] = [
        {"params": list(encoder.parameters()), "lr": config.lr},
        {"params": list(head.parameters()), "lr": config.head_lr},
    ]
    optimizer = torch.optim.Adam(groups, weight_decay=config.weight_decay)
    proto_weight = resolve_proto_weight(config, N)
    centers = None
    best = BestEpoch(labels.validation)
    for t in range(1, config.epochs + 1):
        optimizer.zero_grad(set_to_none=True)
        views = two_views(prepared, config.views, generator)
        node = contrast_views(encoder, prepared, views, config, generator)
        add_gradient(config.node_weight * node)
        h = F.normalize(encoder(x, adjacency.normalized), dim=1)  # (N, D)
        classes = config.class_weight * F.cross_entropy(head(h[nodes]), targets)
        proto, rest = None, classes
        if t > config.warmup_epochs and proto_weight > 0:
            gamma = threshold(t, config.epochs, config.gamma0)
            found = find_prototypes(
                h.detach(),
                prepared.adjacency.transition,
                gamma,
                config,
                centers,
                max_rounds=config.cluster_rounds,
            )
            centers = found.clusters.centers
            proto = prototype_loss(h, found.clusters.assignment, found.prototypes, config.proto_tau)
            rest = classes + proto_weight * proto
        add_gradient(rest)
        optimizer.step()
        if best.wants(last=t == config.epochs):
            with torch.no_grad():
                h = F.normalize(encoder(x, adjacency.normalized), dim=1)
                best.offer(h, head(h))
        if report is not None:
            loss = representation_loss(node, proto, config.node_weight, proto_weight) + classes
            report(t, config.epochs, f"loss {loss.item():.3f}")
    return best.fitted()


def make_head(dim: int, units: int, num_classes: int, generator: torch.Generator) -> nn.Sequential:
    """A two-layer perceptron, rows `(N, dim)` to logits `(N, C)`, with random weights."""
    with seeded(generator):
        first, second = nn.Linear(dim, units), nn.Linear(units, num_classes)
        for layer in (first, second):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    return nn.Sequential(first, nn.ReLU(), second)


METHOD = Method(
    name="brgcl-joint",
    fit=fit,
    Config=BRGCLJointConfig,
    kind="classifier",
    citation=(
        "Wang & Yang, Bayesian Robust Graph Contrastive Learning, 2022, joint training of "
        "the supplement"
    ),
    cost="time O(N² D) exact or O(N m D) with m sampled negatives; memory O(E + N D)",
    source="The paper",
    version=2,
    ours={
        "head_lr": "as for the perceptron that is trained after BRGCL",
        "class_weight": "the paper adds the two losses",
        "soft_labels": 'as for that perceptron; the paper takes `"softmax"`',
    },
    deviations=(
        "The paper names the experiment and its results, but no settings.",
        (
            "The epoch with the best validation accuracy is kept, or the last one if there are "
            "no validation labels."
        ),
        (
            "It may be an epoch of the warm-up, in which prototypes are not used: validation "
            "labels choose among all epochs, as for every other classifier."
        ),
        (
            "A perceptron is its only classifier; BRGCL may take the best of four, so compare it "
            "with BRGCL and the same perceptron."
        ),
    ),
)
