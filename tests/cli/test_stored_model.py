import pytest

from brgcl import BRGCL, make_graph
from brgcl.cli.stored_model import load_classifier, load_model
from brgcl.errors import InputError


def test_a_model_is_found_in_a_run_or_by_itself(tmp_path):
    graph = make_graph(40, num_classes=2, num_features=8, labels_per_class=4)
    model = BRGCL(epochs=1, hidden=8, dim=4, warmup_epochs=0).fit(graph)
    model.save(tmp_path / "model")
    for path in (tmp_path, tmp_path / "model"):
        assert load_model(path).config_ == model.config_
    assert load_classifier(tmp_path) is None
    with pytest.raises(InputError, match="has no model; give a run of the method brgcl"):
        load_model(tmp_path / "none")
