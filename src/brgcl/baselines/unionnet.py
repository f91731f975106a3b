"""UnionNET: labelled nodes nearby vote on each label, to weigh it and to correct it.

After a warm-up with plain cross-entropy, each labelled node i has a support set S_i: the labelled
nodes that random walks from i meet. With h the last layer's output, its rows of unit length,

    a_ij = exp(h_i h_j) / sum_{m in S_i} exp(h_i h_m)       P_i(c) = sum_{j in S_i} a_ij [y_j = c]
    L_r = - mean_i P_i(y_i) log p_i(y_i)                    given labels, weighted by the votes
    L_c = - mean_i P_i(v_i) log p_i(v_i)                    corrected ones, v_i = argmax_c P_i(c)
    L_p = sum_c pi_c log (pi_c / mean_i p_i(c))             pi = shares of the given labels
    L = (1 - alpha) L_r + alpha L_c + beta L_p

The votes are counted anew in each epoch and carry no gradient.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.gcn_training import GCNConfig, gcn_method, train_gcn
from brgcl.baselines.shared.inputs import labelled_nodes
from brgcl.baselines.shared.learned_edges import Candidates, among, distinct, most_similar
from brgcl.config import Count, Probability, Weight, Whole, setting
from brgcl.contract import Fitted, Hook, Labels
from brgcl.method.inputs import prepare

POOL = 4096  # labelled nodes among which similar ones are searched


@dataclass(frozen=True)
class UnionNETConfig(GCNConfig):
    """Settings of UnionNET: those of the GCN and of the votes."""

    warmup_epochs: Whole = setting(50, "Epochs with plain cross-entropy, before the votes count.")
    num_walks: Count = setting(10, "Random walks from each labelled node.")
    walk_length: Count = setting(10, "Steps of a walk.")
    support: Count = setting(
        5, "Least number of voters; where walks meet fewer, nodes with similar output join."
    )
    alpha: Probability = setting(0.5, "Weight of the corrected labels against the given ones.")
    beta: Weight = setting(1.0, "Weight of the prior on the shares of classes.")


def fit(
    graph: Data, labels: Labels, config: UnionNETConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train the GCN and return its hidden layer and class probabilities."""
    labels, nodes = labelled_nodes(labels, "unionnet")
    given, C, N = labels.train[nodes], labels.num_classes, int(graph.num_nodes)
    start = nodes.repeat_interleave(config.num_walks)
    walks = random_walks(graph.edge_index, N, start, config.walk_length, generator)
    met = labelled_nodes_met(walks, nodes, N)
    support: Candidates | None = None

    def loss(logits: Tensor, epoch: int) -> Tensor:
        nonlocal support
        output = logits[nodes]  # (L, C)
        if epoch <= config.warmup_epochs:
            return F.cross_entropy(output, given)
        h = F.normalize(output.detach(), dim=1)
        if support is None:
            support = fill_up(met, h, config.support, generator)
        return union_loss(output, given, votes(support, h, given, C), config.alpha, config.beta)

    return train_gcn(prepare(graph), labels, config, generator, loss, report).fitted()


def random_walks(
    edge_index: Tensor, num_nodes: int, start: Tensor, length: int, generator: Generator
) -> Tensor:
    """Walk to random neighbours, from a start `(W,)`; the node after each step, `(W, length)`.

    A walk stays at a node without neighbours. Edges `(2, 2E)` are sorted by their first row.
    """
    degree = torch.bincount(edge_index[0], minlength=num_nodes)
    first = degree.cumsum(0) - degree
    neighbours = torch.cat([edge_index[1], start.new_zeros(1)])  # a place to read where none are
    at, steps = start, []
    for _ in range(length):
        chance = torch.rand(len(at), generator=generator, dtype=torch.float64)
        step = neighbours[first[at] + (chance * degree[at]).long()]
        at = torch.where(degree[at] > 0, step, at)
        steps.append(at)
    return torch.stack(steps, dim=1)


def labelled_nodes_met(walks: Tensor, nodes: Tensor, num_nodes: int) -> Tensor:
    """Sorted keys `i L + j` of the pairs in which walks from the i-th labelled node meet the j-th.

    Args:
        walks: Nodes met on k walks from each labelled node in turn, `(L k, length)`.
        nodes: The labelled nodes, `(L,)`.
        num_nodes: N.
    """
    L = len(nodes)
    place = torch.full((num_nodes,), -1).index_put((nodes,), torch.arange(L))
    met = place[walks].reshape(L, -1)  # (L, walks times length), -1 where there is no label
    own = torch.arange(L)[:, None]
    return distinct((own * L + met)[(met >= 0) & (met != own)])


def fill_up(met: Tensor, h: Tensor, least: int, generator: Generator) -> Candidates:
    """Complete support sets below `least` members with the nodes of the most similar output.

    Args:
        met: Sorted keys `i L + j` of the pairs met by walks.
        h: Unit-length outputs of the labelled nodes, `(L, C)`.
        least: Wanted number of members.
        generator: Draws the nodes to search among where there are many.
    """
    L = len(h)
    missing = least - torch.bincount(met // L, minlength=L)
    few = (missing > 0).nonzero().squeeze(1)
    pool = torch.randperm(L, generator=generator)[:POOL].sort().values
    similar = h[pool].T.contiguous()  # (C, P)
    # of twice as many at most one is the node itself and fewer than `least` are members already
    place = most_similar(lambda tile: h[few[tile]] @ similar, len(few), len(pool), 2 * least)
    keys = few[:, None] * L + pool[place]
    new = (pool[place] != few[:, None]) & ~among(keys.flatten(), met).view_as(keys)
    new &= new.cumsum(1) <= missing[few, None]
    return Candidates.from_keys(distinct(torch.cat([met, keys[new]])), L)


def votes(support: Candidates, h: Tensor, given: Tensor, num_classes: int) -> Tensor:
    """Share of the support sets' votes for each class, P, `(L, C)`.

    They depend on the outputs h of unit length, `(L, C)`, and the given labels, `(L,)`. A node
    without any support votes for its own label.
    """
    weight = support.inner_products(h).exp()
    ballots = F.one_hot(given, num_classes).to(h.dtype)  # (L, C)
    total = support.product(weight, ballots)
    count = total.sum(1, keepdim=True)
    return torch.where(count > 0, total / count.clamp_min(1e-12), ballots)


def union_loss(logits: Tensor, given: Tensor, share: Tensor, alpha: float, beta: float) -> Tensor:
    """L from the labelled nodes' logits `(L, C)`, given labels `(L,)` and votes P `(L, C)`."""
    log_p = logits.log_softmax(1)
    own = share.gather(1, given[:, None])
    most, corrected = share.max(1, keepdim=True)
    reweighted = -(own * log_p.gather(1, given[:, None])).mean()
    correction = -(most * log_p.gather(1, corrected)).mean()
    prior = torch.bincount(given, minlength=logits.shape[1]).to(logits.dtype) / len(given)
    mean = log_p.exp().mean(0).clamp_min(1e-12)
    divergence = (torch.xlogy(prior, prior) - prior * mean.log()).sum()  # 0 log 0 = 0
    loss: Tensor = (1 - alpha) * reweighted + alpha * correction + beta * divergence
    return loss


METHOD = gcn_method(
    name="unionnet",
    fit=fit,
    Config=UnionNETConfig,
    citation="Li, Yin & Chen, Unified Robust Training for Graph Neural Networks against Label "
    "Noise, PAKDD 2021",
    cost="time and memory O(E h + N F h + L k), k labelled nodes met from each of L",
    source="Kipf & Welling's GCN",
    sources={
        "num_walks": "The paper, recalled and not read again",
        "walk_length": "The paper, recalled and not read again",
        "alpha": "The paper, recalled and not read again",
        "beta": "The paper, recalled and not read again",
    },
    ours={
        "warmup_epochs": "the publication leaves its length open",
        "support": "least number of voters; where walks meet fewer, nodes with similar output join "
        "once, after the warm-up",
    },
    deviations=(
        "The formulas follow the publication. No code of the authors was found, and settings "
        "that the publication leaves open are ours.",
        "The outputs h have unit length and no gradient, so the exponential stays bounded.",
        "Support sets are drawn once; votes are counted in every epoch.",
        "The epoch with the best validation accuracy is kept, even if it is in the warm-up.",
        "The port in NoisyGL is a different method (raw attributes of direct neighbours vote, "
        "without gradient for the correction) and was not followed.",
        "Walks choose each neighbour with the same probability, whatever the weights of edges.",
    ),
)
