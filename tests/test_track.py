import sys
import types

import pytest

import brgcl
from brgcl.errors import InputError
from brgcl.track import measured, mlflow_callback, tensorboard_callback


@pytest.fixture(scope="module")
def graph():
    return brgcl.make_graph(80, num_classes=2, labels_per_class=5, num_features=20, num_val=10)


def small():
    return brgcl.BRGCL(epochs=3, warmup_epochs=1, hidden=8, dim=4)


def test_tensorboard_gets_every_number_of_every_epoch(graph, tmp_path):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    model = small().fit(graph, callback=tensorboard_callback(tmp_path))
    log = reader.EventAccumulator(str(tmp_path))
    log.Reload()
    found = {name: {e.step: e.value for e in log.Scalars(name)} for name in log.Tags()["scalars"]}
    for epoch in model.history_:
        for name, value in measured(epoch).items():
            assert found[name][epoch.epoch] == pytest.approx(value)


def test_mlflow_gets_every_number_of_every_epoch(graph, monkeypatch):
    logged = {}
    stub = types.ModuleType("mlflow")
    stub.log_metrics = lambda values, step: logged.update({step: values})
    monkeypatch.setitem(sys.modules, "mlflow", stub)
    model = small().fit(graph, callback=mlflow_callback())
    assert logged == {epoch.epoch: measured(epoch) for epoch in model.history_}


@pytest.mark.parametrize(
    ("make", "module"),
    [(mlflow_callback, "mlflow"), (lambda: tensorboard_callback("x"), "torch.utils.tensorboard")],
)
def test_a_missing_package_is_named(make, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=r"pip install 'brgcl\[track\]'"):
        make()
