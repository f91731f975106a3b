"""ARGA and ARVGA: graph autoencoders whose codes a discriminator pushes towards N(0, I).

    H = ReLU(A X W0)                      A = D^-1/2 (A + I) D^-1/2, no biases
    Z = A (H + 0.1 noise) W1              arga
    Z = M + noise exp(A H W2), M = A H W1         arvga

Each iteration makes five steps on the reconstruction of the graph (reconstruction.py; arvga adds
KL(Z | N(0, I)) / N), one step of the discriminator, which tells draws from N(0, I) from codes, and
one step of the encoder to fool it (in arga together with the reconstruction). Representations are
Z without noise.
"""

from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import ARGA, ARGVA

from brgcl.baselines.shared.descent import descend
from brgcl.baselines.shared.inputs import seeded
from brgcl.baselines.shared.reconstruction import num_columns, reconstruction_loss
from brgcl.config import Count, Positive, Scaling, Settings, Weight, setting
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.machine import check_width
from brgcl.method.encoder import Encoder
from brgcl.method.graph import Graph
from brgcl.method.inputs import prepare
from brgcl.method.node_loss import sample_negatives


@dataclass(frozen=True)
class ARGAConfig(Settings):
    """Settings of ARGA and ARVGA, those of the authors for clustering."""

    variational: bool = setting(
        False, "Codes are drawn around a mean (arvga) instead of computed (arga)."
    )
    hidden: Count = setting(
        32, "Units of the encoder's hidden layer and of the discriminator's second one."
    )
    dim: Count = setting(32, "Dimension of the representations.")
    discriminator: Count = setting(64, "Units of the discriminator's first hidden layer.")
    noise: Weight = setting(0.1, "Deviation of the noise on the hidden layer (arga).")
    lr: Positive = setting(5e-4, "Learning rate of Adam for the reconstruction.")
    adversarial_lr: Positive = setting(
        1e-3, "Learning rate of Adam for the discriminator and for fooling it."
    )
    iterations: Count = setting(50, "Training iterations.")
    steps: Count = setting(5, "Steps on the reconstruction in each iteration.")
    num_negatives: Count | Literal["auto"] | None = setting(
        "auto",
        "Nodes drawn per step to pair all with: none = all, auto = all up to 10,000, then 512.",
    )
    attributes: Literal["auto"] | Scaling = setting(
        "none", "Scaling of attributes: none = as given; auto = as in brgcl."
    )


class NoisyEncoder(nn.Module):
    """Codes, or their means and log deviations, from a prepared graph; noise only in training."""

    def __init__(self, num_features: int, config: ARGAConfig, generator: torch.Generator) -> None:
        super().__init__()
        heads = 2 if config.variational else 1
        self.weights = Encoder(
            num_features, hidden=config.hidden, dim=config.dim, generator=generator
        ).weights
        for _ in range(heads - 1):
            head = Encoder(config.hidden, dim=config.dim, num_layers=1, generator=generator)
            self.weights.extend(head.weights)
        self.noise = 0.0 if config.variational else config.noise

    def forward(self, graph: Graph) -> Tensor | tuple[Tensor, Tensor]:
        """Return `(N, D)` codes, or two such matrices with a variational head."""
        first, *heads = self.weights
        adjacency = graph.adjacency.normalized
        hidden = F.relu(adjacency @ (graph.x @ first))
        if self.training and self.noise > 0:
            hidden = hidden + self.noise * torch.randn_like(hidden)
        found = [adjacency @ (hidden @ head) for head in heads]
        return found[0] if len(found) == 1 else (found[0], found[1])


def make_model(num_features: int, config: ARGAConfig, generator: torch.Generator) -> ARGA | ARGVA:
    """Put an encoder and a discriminator with small random weights together."""
    discriminator = nn.Sequential(
        nn.Linear(config.dim, config.discriminator),
        nn.ReLU(),
        nn.Linear(config.discriminator, config.hidden),
        nn.ReLU(),
        nn.Linear(config.hidden, 1),
    )
    family = ARGVA if config.variational else ARGA
    model = family(NoisyEncoder(num_features, config, generator), discriminator)
    for name, parameter in discriminator.named_parameters():
        nn.init.normal_(parameter, std=0.01 if name.endswith("weight") else 0.0)
    return model


def fit(
    graph: Data, labels: Labels, config: ARGAConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train encoder and discriminator in turns and return the codes; `labels` are not read."""
    prepared = prepare(graph, config.attributes)
    N = prepared.x.shape[0]
    check_width(*prepared.x.shape, config.hidden, config.dim, config.discriminator)
    count = num_columns(config.num_negatives, N)
    with seeded(generator):
        model = make_model(prepared.x.shape[1], config, generator)
        reconstructs = torch.optim.Adam(model.encoder.parameters(), lr=config.lr)
        tells = torch.optim.Adam(model.discriminator.parameters(), lr=config.adversarial_lr)
        fools = torch.optim.Adam(model.encoder.parameters(), lr=config.adversarial_lr)

        def reconstruction(z: Tensor) -> Tensor:
            columns = sample_negatives(N, count, generator)
            return reconstruction_loss(z, prepared.adjacency, columns)

        for iteration in range(1, config.iterations + 1):
            for _ in range(config.steps):
                loss = reconstruction(model.encode(prepared))
                if config.variational:
                    loss = loss + model.kl_loss() / N
                descend(reconstructs, loss)
            with torch.no_grad():
                z = model.encode(prepared)
            descend(tells, model.discriminator_loss(z))
            z = model.encode(prepared)
            fooled = model.reg_loss(z)
            descend(fools, fooled if config.variational else fooled + reconstruction(z))
            if report is not None:
                report(iteration, config.iterations, f"loss {loss.item():.3f}")
        with torch.no_grad():
            return Fitted(model.eval().encode(prepared))


METHOD = Method(
    name="arga",
    fit=fit,
    Config=ARGAConfig,
    kind="representation",
    citation=(
        "Pan, Hu, Long, Jiang, Yao & Zhang, Adversarially Regularized Graph Autoencoder "
        "for Graph Embedding, IJCAI 2018"
    ),
    cost="time O(N² D) exact or O(N m D) with m sampled nodes; memory O(E + N D)",
    source="The authors' code",
    sources={
        "iterations": "The authors' code, for clustering",
        "attributes": "The authors' code takes attributes as given",
    },
    ours={
        "num_negatives": "all pairs, as in the authors' code, up to 10,000 nodes; then 512",
    },
    presets={
        "pubmed": {"attributes": "standardize"},
    },
    deviations=(
        ("All edges are used in training; the authors hold out 15 % of them, also for clustering."),
        (
            "Representations are computed without noise after the last iteration; the authors' "
            "code prints scores every second iteration."
        ),
        (
            "Fifty iterations are enough for attributes as given: rows scaled to sum 1 are "
            "about twenty times smaller, and training has hardly begun after as many "
            "iterations."
        ),
    ),
)
ARVGA = replace(
    METHOD,
    name="arvga",
    sources={**METHOD.sources, "noise": "The authors' code; not read here"},
    # the authors' rate hardly begins to train on pubmed; this one has the lowest training loss
    presets={"default": {"variational": True}, "pubmed": {"lr": 0.08}},
)
