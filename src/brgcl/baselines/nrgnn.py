"""NRGNN: learn edges to labelled nodes, mine pseudo labels with them, then classify.

Three networks are trained together. An edge predictor gives every node a code z, so that linked
nodes agree and others do not:

    L_E = N / (|E+| + |E-|) (sum_{E+} (z_i z_j - 1)² + sum_{E-} (z_i z_j)²)     E-: sampled

Candidate edges join each node to the n_p labelled nodes with the most similar attributes. They
weigh w_ij = z_i z_j where that is at least t_small, else 0. A miner, a GCN on the edges of the
graph (weight 1) and the candidates, learns the given labels, L_P. At each new best validation
accuracy its predictions q are kept, and V_A = unlabelled nodes with max q > p_u. Edges between
unlabelled nodes and V_A become candidates too; on all of them the classifier, a GCN, learns the
given labels, L_G, and the mined ones:

    L_A = - mean_{V_A} sum_c q_c log p_c          L = L_G + L_P + alpha L_E + beta L_A
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.descent import descend
from brgcl.baselines.shared.gcn_training import (
    GCN_PRESETS,
    BestEpoch,
    GCNConfig,
    convolve,
    make_gcn,
)
from brgcl.baselines.shared.inputs import check_memory, labelled_nodes
from brgcl.baselines.shared.learned_edges import (
    Candidates,
    both_ways,
    distinct,
    most_similar,
    without,
)
from brgcl.config import Count, Positive, Probability, Weight, require, setting
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.method.encoder import Encoder
from brgcl.method.graph import Adjacency, Graph
from brgcl.method.inputs import prepare
from brgcl.method.sparse import Matrix, csr_from_scipy, csr_tensor, csr_to_scipy, is_sparse

BYTES_PER_PAIR = 100  # keys, both orders of the pattern, weights and their gradients

Mix = Callable[[Tensor], Tensor]  # the operator of a GCN layer, (N, K) -> (N, K)


@dataclass(frozen=True)
class NRGNNConfig(GCNConfig):
    """Settings of NRGNN."""

    lr: Positive = setting(0.001, "Learning rate of Adam.")
    candidates: Literal["sparse", "published"] = setting(
        "sparse", "New edges to V_A: the n_p largest weights per node, or all N |V_A| as published."
    )
    n_p: Count | Literal[-1] = setting(
        50, "Candidate edges per node; -1 = to all labelled nodes (published only)."
    )
    p_u: Probability = setting(
        0.8, "Probability above which a prediction of the miner becomes a pseudo label."
    )
    t_small: Weight = setting(0.1, "Smaller edge weights are set to 0.")
    alpha: Weight = setting(0.03, "Weight of the edge predictor's loss.")
    beta: Weight = setting(1.0, "Weight of the loss on pseudo labels.")
    edge_hidden: Count = setting(64, "Units of both layers of the edge predictor.")
    n_n: Count = setting(50, "Non-edges drawn per node and epoch; half of them are used.")
    pool: Count = setting(
        4096,
        "Labelled nodes, or members of V_A, among which similar ones are searched; random ones.",
    )

    def __post_init__(self) -> None:
        """Check every field, and what they need of each other."""
        super().__post_init__()
        if self.candidates == "sparse":
            require(self, "n_p", self.n_p != -1, "at least 1 where candidates is sparse")


def fit(
    graph: Data, labels: Labels, config: NRGNNConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train the three networks; return the classifier's hidden layer and probabilities."""
    labels, nodes = labelled_nodes(labels, "nrgnn")
    check_size(int(graph.num_nodes), len(nodes), config)
    given = labels.train[nodes]
    unlabelled = (labels.train < 0).nonzero().squeeze(1)
    prepared = keep_proportions(graph)
    x, adjacency = prepared.x, prepared.adjacency
    N, F_in = x.shape
    units = config.edge_hidden
    predictor = Encoder(F_in, hidden=units, dim=units, generator=generator)
    miner, classifier = (make_gcn(prepared, config, labels.num_classes, generator) for _ in "PG")
    parameters = [p for network in (predictor, miner, classifier) for p in network.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=config.lr, weight_decay=config.weight_decay)
    edges = adjacency.row * N + adjacency.col  # sorted, with self-loops
    linked = Candidates.from_keys(edges[adjacency.row < adjacency.col], N)
    fixed = with_self_loops(adjacency)
    to_labelled = candidates_to_labelled(x, nodes, edges, config, generator)
    to_mined = Candidates.from_keys(torch.empty(0, dtype=torch.long), N)
    mined, soft = unlabelled[:0], torch.empty(0, labels.num_classes)
    best_miner, best = BestEpoch(labels.validation), BestEpoch(labels.validation)
    for epoch in range(1, config.epochs + 1):
        z = predictor(x, adjacency.normalized)  # (N, edge_hidden)
        learned = [weigh(to_labelled, z, config.t_small)]
        mix_miner = weighted_mix(fixed, learned)
        if len(to_mined.col):
            learned = [*learned, weigh(to_mined, z, config.t_small)]
        mix = weighted_mix(fixed, learned)
        _, mined_logits = convolve(miner, x, mix_miner, config.dropout, generator)
        _, logits = convolve(classifier, x, mix, config.dropout, generator)
        loss = (
            F.cross_entropy(logits[nodes], given)
            + F.cross_entropy(mined_logits[nodes], given)
            + config.alpha * edge_loss(z, linked, draw_non_edges(edges, N, config.n_n, generator))
        )
        if len(mined):
            loss = loss + config.beta * F.cross_entropy(logits[mined], soft[mined])
        descend(optimizer, loss)
        with torch.no_grad():  # as the authors do, new networks on this epoch's edges
            if best.wants(last=epoch == config.epochs):
                best.offer(*convolve(classifier, x, mix))
            if best_miner.offer(*convolve(miner, x, mix_miner)):
                soft = best_miner.logits.softmax(1)
                mined = unlabelled[soft[unlabelled].max(1).values > config.p_u]
                to_mined = candidates_to_mined(z.detach(), unlabelled, mined, config, generator)
        if report is not None:
            report(epoch, config.epochs, f"loss {loss.item():.3f}, {len(mined)} pseudo labels")
    return best.fitted()


def check_size(num_nodes: int, num_labelled: int, config: NRGNNConfig) -> None:
    """Refuse the published form where its candidates would not fit into memory."""
    pairs = 2 * num_nodes * num_labelled if config.n_p == -1 else 0
    if config.candidates == "published" and config.p_u < 1:
        pairs += (num_nodes - num_labelled) ** 2
    check_memory("nrgnn", BYTES_PER_PAIR * pairs, "use candidates=sparse and n_p=50 instead")


def keep_proportions(graph: Data) -> Graph:
    """Prepare the graph, with non-negative attributes divided by the largest of all.

    The authors leave binary attributes as they are, and their learning rate is for these.
    """
    values = graph.x.values() if is_sparse(graph.x) else graph.x
    if bool((values < 0).any()):
        return prepare(graph)
    prepared = prepare(graph, "none")
    largest = float(values.max()) if values.numel() else 0.0
    return Graph(Matrix(prepared.x.data * (1 / (largest or 1.0))), prepared.adjacency)


def candidates_to_labelled(
    x: Matrix, nodes: Tensor, edges: Tensor, config: NRGNNConfig, generator: Generator
) -> Candidates:
    """Pair every node with the labelled nodes `(L,)` of the most similar attributes, both ways.

    Edges and self-loops, given by sorted keys, are no candidates. At most `pool` labelled nodes are
    searched, drawn at random; `n_p` = -1 pairs with all of them.
    """
    N = x.shape[0]
    if config.n_p == -1:
        found = nodes.expand(N, len(nodes))
    else:
        nodes = draw(nodes, config.pool, generator)
        directions = F.normalize(rows_of(x, nodes).to_dense(), dim=1).T.contiguous()  # (F, P)
        everyone = torch.arange(N)
        place = most_similar(
            lambda tile: rows_of(x, everyone[tile]) @ directions, N, len(nodes), config.n_p
        )
        found = nodes[place]  # (N, n_p)
    keys = (torch.arange(N)[:, None] * N + found).flatten()
    return Candidates.from_keys(both_ways(without(keys, edges), N), N)


def candidates_to_mined(
    z: Tensor, unlabelled: Tensor, mined: Tensor, config: NRGNNConfig, generator: Generator
) -> Candidates:
    """Pair unlabelled nodes with those that have pseudo labels.

    "published": with all of them; messages flow to these, as in the authors' code. "sparse": each
    with the `n_p` of the largest weights, both ways, among at most `pool` drawn at random.

    Args:
        z: Codes of the edge predictor, `(N, D)`.
        unlabelled: Nodes without a given label, `(U,)`.
        mined: Those of them with a pseudo label, `(A,)`.
        config: Settings.
        generator: Source of randomness.
    """
    N = len(z)
    if config.candidates == "published":
        keys = mined[:, None] * N + unlabelled
        return Candidates.from_keys(keys[mined[:, None] != unlabelled], N)
    members = draw(mined, config.pool, generator)
    others = z[members].T.contiguous()  # (D, P)
    count = min(config.n_p + 1, len(members))  # one may be the node itself
    place = most_similar(
        lambda tile: z[unlabelled[tile]] @ others, len(unlabelled), len(members), count
    )
    found = members[place]  # (U, n_p + 1)
    keys = unlabelled[:, None] * N + found
    other = found != unlabelled[:, None]
    other &= other.cumsum(1) <= config.n_p
    return Candidates.from_keys(both_ways(keys[other], N), N)


def draw(nodes: Tensor, most: int, generator: Generator) -> Tensor:
    """Draw `most` of the nodes where there are more of them."""
    if len(nodes) <= most:
        return nodes
    return nodes[torch.randperm(len(nodes), generator=generator)[:most]]


def rows_of(x: Matrix, nodes: Tensor) -> Tensor:
    """Some rows of a dense or CSR matrix, in its layout."""
    if not is_sparse(x.data):
        return x.data[nodes]
    return csr_from_scipy(csr_to_scipy(x.data)[nodes.numpy()])


def weigh(candidates: Candidates, z: Tensor, t_small: float) -> tuple[Candidates, Tensor]:
    """Candidates of a weight max(z_i z_j, 0) of at least `t_small`, and their weights.

    The others weigh 0 and have no gradient, so that they need not be there at all.
    """
    with torch.no_grad():
        products = candidates.inner_products(z)
        heavy = candidates.kept((products >= t_small) & (products > 0))
    return heavy, heavy.inner_products(z)


def weighted_mix(fixed: Matrix, learned: list[tuple[Candidates, Tensor]]) -> Mix:
    """D^-1/2 (A + I + W) D^-1/2 as a product, D the row sums, differentiable in W too.

    `fixed` is A + I, `(N, N)`; the candidates with their weights sum to W.
    """
    one = torch.ones(fixed.shape[0], 1)
    degree = fixed @ one
    for candidates, weight in learned:
        degree = degree + candidates.product(weight, one)
    scale = degree.rsqrt()  # (N, 1); the self-loop keeps it finite

    def mix(h: Tensor) -> Tensor:
        h = scale * h
        mixed = fixed @ h
        for candidates, weight in learned:
            mixed = mixed + candidates.product(weight, h)
        return scale * mixed

    return mix


def with_self_loops(adjacency: Adjacency) -> Matrix:
    """A + I with the weights of the edges, not normalised."""
    crow, col, weight = adjacency.crow, adjacency.col, adjacency.weight
    value = torch.ones(len(col)) if weight is None else weight[adjacency.edge]
    return Matrix(csr_tensor(crow, col, value, (adjacency.num_nodes,) * 2), symmetric=True)


def draw_non_edges(
    edges: Tensor, num_nodes: int, per_node: int, generator: Generator
) -> Candidates:
    """Draw `per_node` pairs i, j per node; keep those with i < j whose keys i N + j are no edge."""
    first, second = torch.randint(num_nodes, (2, per_node * num_nodes), generator=generator)
    keys = distinct((first * num_nodes + second)[first < second])
    return Candidates.from_keys(without(keys, edges), num_nodes)


def edge_loss(z: Tensor, linked: Candidates, apart: Candidates) -> Tensor:
    """L_E: squared error of inner products, 1 wanted for edges E+ and 0 for non-edges E-."""
    error = (linked.inner_products(z) - 1).pow(2).sum() + apart.inner_products(z).pow(2).sum()
    return error * len(z) / max(len(linked.col) + len(apart.col), 1)


METHOD = Method(
    name="nrgnn",
    fit=fit,
    Config=NRGNNConfig,
    kind="classifier",
    citation="Dai, Aggarwal & Wang, NRGNN: Learning a Label Noise-Resistant Graph Neural Network "
    "on Sparsely and Noisily Labeled Graphs, KDD 2021",
    cost="time O(E D + (n_p + n_n) N D) per epoch, O(N pool D) per search; memory O(E + n_p N)",
    source="The authors' code",
    sources={
        "dropout": "The authors' code; on hidden units alone",
        "n_p": "The authors' default and that of NoisyGL; the authors' script takes -1, all "
        "labelled nodes, for cora and citeseer (`candidates=published` only)",
        "alpha": "The authors' code, for cora with uniform noise; they take 0.3 for pair noise",
        "n_n": "The authors' code; may be lowered for large graphs",
    },
    ours={
        "candidates": 'edges to V_A of the n_p largest weights per node; `"published"`: all of '
        "them",
        "pool": "labelled nodes or members of V_A that the search looks at, a random draw where "
        "there are more",
    },
    presets={
        "citeseer": {"alpha": 3.0},
        "pubmed": {"hidden": 128, "lr": 0.01, "n_p": 5, "p_u": 1.0, "alpha": 0.1},
        **GCN_PRESETS,
    },
    space={
        "n_p": (10, 25, 50),
        "p_u": (0.7, 0.8, 0.9),
        "alpha": (0.03, 0.3, 3.0),
        "beta": (0.1, 1.0),
        "lr": (1e-3, 5e-3, 1e-2),
    },
    deviations=(
        '`candidates="sparse"` keeps the n_p largest weights per node of the N |V_A| new edges, in '
        'both directions; `"published"` has all of them, from unlabelled nodes to V_A, as the '
        "authors' code has.",
        "The authors intend to exclude existing edges from the candidates, but their code "
        "never does, because it compares different types; here they are excluded for labelled "
        "nodes.",
        "Their first V_A comes from a pass with dropout; here it is empty until the first pass "
        "without dropout.",
        "With `p_u=1.0` V_A is empty, and their mean over it is not a number; here it is 0.",
        "Attributes are divided by the largest value, so binary attributes are unchanged, as "
        "for the authors. If there are negative values, columns are standardised.",
        "Without validation labels V_A follows the miner's predictions in every epoch.",
        "The epoch with the best validation accuracy of the classifier is kept, or the last "
        "one if there are no validation labels.",
    ),
)
