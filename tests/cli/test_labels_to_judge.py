"""Which labels are judged, and corrected labels."""

import pandas as pd
import pytest
import torch

import brgcl
from brgcl.cli.labels_to_judge import class_names, corrected_labels, draw_labels
from brgcl.errors import InputError
from brgcl.noise.graph import Noise
from brgcl.noise.spec import NoiseSpec

FLIPS = Noise(labels=NoiseSpec("symmetric", 0.3))


@pytest.fixture(scope="module")
def data():
    return brgcl.make_graph(120, num_classes=3, num_features=30, labels_per_class=10, num_val=30)


def test_all_labels_or_those_of_the_training_nodes(data):
    everything = draw_labels(data, "all", FLIPS, seed=1).labels.train
    training = draw_labels(data, "train", FLIPS, seed=1).labels.train
    assert bool((everything >= 0).all())
    assert torch.equal(training >= 0, data.train_mask)
    # the draw of a node does not depend on which others are judged
    assert torch.equal(training[data.train_mask], everything[data.train_mask])
    assert 0 < (everything != data.y).float().mean() < 0.6


def test_the_graph_that_detectors_see_has_no_labels(data):
    graph = draw_labels(data, "all", FLIPS, seed=1).graph
    assert "y" not in graph
    assert "train_mask" not in graph


def test_classes_have_names_of_text(data):
    plain = data.clone()
    plain.pop("class_names", None)
    assert class_names(plain, plain.y) == ["0", "1", "2"]
    plain.class_names = ["a", "b", "c", "d"]  # d has no label left
    assert class_names(plain, plain.y) == ["a", "b", "c", "d"]


def test_labels_that_cannot_be_judged_are_refused(data):
    own = data.clone()
    for name in ("train_mask", "val_mask", "test_mask"):
        own.pop(name, None)
    with pytest.raises(InputError, match="--labelled train needs a data set"):
        draw_labels(own, "train", Noise(), seed=0)
    own.y = torch.full_like(data.y, -1)
    with pytest.raises(InputError, match="no node has a label"):
        draw_labels(own, "all", Noise(), seed=0)
    own.y[:5] = 2
    with pytest.raises(InputError, match="all labels are the same"):
        draw_labels(own, "all", Noise(), seed=0)
    own.y[3:] = -1
    own.y[5] = 1
    with pytest.raises(InputError, match="no class has 4 labels or more"):
        draw_labels(own, "all", Noise(), seed=0)


def test_corrected_labels_are_in_the_order_of_the_graph():
    """`given` has what the file said; what was judged may have been decided in a review."""
    suspects = pd.DataFrame(
        {
            "node": [7, 3, 5], "given": ["a", "b", "b"], "suggested": ["b", "a", "b"],
            "score": [0.1, 0.4, 0.9], "is_error": [True, False, False],
        }
    )  # fmt: skip
    frame = corrected_labels(suspects, {5: "a", 7: "a", 1: None, 3: "b"})
    assert frame.to_dict("list") == {
        "node_id": [5, 7, 3],
        "label": ["b", "b", "b"],
        "label_given": ["a", "a", "b"],
        "changed": [True, True, False],
        "score": [0.9, 0.1, 0.4],
    }
