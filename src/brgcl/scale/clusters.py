"""Clusters and prototypes over the whole graph, when a step sees only some of its nodes.

The partition of DP-means (`method/dpmeans.py`) is kept by sums: in each step nodes join the nearest
centre, and the node of a batch farthest from all centres opens a cluster if it lies beyond xi.
Sums and counts of an epoch, in which every node was seen once, give the next centres and
prototypes. All of it adds up over processes.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from brgcl.config import BRGCLConfig
from brgcl.method.confidence import confidence, confident_nodes, propagate_from
from brgcl.method.dpmeans import cluster_sums, merge_clusters, pseudo_labels
from brgcl.method.sparse import Matrix, csr_tensor
from brgcl.method.train import find_clusters
from brgcl.scale.halo import Halo

KEPT = ("centers", "prototypes", "sums", "counts", "trusted", "trusted_counts", "labels")


class RunningClusters:
    """Centres, prototypes and the sums that will replace them.

    Attributes:
        centers: Centre of each cluster, `(K, D)`; no rows before the first step.
        prototypes: What nodes are contrasted with, `(K, D)`.
        sums, counts: Of the nodes of each cluster seen in this epoch, `(K, D)` and `(K,)`.
        trusted, trusted_counts: The same of confident nodes.
        labels: Cluster of each node of the graph when it was last seen, -1 before, `(N,)`.
    """

    def __init__(self, num_nodes: int, dim: int, dtype: torch.dtype = torch.float32) -> None:
        self.centers = torch.zeros(0, dim, dtype=dtype)
        self.prototypes = self.centers.clone()
        self.labels = torch.full((num_nodes,), -1, dtype=torch.int32)
        self.clear()

    def clear(self) -> None:
        """Begin the sums of an epoch."""
        K, D = self.centers.shape
        like = self.centers
        self.sums, self.trusted = like.new_zeros(K, D), like.new_zeros(K, D)
        self.counts, self.trusted_counts = like.new_zeros(K), like.new_zeros(K)

    @property
    def num_clusters(self) -> int:
        """K."""
        return self.centers.shape[0]

    @property
    def totals(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What `step_sums` adds to, in its order."""
        return self.sums, self.counts, self.trusted, self.trusted_counts

    def begin(self, h: Tensor, config: BRGCLConfig) -> None:
        """Find the first centres on the rows of one batch, `(n, D)`."""
        found = find_clusters(h, config, None, max_rounds=config.cluster_rounds)
        self.centers = found.centers
        self.prototypes = self._scaled(found.centers, config)
        self.clear()

    def step_sums(
        self, h: Tensor, halo: Halo, gamma: float, config: BRGCLConfig
    ) -> tuple[Tensor, list[Tensor], Tensor]:
        """Labels of the core, `(n,)`; what a batch adds to the sums; and its proposal.

        The proposal is the row of the farthest node, after its distance (0 where it is not beyond
        xi), its nearest cluster and whether it is confident, `(3 + D,)`.
        """
        K = self.num_clusters
        wanted, label, distance = pseudo_labels(h, self.centers, config.xi)
        sure = torch.ones(len(h), dtype=torch.bool)
        if config.prototypes == "confident":
            known = self.labels[halo.nodes]
            known[: len(h)] = label.int()
            own = local_confidence(halo, known, K, config)
            sure = confident_nodes(own, gamma)
        sums, counts = cluster_sums(h, label, K)
        trusted, trusted_counts = cluster_sums(h[sure], label[sure], K)
        at = int(distance.argmax())
        beyond = int(wanted[at]) == K and config.clustering == "dp-means"
        about = h.new_tensor([float(distance[at]) * beyond, float(label[at]), float(sure[at])])
        return label, [sums, counts, trusted, trusted_counts], torch.cat([about, h[at]])

    def add(self, sums: list[Tensor], proposals: list[Tensor], config: BRGCLConfig) -> None:
        """Add what a step found, over all processes, and open the clusters that it proposes.

        The farthest proposal comes first; the next ones must lie beyond xi of those that were
        opened. There are at most `cluster_rounds` of them, as in a step over the whole graph.
        """
        for total, part in zip(self.totals, sums, strict=True):
            total += part
        opened: list[Tensor] = []
        for proposal in sorted(proposals, key=lambda p: -float(p[0])):
            row = proposal[3:]
            near = any(float((row - other).square().sum()) <= config.xi for other in opened)
            full = (
                self.num_clusters >= config.max_prototypes or len(opened) >= config.cluster_rounds
            )
            if float(proposal[0]) > 0 and not near and not full:
                self._open(proposal, config)
                opened.append(row)

    def _open(self, proposal: Tensor, config: BRGCLConfig) -> None:
        """Move one row from its cluster into a new one."""
        row, old, sure = proposal[3:], int(proposal[1]), float(proposal[2])
        for name, count in (("sums", 1.0), ("trusted", sure)):
            number = "counts" if name == "sums" else "trusted_counts"
            total, counts = getattr(self, name), getattr(self, number)
            total[old] -= count * row
            counts[old] -= count
            setattr(self, name, torch.cat([total, count * row[None]]))
            setattr(self, number, torch.cat([counts, counts.new_tensor([count])]))
        self.centers = torch.cat([self.centers, row[None]])
        self.prototypes = torch.cat([self.prototypes, self._scaled(row[None], config)])

    def close(self, config: BRGCLConfig) -> float:
        """Move centres and prototypes to the means of the epoch; returns the confident share."""
        share = float(self.trusted_counts.sum() / self.counts.sum().clamp_min(1))
        alive = self.counts > 0
        target = torch.where(alive, alive.cumsum(0) - 1, 0)
        sums, counts, trusted, sure = (
            t[alive] for t in (self.sums, self.counts, self.trusted, self.trusted_counts)
        )
        if config.clustering == "dp-means":
            own = torch.arange(len(counts))
            moved, sums, counts, merged = merge_clusters(own, sums, counts, config.xi)
            if merged:
                trusted = sums.new_zeros(sums.shape).index_add_(0, moved, trusted)
                sure = counts.new_zeros(counts.shape).index_add_(0, moved, sure)
                target = moved[target]
        self.centers = sums / counts[:, None]
        robust = torch.where(sure[:, None] > 0, trusted / sure.clamp_min(1)[:, None], self.centers)
        self.prototypes = self._scaled(robust, config)
        for part in torch.split(self.labels, 1 << 22):
            part.copy_(torch.where(part < 0, -1, target[part.clamp_min(0).long()].int()))
        self.clear()
        return share

    def state(self) -> dict[str, Tensor]:
        """All tensors, by name."""
        return {name: getattr(self, name) for name in KEPT}

    def load(self, state: dict[str, Tensor]) -> None:
        """Take up what `state` gave."""
        for name in KEPT:
            setattr(self, name, state[name])

    @staticmethod
    def _scaled(prototypes: Tensor, config: BRGCLConfig) -> Tensor:
        return F.normalize(prototypes, dim=1) if config.normalize_prototypes else prototypes.clone()


def local_confidence(halo: Halo, labels: Tensor, num_clusters: int, config: BRGCLConfig) -> Tensor:
    """Confidence of the core in its labels, `(n,)`, on the core and all rings but the last.

    Args:
        halo: The core and its rings.
        labels: Cluster of each node of the halo, -1 where it is not known.
        num_clusters: K.
        config: Settings.
    """
    n, N = halo.sizes[0], len(halo.crow) - 1
    known = labels[:N] >= 0
    inside = halo.col < N
    crow = torch.cat([halo.crow.new_zeros(1), inside.cumsum(0)])[halo.crow]
    row, col = halo.row[inside], halo.col[inside]
    weight = torch.ones(len(row)) if halo.weight is None else halo.weight[inside]
    value = weight / torch.zeros(N).index_add_(0, row, weight)[row]
    start = torch.zeros(N, num_clusters)
    start[known] = F.one_hot(labels[:N][known].long(), num_clusters).float()
    transition = Matrix(csr_tensor(crow.int(), col.int(), value, (N, N)))
    soft = propagate_from(start, transition, config.alpha, config.propagation_steps)[:n]
    if not bool(known.all()):
        soft /= soft.sum(1, keepdim=True)
    return confidence(soft, labels[:n].long())
