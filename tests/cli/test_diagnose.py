import json

import pytest

import brgcl
from brgcl.tasks import label_errors


@pytest.fixture
def graph(monkeypatch):
    """Every named data set is a generated graph without labels, whose ids need care."""

    def load(name, root=None, *, seed=0):
        data = brgcl.make_graph(
            500, num_classes=8, avg_degree=8.0, homophily=1.0, topic_strength=0.8
        )
        data.node_ids = [f"[b]{i}" for i in range(500)]
        data.y[:] = -1
        data.name = name
        return data

    monkeypatch.setattr("brgcl.data.datasets.load_dataset", load)


@pytest.mark.usefixtures("graph")
def test_a_clean_graph(run):
    code, out, err = run("diagnose", "cora")
    assert (code, err) == (0, "")
    assert out.startswith("No sign of spurious edges")
    assert "No sign of wrong attributes" in out


@pytest.mark.usefixtures("graph")
def test_noise_is_listed(run):
    noise = ("--edge-noise", "add:0.3")
    code, out, _ = run("diagnose", "cora", *noise, "--top", "3")
    assert code == 0
    assert out.startswith("About ")
    assert out.count("common neighbour") == 3  # once in a sentence of evidence
    assert "[b]" in out
    code, out, _ = run("diagnose", "cora", *noise, "--top", "4", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["edges"]["noisy"]
    assert found["edge_noise_realised"] == pytest.approx(0.3, abs=0.01)
    assert len(found["suspicious_edges"]) == 4
    assert found["suspicious_edges"][0]["is_error"]
    assert len(found["sentences"]) == 2


def test_labels_of_the_graph_are_judged(run, small, monkeypatch):
    class Judged:
        def to_dict(self):
            return {
                "num_suspects": 2, "estimated_error_rate": 0.2, "error_interval": [0.1, 0.3]
            }  # fmt: skip

    monkeypatch.setattr(
        label_errors, "judge_labels", lambda *args, **options: Judged(), raising=False
    )
    code, out, _ = run("diagnose", "cora")
    assert code == 0
    assert out.startswith("About 20 % of the labels look wrong (10 % to 30 %)")


def test_no_graph_is_an_error(run):
    code, out, err = run("diagnose")
    assert code != 0
    assert out == ""
    assert "no graph given" in err
