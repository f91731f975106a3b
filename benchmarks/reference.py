"""Plain dense implementations, to check against and to compare speed with; never used to train.

They are written the way the literature's code is: dense attributes, N x N matrices, autograd.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from brgcl.config import BRGCLConfig
from brgcl.method.encoder import Encoder
from brgcl.method.graph import Graph
from brgcl.method.sparse import Matrix, is_sparse
from brgcl.method.views import View


def dense_node_loss(h1: Tensor, h2: Tensor, *, objective: str, tau: float) -> Tensor:
    """Our node loss with all similarities at once and gradients by autograd, O(N²) memory."""
    cosine = F.normalize(h1, dim=1) @ F.normalize(h2, dim=1).T
    if objective == "abs":
        s = cosine.abs()
        return (s.sum(1).log() - s.diagonal().log()).mean()
    s = (cosine / tau).exp()
    both = s.sum(1).log() + s.sum(0).log()
    return both.mean() / 2 - (cosine.diagonal() / tau).mean()


def grace_loss(h1: Tensor, h2: Tensor, projection: nn.Module, tau: float) -> Tensor:
    """Node loss of GRACE (Zhu et al. 2020): negatives from both views, after a projection."""
    u, v = (F.normalize(projection(h), dim=1) for h in (h1, h2))

    def one_way(a: Tensor, b: Tensor) -> Tensor:
        between = (a @ b.T / tau).exp()  # (N, N)
        within = (a @ a.T / tau).exp()  # (N, N)
        denominator = between.sum(1) + within.sum(1) - within.diagonal()
        return (denominator.log() - between.diagonal().log()).mean()

    return (one_way(u, v) + one_way(v, u)) / 2


def dense_attributes(graph: Graph) -> Matrix:
    """The attributes as a dense matrix."""
    return Matrix(graph.x.data.to_dense() if is_sparse(graph.x.data) else graph.x.data)


class GraceEpoch:
    """One training epoch of GRACE at the widths of a BRGCL configuration."""

    def __init__(self, graph: Graph, config: BRGCLConfig) -> None:
        generator = torch.Generator().manual_seed(config.seed)
        self.x, self.tau = dense_attributes(graph), config.tau
        self.encoder = Encoder(
            self.x.shape[1], hidden=config.hidden, dim=config.dim, generator=generator
        )
        self.projection = nn.Sequential(
            nn.Linear(config.dim, config.dim), nn.ELU(), nn.Linear(config.dim, config.dim)
        )
        parameters = [*self.encoder.parameters(), *self.projection.parameters()]
        self.optimizer = torch.optim.Adam(parameters, lr=config.lr)

    def __call__(self, views: tuple[View, View]) -> float:
        """Encode two views with masked copies of the attributes, contrast them, take a step."""
        codes = [self.encoder(self._masked(view), view.adjacency) for view in views]
        loss = grace_loss(codes[0], codes[1], self.projection, self.tau)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return loss.item()

    def _masked(self, view: View) -> Matrix:
        return self.x if view.columns is None else Matrix(self.x.data * view.columns)
