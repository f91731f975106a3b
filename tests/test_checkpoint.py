import os
import signal
import time

import pytest
import torch

from brgcl import BRGCL, checkpoint, make_graph
from brgcl.atomic_files import read_tensors
from brgcl.cli.app import app
from brgcl.errors import InputError
from preloaded import started

# pseudo labels are those of the prototypes: nothing has to look for clusters after training
TINY = {
    "epochs": 8, "warmup_epochs": 3, "hidden": 16, "dim": 8, "seed": 3, "reported": "prototypes",
}  # fmt: skip


@pytest.fixture(scope="module")
def data():
    return make_graph(150, num_classes=3, num_features=40)


@pytest.fixture
def each_epoch(monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)


class StopError(Exception):
    pass


def stop_at(epoch):
    def callback(found):
        if found.epoch == epoch:
            raise StopError

    return callback


@pytest.fixture
def stopped(data, tmp_path, each_epoch):
    """The checkpoint of a training that was stopped after two epochs."""
    file = tmp_path / "training"
    with pytest.raises(StopError):
        BRGCL(**TINY).fit(data, checkpoint=file, callback=stop_at(2))
    return file


@pytest.fixture(scope="module")
def whole(data):
    return BRGCL(**TINY).fit(data)


@pytest.mark.parametrize("epoch", [1, 3, 4, 8])
def test_a_stopped_training_ends_as_if_it_had_not_been(data, tmp_path, each_epoch, whole, epoch):
    file = tmp_path / "new" / "training"
    with pytest.raises(StopError):
        BRGCL(**TINY).fit(data, checkpoint=file, callback=stop_at(epoch))
    seen = []
    resumed = BRGCL(**TINY).fit(data, checkpoint=file, callback=lambda e: seen.append(e.epoch))
    assert seen == list(range(epoch + 1, 9))
    assert torch.equal(resumed.representations_, whole.representations_)
    assert torch.equal(resumed.prototypes_, whole.prototypes_)
    assert [e.loss for e in resumed.history_] == [e.loss for e in whole.history_]
    assert not file.exists()


def test_patience_that_had_ended_stays_ended(data, tmp_path, each_epoch):
    settings = {**TINY, "epochs": 60, "lr": 0.2, "patience": 2}
    whole = BRGCL(**settings).fit(data)
    last = len(whole.history_)
    assert last < 60
    file = tmp_path / "training"
    with pytest.raises(StopError):
        BRGCL(**settings).fit(data, checkpoint=file, callback=stop_at(last))
    resumed = BRGCL(**settings).fit(data, checkpoint=file)
    assert len(resumed.history_) == last


def test_short_epochs_are_not_each_written(data, tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(checkpoint, "save_training", lambda *arguments: written.append(arguments))
    BRGCL(**TINY).fit(data, checkpoint=tmp_path / "training")
    assert written == []


@pytest.mark.parametrize("change", ["settings", "graph"])
def test_the_training_of_something_else_is_refused(data, stopped, change):
    before = stopped.read_bytes()
    other = make_graph(150, num_classes=3, num_features=40, seed=5) if change == "graph" else data
    settings = {**TINY, "xi": 0.3} if change == "settings" else TINY
    with pytest.raises(InputError, match="another graph or of other settings"):
        BRGCL(**settings).fit(other, checkpoint=stopped)
    assert stopped.read_bytes() == before


@pytest.mark.parametrize("keep", [0, 100, -3])
def test_a_damaged_file_is_refused(data, stopped, keep):
    stopped.write_bytes(stopped.read_bytes()[:keep])
    with pytest.raises(InputError, match="is damaged"):
        BRGCL(**TINY).fit(data, checkpoint=stopped)


def test_a_path_that_cannot_be_a_file_is_refused_before_training(data, tmp_path):
    """Defect 49: a folder is called a folder, not a damaged file."""
    (tmp_path / "file").touch()
    wrong = {
        tmp_path: "is a folder, not a file; give the path of a file",
        tmp_path / "file" / "training": "file' is a file, not a folder; give another path",
    }
    for path, message in wrong.items():
        with pytest.raises(InputError, match=message):
            BRGCL(**TINY).fit(data, checkpoint=path, callback=stop_at(1))


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files as POSIX does")
def test_a_full_disk_does_not_stop_the_training(data, whole, stopped, caplog):
    """Defect 30: it is warned of once, and the last checkpoint stays whole."""
    import resource

    before = stopped.read_bytes()
    kept = []

    def keep_last(epoch):
        kept.append(stopped.read_bytes())

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        model = BRGCL(**TINY).fit(data, checkpoint=stopped, callback=keep_last)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert torch.equal(model.representations_, whole.representations_)
    assert kept == [before] * 6
    assert len(caplog.records) == 1
    assert caplog.records[0].levelname == "WARNING"
    assert "cannot write checkpoint" in caplog.text
    assert "training continues" in caplog.text
    assert list(stopped.parent.iterdir()) == []


def test_a_training_that_diverges_does_not_touch_its_checkpoint(data, tmp_path, each_epoch):
    """Defect 16: a checkpoint never holds weights that are not numbers."""
    file = tmp_path / "training"
    with pytest.raises(InputError, match="diverged in epoch 2"):
        BRGCL(**{**TINY, "lr": 1e30}).fit(data, checkpoint=file)
    tensors, about = read_tensors(file)
    assert len(about["history"]) == 1
    assert all(bool(t.isfinite().all()) for k, t in tensors.items() if k.startswith("encoder."))


def test_methods_that_cannot_resume_say_so(tmp_path):
    with pytest.raises(InputError, match="gae cannot resume from a checkpoint; brgcl"):
        app(
            ["embed", "demo", "--method", "gae", "--checkpoint", str(tmp_path / "a"),
             "--out", str(tmp_path / "run")],
            standalone_mode=False,
        )  # fmt: skip


KILLED = """
import sys
from brgcl import BRGCL, checkpoint, make_graph
checkpoint.SECONDS = 0.0
data = make_graph(150, num_classes=3, num_features=40)
settings = dict(epochs=100000, warmup_epochs=3, hidden=16, dim=8, seed=3, reported="prototypes")
BRGCL(**settings).fit(data, checkpoint=sys.argv[1])
"""


def test_kill_leaves_a_whole_file(data, tmp_path):
    file = tmp_path / "training"
    with started(KILLED, file, folder=tmp_path) as process:
        while not file.exists():
            assert process.poll() is None
            time.sleep(0.02)
        time.sleep(0.3)
        process.send_signal(signal.SIGKILL)
        process.wait()
    seen = []

    def stop(epoch):
        seen.append(epoch.epoch)
        raise StopError

    with pytest.raises(StopError):
        BRGCL(**{**TINY, "epochs": 100000}).fit(data, checkpoint=file, callback=stop)
    assert seen[0] >= 2


KILLED_OFTEN = """
import os, random, signal, sys, time
import torch
from pathlib import Path
from safetensors.torch import load_file, save_file
from brgcl import BRGCL, checkpoint, make_graph

torch.set_num_threads(1)
checkpoint.SECONDS = 0.0
mode, num_kills, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
settings = {"mode": mode, "num_partitions": 6} if mode == "partitioned" else {}
settings |= {"epochs": 20 + 3 * num_kills, "warmup_epochs": 10, "hidden": 16, "dim": 8}
settings["reported"] = "prototypes"


def train(file, out):
    data = make_graph(150, num_classes=3, num_features=40)
    model = BRGCL(**settings, seed=3).fit(data, checkpoint=file)
    weights = dict(model.encoder_.state_dict(), prototypes=model.prototypes_)
    save_file({name: weight.contiguous() for name, weight in weights.items()}, out)


def child(file, out):
    process = os.fork()
    if process == 0:
        train(file, out)
        os._exit(0)
    return process


assert os.waitpid(child(folder / "a", folder / "whole"), 0)[1] == 0
file, moment, kills = folder / "b", random.Random(num_kills), 0
while not (folder / "killed").exists():
    written = lambda: file.stat().st_mtime_ns if file.exists() else 0
    before, process = written(), child(file, folder / "killed")
    if kills < num_kills:
        while written() == before:  # until it goes on
            assert os.waitpid(process, os.WNOHANG) == (0, 0), "the training ended by itself"
            time.sleep(0.001)
        time.sleep(moment.uniform(0, 0.02))
        os.kill(process, signal.SIGKILL)
        kills += 1
    os.waitpid(process, 0)
whole, killed = load_file(folder / "whole"), load_file(folder / "killed")
assert whole.keys() == killed.keys()
assert all(torch.equal(whole[name], killed[name]) for name in whole)
print(kills)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, so that torch is loaded once")
@pytest.mark.parametrize("mode", ["sampled", "partitioned"])
@pytest.mark.parametrize("num_kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_a_training_that_is_killed_ends_as_if_it_had_not_been(tmp_path, mode, num_kills):
    """SIGKILL at random moments, over training and over writing; each time it starts again."""
    with started(KILLED_OFTEN, mode, num_kills, tmp_path, folder=tmp_path) as process:
        code = process.wait()
    out, err = process.streams
    assert code == 0, err
    assert int(out) == num_kills


def test_a_training_by_parts_is_written_within_an_epoch(data, tmp_path, each_epoch):
    file = tmp_path / "training"
    settings = {**TINY, "mode": "partitioned", "num_partitions": 30, "memory_budget": 0.0003}
    whole = BRGCL(**settings).fit(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("brgcl.scale.memory.STEP_NODES", 40)
        stepped = BRGCL(**settings).fit(data)
        seen = []

        def stop(path, training, name):
            save(path, training, name)
            seen.append(int(training.parts["done"]))
            if len(seen) > 10 and seen[-1] > 0:  # in the middle of an epoch
                raise StopError

        save = checkpoint.save_training
        patch.setattr(checkpoint, "save_training", stop)
        with pytest.raises(StopError):
            BRGCL(**settings).fit(data, checkpoint=file)
        patch.setattr(checkpoint, "save_training", save)
        resumed = BRGCL(**settings).fit(data, checkpoint=file)
    assert torch.equal(resumed.representations_, stepped.representations_)
    assert torch.equal(resumed.prototypes_, stepped.prototypes_)
    assert not torch.equal(stepped.representations_, whole.representations_)


def test_the_time_between_writes_can_be_set(data, tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(checkpoint, "save_training", lambda *arguments: written.append(arguments))
    BRGCL(**TINY).fit(data, checkpoint=tmp_path / "training", checkpoint_every=0)
    assert len(written) == TINY["epochs"]
