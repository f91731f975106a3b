import json

import pytest
import torch
from torch_geometric.data import Data

import brgcl
from brgcl.errors import InputError
from brgcl.noise.graph import Noise, corrupt_graph
from brgcl.noise.spec import NoiseSpec
from brgcl.tasks.diagnose import _diagnose_labels, _finding, diagnose


@pytest.fixture(scope="module")
def clean():
    return brgcl.make_graph(600, num_classes=8, avg_degree=8.0, homophily=1.0, topic_strength=0.8)


def judged_labels(monkeypatch, rate, interval, suspects=7):
    """Let `judge_labels` say this, and note what it was given."""
    given = []

    class Judged:
        def to_dict(self):
            return {
                "num_labelled": 600, "num_suspects": suspects, "estimated_error_rate": rate,
                "error_interval": list(interval),
            }  # fmt: skip

    def judge(z, labels, **options):
        given.append((z, labels, options))
        return Judged()

    monkeypatch.setattr("brgcl.tasks.label_errors.judge_labels", judge, raising=False)
    return given


def test_a_clean_graph_shows_no_sign_of_noise(clean):
    found = diagnose(clean)
    assert [finding.noisy for finding in found.findings] == [False, False]
    assert found.sentences[0].startswith("No sign of spurious edges (at most ")
    assert found.sentences[1].startswith("No sign of wrong attributes (at most ")


def test_noise_is_named_and_counted(clean, monkeypatch):
    noise = Noise(edges=NoiseSpec("add", 0.3), attributes=NoiseSpec("rows", 0.2))
    noisy, _, _ = corrupt_graph(clean, noise, seed=0)
    given = judged_labels(monkeypatch, 0.12, (0.08, 0.16))
    found = diagnose(noisy, labels=clean.y)
    assert [finding.kind for finding in found.findings] == ["labels", "edges", "attributes"]
    assert [finding.noisy for finding in found.findings] == [True, True, True]
    assert found.sentences[0] == (
        "About 12 % of the labels look wrong (8.0 % to 16 %); 7 of 600 are flagged."
    )
    assert found.sentences[1].startswith("About 2")
    assert "source_label" in found.edges
    assert len(given) == 1
    z, labels, options = given[0]
    assert len(z) == 600
    assert labels is clean.y
    assert options["graph"].num_edges == noisy.num_edges


def test_the_dictionary_is_ready_for_json(clean, monkeypatch):
    judged_labels(monkeypatch, 0.01, (0.0, 0.02))
    found = diagnose(clean, labels=clean.y)
    read = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert read["sentences"] == found.sentences
    assert read["labels"] == {
        "noisy": False, "estimated_rate": 0.01, "interval": [0.0, 0.02], "num_judged": 600,
        "num_suspects": 7,
    }  # fmt: skip
    assert read["edges"]["num_judged"] == clean.num_edges // 2
    assert read["attributes"]["num_suspects"] == found.attributes["is_error"].sum()


def test_given_representations_judge_the_labels(clean, monkeypatch):
    given = judged_labels(monkeypatch, 0.01, (0.0, 0.02))
    z = torch.randn(600, 4, generator=torch.Generator().manual_seed(0))
    found = _diagnose_labels(clean, z, clean.y, 0.1, 0)
    assert given[0][0] is z
    assert given[0][2]["fdr"] == 0.1
    assert found.num_judged == 600


def test_what_cannot_be_judged_is_said(monkeypatch):
    def refuse(z, labels, **options):
        raise InputError("all labels are the same; two classes or more are needed")

    monkeypatch.setattr("brgcl.tasks.label_errors.judge_labels", refuse, raising=False)
    small = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))
    found = diagnose(small, labels=[1, 1, 1])
    assert [finding.noisy for finding in found.findings] == [None, None, None]
    assert found.sentences[0].startswith("Labels were not judged: all labels are the same")
    assert found.sentences[1].startswith("Edges were not judged: the graph has 2 edges")
    assert found.sentences[2].startswith("Attributes were not judged: only 3 nodes")
    assert found.edges is None
    json.dumps(found.to_dict(), allow_nan=False)


def test_attributes_without_meaning_are_said_to_tell_nothing():
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(300, (2, 900), generator=generator)
    graph = Data(x=torch.randn(300, 5, generator=generator), edge_index=edges)
    assert diagnose(graph).sentences == [
        "Edges cannot be judged: nodes with an edge are no more alike than others.",
        "Attributes cannot be judged: they do not depend on neighbours.",
    ]


@pytest.mark.parametrize(("low", "noisy"), [(0.0, False), (0.005, False), (0.006, True)])
def test_noise_is_what_the_whole_interval_exceeds(low, noisy):
    numbers = {
        "judged": True, "num_judged": 100, "num_suspects": 0, "estimated_rate": 0.05,
        "interval": [low, 0.08],
    }  # fmt: skip
    found = _finding("edges", numbers)
    assert found.noisy is noisy
    assert found.sentence.startswith("About 5.0 % of the edges" if noisy else "No sign of spurious")


def test_mistakes_are_not_verdicts(clean):
    with pytest.raises(InputError, match="labels have 2 entries"):
        diagnose(clean, labels=[0, 1])
    with pytest.raises(InputError, match="must be a torch_geometric Data"):
        diagnose("cora")
    with pytest.raises(InputError, match="fdr must be"):
        diagnose(clean, fdr=2)
