"""Processes that train together, on one machine or many: PyTorch's own engine, started by torchrun.

Gradients are added up by one all-reduce per step. DistributedDataParallel would do so in every
backward pass; here a step has several batches with two losses each, and a rank may have none.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor
from torch_geometric.data import Data

from brgcl.config import BRGCLConfig
from brgcl.data.graphs import check_graph
from brgcl.errors import BrgclError, InputError
from brgcl.method.attributes import learn_preparation
from brgcl.scale.part_files import read_parts, stored_name, write_parts
from brgcl.scale.parts import PartGraph
from brgcl.scale.placement import place_graph, plan_for, training_name
from brgcl.scale.train import Processes

BATCHES = 8  # of a step, so that the result does not depend on the number of ranks
TIMEOUT = 1800.0  # seconds that ranks wait for each other in a step
PATIENCE = timedelta(days=7)  # while rank 0 reads the graph, or encodes it at the end


class Ranks(Processes):
    """The processes that torchrun started; every method is called by all of them alike."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self._patient = dist.new_group(timeout=PATIENCE, backend="gloo")

    def add(self, tensors: list[Tensor]) -> None:
        """Replace tensors of one type by their sums over ranks, in place, in one message."""
        flat = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
        with self._talking():
            dist.all_reduce(flat)
        sizes = [tensor.numel() for tensor in tensors]
        for tensor, part in zip(tensors, torch.split(flat, sizes), strict=True):
            tensor.copy_(part.view_as(tensor))

    def gather(self, vectors: list[Tensor], dtype: torch.dtype) -> list[Tensor]:
        """The vectors of all ranks: rank r has the vectors r, r + R, ... of the result."""
        with self._talking():
            lengths = self._collect(torch.tensor([len(v) for v in vectors], dtype=torch.long))
            flat = torch.cat(vectors) if vectors else torch.empty(0, dtype=dtype)
            found = self._collect(flat)
        split = [
            list(torch.split(part, length.tolist()))
            for part, length in zip(found, lengths, strict=True)
        ]
        most = max(map(len, split))
        return [own[number] for number in range(most) for own in split if number < len(own)]

    def from_first(self, tensor: Tensor | None) -> Tensor:
        """The matrix of rank 0, which alone has one."""
        shape = torch.tensor([0, 0] if tensor is None else list(tensor.shape))
        with self._talking():
            dist.broadcast(shape, 0)
            result = torch.empty(shape.tolist()) if tensor is None else tensor.contiguous()
            dist.broadcast(result, 0)
        return result

    def agree(self, place: list[int]) -> None:
        """Check that all ranks stand at the same place of a training."""
        with self._talking():
            found = [other.tolist() for other in self._collect(torch.tensor(place))]
        if any(other != found[0] for other in found):
            raise BrgclError(
                f"ranks read different checkpoints: {found}; --out must be a folder that all "
                "machines share"
            )

    def wait(self) -> None:
        """Wait until all ranks are here, however long one of them works alone."""
        with self._talking():
            dist.all_reduce(torch.zeros(1), group=self._patient)

    def _collect(self, vector: Tensor) -> list[Tensor]:
        """The vector of each rank; they may differ in length."""
        length = torch.tensor([len(vector)])
        lengths = [torch.zeros_like(length) for _ in range(self.size)]
        dist.all_gather(lengths, length)
        most = max(map(int, lengths))
        padded = vector.new_zeros(most)
        padded[: len(vector)] = vector
        found = [torch.empty_like(padded) for _ in range(self.size)]
        dist.all_gather(found, padded)
        return [part[: int(n)] for part, n in zip(found, lengths, strict=True)]

    @contextlib.contextmanager
    def _talking(self) -> Iterator[None]:
        """Say what it means when the others do not answer."""
        try:
            yield
        except RuntimeError as error:
            raise BrgclError(
                f"rank {self.rank} of {self.size} lost another rank, whose own message says why "
                f"({first_sentence(error)}); the same command goes on from the last checkpoint"
            ) from error


def join_ranks(timeout: float = TIMEOUT) -> Ranks:
    """Join the processes that torchrun started; gloo serves tensors on the CPU, nccl on the GPU.

    Args:
        timeout: Seconds that ranks wait for each other at most, while they train.

    Raises:
        InputError: This process was not started by torchrun.
        BrgclError: The others cannot be reached.
    """
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        raise InputError(
            "this process is not a rank; start torchrun --nproc-per-node 2 -m brgcl.distributed, "
            "or brgcl embed --ranks 2"
        )
    backend = "gloo"
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        backend = "cpu:gloo,cuda:nccl"
    wait = timedelta(seconds=timeout)
    try:
        store, rank, size = next(dist.rendezvous("env://", timeout=wait))  # type: ignore[attr-defined]
        # torchrun keeps its store over restarts, and in it the addresses of dead ranks
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = dist.PrefixStore(f"brgcl/{attempt}", store)  # type: ignore[attr-defined]
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=wait)
    except (RuntimeError, ValueError) as error:
        raise BrgclError(unreachable(timeout, error)) from error
    return Ranks()


def unreachable(timeout: float, error: Exception) -> str:
    """What to say when ranks cannot connect."""
    rank, size = (os.environ.get(name, "?") for name in ("RANK", "WORLD_SIZE"))
    address = ":".join(os.environ.get(name, "?") for name in ("MASTER_ADDR", "MASTER_PORT"))
    return (
        f"rank {rank} of {size} could not join the others at {address} within {timeout:g} seconds "
        f"({first_sentence(error)}); start all ranks, check that this address can be reached from "
        "every machine, and name the network device in GLOO_SOCKET_IFNAME if gloo takes another one"
    )


def first_sentence(error: Exception) -> str:
    """What PyTorch says went wrong, without the line of its source and without its stack."""
    return re.sub(r"^\[[^]]*\] ", "", str(error)).partition("\n")[0].partition(". ")[0].rstrip(".")


def leave_ranks(ranks: Ranks) -> None:
    """Wait until all are done, and close what was between them."""
    ranks.wait()
    dist.destroy_process_group()


def config_for_ranks(config: BRGCLConfig, ranks: Ranks) -> BRGCLConfig:
    """Settings with which ranks train: by parts, in steps that do not depend on their number.

    Raises:
        InputError: The settings ask for the whole graph, or leave ranks without work.
    """
    if config.mode not in ("auto", "partitioned"):
        raise InputError(
            f"ranks train by parts, not with mode='{config.mode}'; leave mode out, or --ranks"
        )
    batches = config.batches_per_step or BATCHES
    if ranks.size > batches:
        raise InputError(
            f"{ranks.size} ranks share the {batches} batches of a step; set batches_per_step to "
            f"{ranks.size} or more, or start fewer ranks"
        )
    return config.replace(mode="partitioned", batches_per_step=batches)


def share_graph(data: Data | None, config: BRGCLConfig, folder: Path, ranks: Ranks) -> PartGraph:
    """Let rank 0 write the parts of its graph, unless they are there, and all map them.

    Args:
        data: The graph; only that of rank 0 is looked at.
        config: Settings.
        folder: Where the parts are kept; all ranks must see it.
        ranks: The ranks.
    """
    if ranks.rank == 0:
        assert data is not None
        data = check_graph(data, announce=False)
        name = training_name(data, config)
        if stored_name(folder) != name:
            kind = None if config.attributes == "auto" else config.attributes
            preparation = learn_preparation(data.x, kind)
            graph = place_graph(data, preparation, plan_for(data, config), config)
            assert isinstance(graph, PartGraph)
            write_parts(folder, graph, name)
    ranks.wait()
    return read_parts(folder)
