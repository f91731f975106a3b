"""One step of an optimiser, as every training loop makes it."""

import torch
from torch import Tensor


def descend(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """Move the weights against the gradient of a loss."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
