"""Ranks are processes of their own; they talk over the loopback device, and never for long."""

import contextlib
import socket
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file

from brgcl import make_graph
from brgcl.config import BRGCLConfig
from brgcl.errors import BrgclError, InputError
from brgcl.method.attributes import learn_preparation
from brgcl.method.train import begin_with
from brgcl.scale.memory import Plan
from brgcl.scale.part_files import read_parts, write_parts
from brgcl.scale.parts import split_graph
from brgcl.scale.ranks import BATCHES, Ranks, config_for_ranks, join_ranks, share_graph
from brgcl.scale.train import Processes, train_by_parts
from preloaded import started

SETTINGS = {
    "epochs": 10, "warmup_epochs": 3, "hidden": 16, "dim": 8, "num_negatives": 40, "lr": 0.01,
    "xi": 0.5,
}  # fmt: skip
PLAN = Plan("partitioned", 6, 1, 5, 0, 0, 1e9)  # steps of 5 batches and 1: a rank has none

# What each rank does: it trains and writes what it saw.
PROGRAM = """
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

sys.path.insert(0, sys.argv[1])
from test_ranks import train_and_watch
from brgcl.errors import BrgclError
from brgcl.scale.part_files import read_parts
from brgcl.scale.ranks import Ranks, join_ranks, leave_ranks

torch.set_num_threads(1)
ranks = join_ranks(timeout=60)
rank = ranks.rank
vectors = [torch.full((n,), float(n)) for n in ((1, 3, 5) if rank == 0 else (2, 4))]
order = torch.cat(ranks.gather(vectors, torch.float32))
first = ranks.from_first(torch.arange(6.0).view(2, 3) if rank == 0 else None)
ranks.agree([3, 4])
refused = ""
try:
    ranks.agree([3, rank])
except BrgclError as error:
    refused = str(error)
seen = train_and_watch(read_parts(Path(sys.argv[2])), Ranks)
seen |= {"order": order, "first": first, "refused": torch.tensor(list(refused.encode()))}
save_file(seen, Path(sys.argv[2]).parent / f"{rank}.safetensors")
leave_ranks(ranks)
"""


def train_and_watch(graph, kind):
    """Train, and keep the sums of losses and the prototypes after each step, and the weights."""
    seen = {}

    class Watch(kind):
        def add(self, tensors):
            super().add(tensors)
            if tensors[0].dtype == torch.float64:  # nodes, and the sums of the losses over them
                seen[f"losses {len(seen)}"] = tensors[0].clone()

    config = BRGCLConfig(**SETTINGS)
    state = begin_with(40, config.replace(num_layers=2), torch.Generator().manual_seed(0))

    def keep(_=None):
        seen[f"prototypes {len(seen)}"] = state.parts["prototypes"].clone()
        seen[f"labels {len(seen)}"] = state.parts["labels"].clone()

    train_by_parts(state, graph, config, PLAN, after_epoch=keep, after_step=keep, processes=Watch())
    return seen | {f"weight {name}": w for name, w in state.encoder.state_dict().items()}


@contextlib.contextmanager
def ranks(program, size, folder, *arguments):
    """Start the ranks; whatever happens, none of them is left behind."""
    store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    known = {
        "MASTER_ADDR": "localhost", "MASTER_PORT": str(store.port), "WORLD_SIZE": str(size),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
    }  # fmt: skip
    if sys.platform == "linux":
        known["GLOO_SOCKET_IFNAME"] = "lo"
    with contextlib.ExitStack() as stack:
        children = []
        for rank in range(size):
            known |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            streams = folder / f"rank-{rank}"
            streams.mkdir()
            child = started(program, *arguments, folder=streams, **known)
            children.append(stack.enter_context(child))
        yield children


@pytest.fixture
def alone(tmp_path):
    """A group of this process alone."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield Ranks()
    dist.destroy_process_group()


def test_two_ranks_take_the_steps_of_one(tmp_path):
    data = make_graph(300, num_classes=3, num_features=40)
    write_parts(tmp_path / "parts", split_graph(data, learn_preparation(data.x), 6, seed=1), "")
    with ranks(PROGRAM, 2, tmp_path, Path(__file__).parent, tmp_path / "parts") as children:
        for child in children:
            assert child.wait() == 0, child.streams
    expected = train_and_watch(read_parts(tmp_path / "parts"), Processes)
    found = [load_file(tmp_path / f"{rank}.safetensors") for rank in range(2)]
    for seen in found:
        assert seen.pop("order").tolist() == [n for n in range(1, 6) for _ in range(n)]
        assert seen.pop("first").tolist() == [[0, 1, 2], [3, 4, 5]]
        refused = bytes(seen.pop("refused").tolist()).decode()
        assert refused.startswith("ranks read different checkpoints: [[3, 0], [3, 1]]; --out must")
        assert seen.keys() == expected.keys()
        assert sum(name.startswith("losses") for name in seen) == 20
        for name, value in expected.items():
            torch.testing.assert_close(seen[name], value, atol=1e-4, rtol=1e-4, msg=name)
    for name, value in found[0].items():
        assert torch.equal(value, found[1][name]), name
    last = max((name for name in expected if "prototypes" in name), key=lambda n: int(n.split()[1]))
    assert len(expected[last]) > 1


def test_a_rank_alone_changes_nothing(alone):
    sums = [torch.arange(6.0).view(2, 3), torch.ones(2)]
    alone.add(sums)
    assert sums[0].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert sums[1].tolist() == [1, 1]
    assert alone.gather([], torch.int32) == []
    assert [v.tolist() for v in alone.gather([torch.arange(3)], torch.int64)] == [[0, 1, 2]]
    alone.agree([1, 2])
    alone.wait()


def test_parts_are_written_once_for_a_graph_and_its_settings(alone, tmp_path):
    data = make_graph(300, num_classes=3, num_features=40)
    config = config_for_ranks(BRGCLConfig(num_partitions=6), alone)
    folder = tmp_path / "parts"
    graph = share_graph(data, config, folder, alone)
    assert graph.num_parts == 6
    written = (folder / "col.npy").stat().st_ino
    share_graph(data, config, folder, alone)
    assert (folder / "col.npy").stat().st_ino == written
    other = share_graph(data, config.replace(num_partitions=5), folder, alone)
    assert other.num_parts == 5


def test_steps_do_not_depend_on_the_number_of_ranks():
    class Some(Processes):
        size = 2

    config = config_for_ranks(BRGCLConfig(), Some())
    assert (config.mode, config.batches_per_step) == ("partitioned", BATCHES)
    assert config_for_ranks(BRGCLConfig(batches_per_step=2), Some()).batches_per_step == 2
    Some.size = 9
    with pytest.raises(InputError, match="9 ranks share the 8 batches of a step; set batches_per"):
        config_for_ranks(BRGCLConfig(), Some())
    with pytest.raises(InputError, match="ranks train by parts, not with mode='sampled'"):
        config_for_ranks(BRGCLConfig(mode="sampled"), Some())


def test_a_process_of_its_own_is_no_rank(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(InputError, match="this process is not a rank; start torchrun"):
        join_ranks()


@pytest.mark.parametrize("rank", [0, 1])
def test_ranks_that_cannot_connect_are_told_what_to_look_at(monkeypatch, rank):
    with socket.socket() as other:  # a free port, on which nobody answers
        other.bind(("127.0.0.1", 0))
        port = str(other.getsockname()[1])
    place = {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1"}
    for name, value in {**place, "MASTER_PORT": port}.items():
        monkeypatch.setenv(name, value)
    expected = (
        f"^rank {rank} of 2 could not join the others at 127.0.0.1:{port} within 0.5 seconds "
    )
    with pytest.raises(BrgclError, match=expected) as caught:
        join_ranks(0.5)
    assert "\n" not in str(caught.value)
