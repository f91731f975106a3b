"""An encoder of the user: any module that is called with attributes and edges, as in PyG."""

import copy
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from brgcl.errors import InputError
from brgcl.method.sparse import Matrix
from brgcl.method.views import Diffusion


class OwnEncoder(nn.Module):
    """A copy of a module, called as `module(x, edge_index)`, behind the call of `Encoder`.

    Attributes are dense here. `edge_index`, `(2, M)`, has both directions of every edge and no
    self-loops. What the module draws at random, for dropout say, depends on the seed and on how
    often it was called; torch's global generator is neither read nor moved.

    Args:
        module: The module; it is copied, so that each `fit` starts from the same weights.
        num_features: F.
        seed: Seed of what it draws.

    Raises:
        InputError: It is not such a module, or it keeps what it computed for the first graph.
    """

    calls: Tensor

    def __init__(self, module: nn.Module, num_features: int, seed: int = 0) -> None:
        super().__init__()
        if any(getattr(part, "cached", False) is True for part in module.modules()):
            raise InputError(
                "a layer of the encoder has cached=True, and would take every view for the first "
                "one; set cached=False"
            )
        self.module, self.num_features, self.seed = copy.deepcopy(module), num_features, seed
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))
        self._check()

    def _check(self) -> None:
        """Call the module once, on two linked nodes; that also gives lazy layers their shapes."""
        name, training = type(self.module).__name__, self.module.training
        edge_index = torch.tensor([[1, 0], [0, 1]])
        try:
            with torch.no_grad(), _drawing(self.seed):
                h = self.module.eval()(torch.zeros(2, self.num_features), edge_index)
        except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
            raise InputError(
                f"the encoder {name} cannot be called as module(x, edge_index) with "
                f"{self.num_features} attributes: {error}"
            ) from error
        self.module.train(training)
        if not (isinstance(h, Tensor) and h.shape[:-1] == (2,) and h.is_floating_point()):
            found = tuple(h.shape) if isinstance(h, Tensor) else type(h).__name__
            raise InputError(
                f"the encoder {name} must return one row for each node, (N, D); for 2 nodes it "
                f"returned {found}"
            )
        if not all(isinstance(value, Tensor) for value in self.module.state_dict().values()):
            raise InputError(f"the encoder {name} keeps something in its state that is no tensor")
        if not list(self.module.parameters()):
            raise InputError(f"the encoder {name} has no parameters that could be trained")

    def forward(
        self,
        x: Matrix,
        adjacency: Matrix | Diffusion | Sequence[Matrix],
        columns: Tensor | None = None,
    ) -> Tensor:
        """Compute representations, `(N, D)`; see `Encoder.forward`."""
        assert isinstance(adjacency, Matrix)
        seen = x.dense if columns is None else x.dense * columns
        with _drawing(self.seed * 1_000_003 + int(self.calls), seen.device):
            if self.module.training:
                self.calls += 1
            h: Tensor = self.module(seen, edges_of(adjacency))
        return h


def edges_of(operator: Matrix) -> Tensor:
    """Edges in an operator's pattern, both directions, without self-loops, `(2, M)`."""
    kept: Tensor | None = operator.__dict__.get("edges")
    if kept is None:
        row = torch.repeat_interleave(operator.data.crow_indices().diff())
        col = operator.data.col_indices()
        kept = torch.stack([col, row])[:, row != col]
        operator.__dict__["edges"] = kept
    return kept


@contextmanager
def _drawing(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Let a module that knows torch's global generator alone draw from a seed."""
    device = torch.device(device)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def digest(encoder: nn.Module) -> str:
    """Digest of a module's weights, their names and shapes."""
    found = hashlib.sha256(type(encoder).__name__.encode())
    for name, value in encoder.state_dict().items():
        found.update(f"{name}{tuple(value.shape)}".encode())
        found.update(value.detach().cpu().contiguous().numpy())
    return found.hexdigest()[:16]
