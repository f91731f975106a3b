"""`NodeClassifier` among scikit-learn's tools."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from brgcl.errors import InputError
from brgcl.tasks.classify import NodeClassifier

RULES = ["centroid", "logistic", "mlp", "probe", "auto"]


@pytest.fixture(scope="module")
def rows():
    """Three classes around the axes as an array, with names for labels."""
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    return np.eye(3)[codes] + 0.1 * rng.normal(size=(60, 3)), np.array(["a", "b", "c"])[codes]


def test_parameters_are_read_set_cloned_and_shown():
    """Defect 26: there was no get_params, set_params or repr, and clone failed."""
    classifier = NodeClassifier("mlp", hidden=8)
    expected = {
        "rule": "mlp", "soft_labels": "normalize", "hidden": 8, "epochs": 200, "alpha": 0.1,
        "steps": 10, "seed": 0,
    }  # fmt: skip
    assert classifier.get_params() == expected
    assert clone(classifier).set_params(alpha=0.2).get_params() == expected | {"alpha": 0.2}
    assert repr(classifier) == "NodeClassifier(hidden=8, rule='mlp')"
    assert is_classifier(classifier)
    with pytest.raises(ValueError, match="Invalid parameter 'rules'"):
        classifier.set_params(rules="mlp")


def test_names_come_back_as_names(rows):
    """Defect 26: labels that are names were refused."""
    z, names = rows
    given = [name if i % 2 else None for i, name in enumerate(names)]
    classifier = NodeClassifier().fit(z, given)
    assert classifier.classes_.tolist() == ["a", "b", "c"]
    assert classifier.predict(z).tolist() == names.tolist()
    assert classifier.score(z, names) == 1
    assert classifier.fit(z, names, validation=names).predict(z).tolist() == names.tolist()


def test_the_result_is_of_the_kind_of_z(rows):
    z, names = rows
    y = np.unique(names, return_inverse=True)[1]
    classifier = NodeClassifier("centroid").fit(z, y)
    arrays = classifier.predict(z), classifier.predict_proba(z)
    tensors = classifier.predict(torch.from_numpy(z)), classifier.predict_proba(torch.from_numpy(z))
    for array, tensor in zip(arrays, tensors, strict=True):
        assert isinstance(array, np.ndarray)
        assert isinstance(tensor, torch.Tensor)
        np.testing.assert_array_equal(array, tensor.numpy())
    named = NodeClassifier("centroid").fit(torch.from_numpy(z), names)
    assert isinstance(named.predict(torch.from_numpy(z)), np.ndarray)  # names fit in no tensor


def test_a_data_frame_is_read_like_its_values(rows):
    """Defect 26: KeyError."""
    z, names = rows
    frame = pd.DataFrame(z, columns=["x", "y", "z"], index=np.arange(60) + 100)
    labels = pd.Series(names, index=frame.index)
    found = NodeClassifier("centroid").fit(frame, labels).predict_proba(frame)
    np.testing.assert_array_equal(found, NodeClassifier("centroid").fit(z, names).predict_proba(z))


def test_a_huge_class_number_is_a_class_like_others(rows):
    """Defect 26: class 10^9 asked for 480 GB."""
    z, names = rows
    y = np.array([10**9, 4, 7])[np.unique(names, return_inverse=True)[1]]
    classifier = NodeClassifier("logistic").fit(z, y)
    assert classifier.predict_proba(z).shape == (60, 3)
    assert classifier.classes_.tolist() == [4, 7, 10**9]
    assert classifier.predict(z).tolist() == y.tolist()
    assert classifier.predict(torch.from_numpy(z)).tolist() == y.tolist()


@pytest.mark.parametrize("rule", RULES)
def test_a_fitted_classifier_survives_pickling(rows, rule):
    """Defect 26: pickle failed."""
    z, names = rows
    classifier = NodeClassifier(rule, epochs=20).fit(z, names)
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.predict_proba(z), classifier.predict_proba(z))
    assert again.get_params() == classifier.get_params()


def test_it_is_searched_over_and_cross_validated(rows):
    """Defect 26: GridSearchCV, cross_val_score and Pipeline failed."""
    z, names = rows
    search = GridSearchCV(NodeClassifier(), {"rule": ["centroid", "logistic"]}, error_score="raise")
    assert search.fit(z, names).best_score_ == 1
    pipeline = make_pipeline(StandardScaler(), PCA(2), NodeClassifier("logistic"))
    assert cross_val_score(pipeline, z, names, error_score="raise").mean() > 0.9
    proba = cross_val_predict(NodeClassifier("centroid"), z, names, method="predict_proba")
    assert (np.array(["a", "b", "c"])[proba.argmax(1)] == names).all()


def test_the_score_leaves_unlabelled_nodes_out(rows):
    z, names = rows
    classifier = NodeClassifier("centroid").fit(z, names)
    labels = np.where(np.arange(60) < 50, names, "")
    labels[:5] = "d"  # a class that was never seen counts as wrong
    assert classifier.score(z, labels) == pytest.approx(45 / 50)
    assert classifier.score(z, labels, np.r_[np.zeros(5), np.ones(55)]) == 1
    with pytest.raises(InputError, match="no node has a label; a score needs some"):
        classifier.score(z, [None] * 60)
