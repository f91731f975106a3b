"""The command of the ranks. What torchrun starts is ended whatever happens."""

import os
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest
import torch

from brgcl import BRGCL, make_graph
from brgcl.cli.run_folder import TRAINING
from brgcl.distributed import main

# One rank of the command, which writes a checkpoint after each step. One of them kills itself.
PROGRAM = """
import os, signal, time
from brgcl import checkpoint
from brgcl.distributed import main
from brgcl.scale.ranks import Ranks

checkpoint.SECONDS = 0.0
add, count = Ranks.add, 0

def add_or_die(self, tensors):
    global count
    count += 1
    first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    if first and count == int(os.environ["KILL_AT"]) and self.rank == int(os.environ["KILL_RANK"]):
        os.kill(os.getpid(), signal.SIGKILL)
    add(self, tensors)

Ranks.add = add_or_die
if os.environ["TORCHELASTIC_RESTART_COUNT"] != "0" and os.environ["RANK"] == "0":
    time.sleep(8)  # the others come first and must not take an old address for a new one
main()
"""
SETTINGS = ("epochs=8", "warmup_epochs=3", "hidden=16", "dim=8", "num_partitions=8")


def test_the_command_is_embed_with_a_way_to_join(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "argv", ["distributed", "demo", "--timeout", "7", "--out", "here"])
    monkeypatch.setattr("brgcl.distributed.run", lambda join: seen.append((sys.argv, join.args)))
    main()
    assert seen == [(["brgcl", "embed", "demo", "--out", "here"], (7.0,))]


@pytest.fixture
def files(tmp_path):
    """A small graph in files, and the program of a rank."""
    data = make_graph(200, num_classes=3, num_features=30, labels_per_class=5)
    edges = "\n".join(f"{a},{b}" for a, b in data.edge_index.T.tolist() if a < b)
    (tmp_path / "edges.csv").write_text(f"source,target\n{edges}\n", encoding="utf-8")
    np.save(tmp_path / "x.npy", data.x.to_dense().numpy())
    (tmp_path / "rank.py").write_text(PROGRAM, encoding="utf-8")
    return tmp_path


def finish(command, *, seconds=400, **environment):
    """Run a command in a session of its own, which ends with it."""
    loopback = {"GLOO_SOCKET_IFNAME": "lo"} if sys.platform == "linux" else {}
    env = os.environ | {"OMP_NUM_THREADS": "1"} | loopback | environment
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", *map(str, command)], env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        text, _ = child.communicate(timeout=seconds)
        return child.returncode, text
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()


def graph_options(files):
    options = ["--edges", files / "edges.csv", "--features", files / "x.npy"]
    return options + [part for setting in SETTINGS for part in ("--set", setting)]


def torchrun(files, out, *, restarts=0, ranks=2, kill_at=-1, kill_rank=1):
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks]
    command = [*launcher, "--max-restarts", restarts, files / "rank.py", *graph_options(files)]
    return finish(
        [*command, "--timeout", "60", "--out", files / out],
        KILL_AT=str(kill_at),
        KILL_RANK=str(kill_rank),
    )


@pytest.mark.slow
def test_a_killed_rank_ends_all_and_a_restart_ends_as_if_nothing_had_happened(files):
    code, text = torchrun(files, "whole")
    assert code == 0, text
    assert not (files / "whole" / TRAINING).exists()
    expected = BRGCL.load(files / "whole" / "model")
    assert len(expected.history_) == 8

    code, text = torchrun(files, "restarted", restarts=1, kill_at=15)
    assert code == 0, text
    assert "lost another rank" in text or "Signal 9 (SIGKILL)" in text or "exitcode: -9" in text

    code, text = torchrun(files, "stopped", kill_at=14, kill_rank=0)
    assert code != 0
    assert "-9" in text
    assert (files / "stopped" / TRAINING / "checkpoint.safetensors").is_file()
    assert not (files / "stopped" / "embeddings.parquet").exists()
    code, text = torchrun(files, "stopped")  # the same command
    assert code == 0, text

    for name in ("restarted", "stopped"):
        found = BRGCL.load(files / name / "model")
        assert [e.loss for e in found.history_] == [e.loss for e in expected.history_]
        assert torch.equal(found.representations_, expected.representations_)
        assert torch.equal(found.prototypes_, expected.prototypes_)
        assert not (files / name / TRAINING).exists()


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_ranks_that_cannot_connect_say_so(files, rank):
    with socket.socket() as other:  # a free port, on which nobody answers
        other.bind(("127.0.0.1", 0))
        port = str(other.getsockname()[1])
    code, text = finish(
        ["-m", "brgcl.distributed", "demo", "--timeout", "1", "--out", files / "run"],
        RANK=str(rank), LOCAL_RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
    )  # fmt: skip
    assert code == 2
    assert f"rank {rank} of 2 could not join the others at 127.0.0.1:{port} within 1 s" in text
    assert "Traceback" not in text
    assert "frame #" not in text


@pytest.mark.slow
def test_embed_with_ranks_is_embed_by_parts(files):
    ends = []
    for number, more in enumerate((["--ranks", "2"], ["--set", "mode=partitioned"])):
        out = files / f"run{number}"
        command = ["-m", "brgcl", "embed", *graph_options(files), "--set", "batches_per_step=4"]
        code, text = finish([*command, "--out", out, *more])
        assert code == 0, text
        ends.append(BRGCL.load(out / "model"))
    torch.testing.assert_close(
        ends[0].representations_, ends[1].representations_, atol=1e-4, rtol=0
    )
    losses = [[epoch.loss for epoch in model.history_] for model in ends]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


@pytest.mark.slow
def test_wrong_input_is_told_in_one_line_by_ranks_too(files):
    command = [
        "-m",
        "brgcl",
        "embed",
        *graph_options(files),
        "--ranks",
        "2",
        "--out",
        files / "run",
    ]
    code, text = finish([*command, "--set", "mode=full"])
    assert code == 2
    assert "brgcl: ranks train by parts, not with mode='full'; leave mode out" in text
    assert "Traceback" not in text
