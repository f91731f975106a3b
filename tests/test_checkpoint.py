import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from brgcl import BRGCL, checkpoint, make_graph
from brgcl.atomic_files import read_tensors
from brgcl.cli.app import app
from brgcl.errors import InputError

TINY = {"epochs": 8, "warmup_epochs": 3, "hidden": 16, "dim": 8, "seed": 3}


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
BRGCL(epochs=100000, warmup_epochs=3, hidden=16, dim=8, seed=3).fit(data, checkpoint=sys.argv[1])
"""


def test_kill_leaves_a_whole_file(data, tmp_path):
    file = tmp_path / "training"
    command = [sys.executable, "-W", "ignore", "-c", KILLED, str(file)]
    process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"})
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
