import contextlib
import subprocess
import sys
from statistics import mean, stdev

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from brgcl.baselines.gcn import GCNConfig
from brgcl.config import BRGCLConfig
from brgcl.data import check_graph, make_graph
from brgcl.errors import InputError
from brgcl.evaluation import evaluate as evaluation
from brgcl.evaluation.evaluate import evaluate
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise
from brgcl.tasks.classify import NodeClassifier

OURS = BRGCLConfig(epochs=2, hidden=16, dim=8, warmup_epochs=1, reported="prototypes")
GCN = GCNConfig(epochs=3)
CENTROID = NodeClassifier("centroid")
FLIPS = Noise(NoiseSpec("symmetric", 0.3))


@pytest.fixture(scope="module")
def data() -> Data:
    return make_graph(150, num_classes=3, num_features=60, labels_per_class=10, num_val=40)


@pytest.fixture(scope="module")
def own(data) -> Data:
    """A user's graph: labels, but no split and no truth."""
    y = torch.where(data.train_mask, data.y, -1)
    return check_graph(Data(x=data.x, edge_index=data.edge_index, y=y, class_names=list("abc")))


@pytest.fixture(scope="module")
def agreed(own):
    """Three draws of that graph with noise, without a truth."""
    return evaluate(own, config=OURS, noise=FLIPS, classifier=CENTROID, seeds=3)


@pytest.fixture
def no_training(monkeypatch):
    """Fails the test if anything is trained."""
    monkeypatch.setattr(evaluation, "fit_one", lambda *a, **k: pytest.fail("trained"))


# Means over the draws


def test_scores_are_means_over_the_draws(data):
    result = evaluate(data, "gcn", config=GCN, noise=FLIPS, seeds=3)
    summary = result.summary()
    scores = [run.outcome.accuracy for run in result.runs]
    assert summary["accuracy_mean"] == pytest.approx(mean(scores))
    assert summary["accuracy_std"] == pytest.approx(stdev(scores))
    assert summary["macro_f1_mean"] == pytest.approx(mean(r.outcome.macro_f1 for r in result.runs))
    assert summary["n"] == 3
    assert summary["rules"] == ["own"] * 3
    assert summary["noise_realised"] == pytest.approx(
        mean(r.noisy.label_noise for r in result.runs)
    )
    assert summary["seconds_mean"] == pytest.approx(mean(run.seconds for run in result.runs))
    assert [run.seed for run in result.runs] == [0, 1, 2]


def test_a_single_draw_has_no_deviation(data):
    assert evaluate(data, "gcn", config=GCN).summary()["accuracy_std"] is None


def test_agreement_is_a_mean_over_all_draws(agreed):
    """Defect 14: cv_agreement and estimated_noise were those of the first draw alone."""
    summary = agreed.summary()
    for name in ("cv_agreement", "estimated_noise", "cv_ceiling"):
        values = [getattr(run.agreement, name) for run in agreed.runs]
        assert summary[name] == pytest.approx(mean(values))
    assert len({run.agreement.cv_agreement for run in agreed.runs}) > 1
    assert summary["accuracy"] is None
    assert "accuracy_mean" not in summary


def test_a_method_that_saw_the_labels_has_no_agreement(own):
    assert evaluate(own, "gcn", config=GCN).summary()["cv_agreement"] is None


def test_noise_that_nobody_injected_has_no_realised_rate(own, data):
    """Defect 35: a user's graph showed noise_realised 0.0000 beside the estimated noise."""
    summary = evaluate(own, config=OURS, classifier=CENTROID).summary()
    assert summary["noise_realised"] is None
    assert summary["edge_noise_realised"] is None
    injected = evaluate(own, "gcn", config=GCN, noise=FLIPS).summary()
    assert injected["noise_realised"] > 0
    assert injected["attribute_noise_realised"] is None
    assert evaluate(data, "gcn", config=GCN).summary()["noise_realised"] == 0


def test_agreement_is_never_above_its_ceiling(own, agreed):
    """Defect 35: cv_agreement was above cv_ceiling."""
    clean = evaluate(own, config=OURS, classifier=CENTROID, seeds=3)
    for run in (*clean.runs, *agreed.runs):
        assert run.agreement.cv_agreement <= run.agreement.cv_ceiling


def test_clusters_are_summarized(data, own):
    summary = evaluate(data, "kmeans", task="cluster", seeds=2).summary()
    assert (summary["num_clusters"], summary["capped"], summary["n"]) == (3, False, 2)
    assert 0 <= summary["nmi_mean"] <= 1
    assert summary["acc_std"] is not None
    blind = evaluate(own, "kmeans", task="cluster").summary()
    assert [blind[f"{name}_mean"] for name in ("acc", "nmi", "ari")] == [None] * 3


# Nodes


def test_given_and_true_labels_are_apart(own, data):
    """Defect 15: the column `label` held flipped labels, unmarked."""
    result = evaluate(own, "gcn", config=GCN, noise=FLIPS)
    nodes = result.nodes()
    assert "label" not in nodes
    labelled = nodes["label_true"].notna()
    assert labelled.sum() == 30
    assert (nodes["label_given"] != nodes["label_true"])[labelled].mean() == pytest.approx(
        result.summary()["noise_realised"]
    )
    assert set(nodes["label_true"][labelled]) == set("abc")
    assert "label_true" not in evaluate(own, "gcn", config=GCN).nodes()
    assert evaluate(data, "gcn", config=GCN).nodes()["label_true"].notna().all()


def test_nodes_have_what_the_method_found(own):
    result = evaluate(own, config=OURS, classifier=CENTROID, seeds=2)
    nodes = result.nodes(1)
    fitted = result.runs[1].fitted
    assert nodes["node_id"].tolist() == list(own.node_ids)
    assert nodes["cluster"].tolist() == fitted.clustering.assignment.tolist()
    assert nodes["confidence"].tolist() == fitted.confidence.tolist()
    assert nodes["probability"].between(1 / 3, 1).all()
    clusters = evaluate(own, "kmeans", task="cluster").nodes()
    assert list(clusters.columns) == ["node_id", "label_given", "cluster"]


# Checks before training


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "no node has a label"),
        (torch.zeros(150, dtype=torch.long), "all labels are the same"),
    ],
)
def test_labels_are_checked_before_training(data, labels, message, no_training):
    """Defect 20: missing labels and a single class were noticed after training."""
    graph = Data(x=data.x, edge_index=data.edge_index, y=labels)
    for method in ("brgcl", "gcn"):
        with pytest.raises(InputError, match=message):
            evaluate(graph, method)


def test_the_number_of_clusters_is_checked_before_training(data, no_training):
    """Defect 20: more clusters than nodes were noticed after training."""
    with pytest.raises(InputError, match=r"num_clusters must be in 1..150, .*got 500"):
        evaluate(data, task="cluster", num_clusters=500)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "gnc"}, "unknown method 'gnc'; did you mean 'gcn'"),
        ({"task": "clasify"}, "unknown task 'clasify'; did you mean 'classify'"),
        ({"protocol": "clean"}, "unknown protocol 'clean'; did you mean 'clean-val'"),
        ({"scored_on": "tests"}, "unknown scored_on 'tests'; did you mean 'test'"),
        ({"classifier": NodeClassifier("mpl")}, "unknown rule 'mpl'; did you mean 'mlp'"),
        ({"config": GCN}, "config of brgcl must be a BRGCLConfig, got GCNConfig"),
        ({"seeds": 0}, "seeds must be 1 draw or more, got 0"),
        ({"seeds": []}, "seeds must name 1 seed or more, got none"),
        ({"seeds": [2**32]}, r"seed must be an integer in \[0, 4294967295\], got 4294967296"),
        ({"seeds": [1, 2, 1]}, "seeds has 1 more than once; name each draw once"),
        ({"seeds": 1.5}, "seeds must be a number of draws or a list of seeds, got 1.5"),
        ({"noise": 0.4}, "noise must be a text such as 'symmetric:0.4', or a Noise, got 0.4"),
        ({"classifier": "bayes"}, "classifier must be a NodeClassifier, .* got 'bayes'"),
        ({"method": Data()}, "method must be a name, got Data"),
        ({"graph": 3}, "a graph must be a torch_geometric Data, got int"),
        ({"graph": "citeser"}, "unknown data set 'citeser'"),
    ],
)
def test_arguments_are_checked_before_training(data, arguments, message, no_training):
    with pytest.raises(InputError, match=message):
        evaluate(**{"graph": data, **arguments})


# Graphs, settings, progress


def test_a_graph_may_differ_by_seed():
    def graph(seed):
        return make_graph(80, num_classes=2, num_features=20, labels_per_class=8, seed=seed)

    result = evaluate(graph, "kmeans", seeds=[3, 5], classifier=CENTROID)
    assert [run.seed for run in result.runs] == [3, 5]
    assert torch.equal(result.runs[1].graph.y, graph(5).y)


def test_seeds_may_be_of_numpy(data):
    for seeds in (np.int64(2), np.arange(2)):
        result = evaluate(data, "kmeans", seeds=seeds, classifier=CENTROID)
        assert [run.seed for run in result.runs] == [0, 1]


def test_a_graph_is_checked_once_for_all_draws(data, monkeypatch):
    checked = []
    check = evaluation.check_graph
    monkeypatch.setattr(evaluation, "check_graph", lambda g: checked.append(g) or check(g))
    evaluate(data, "kmeans", seeds=3, classifier=CENTROID)
    assert len(checked) == 1


def test_a_classifier_of_the_caller_is_left_as_it_was(data):
    evaluate(data, "kmeans", classifier=CENTROID, seeds=[4])
    assert CENTROID.seed == 0
    assert not hasattr(CENTROID, "rule_")


def test_progress_has_a_title_and_a_callback_for_each_training(data):
    titles, epochs = [], []

    @contextlib.contextmanager
    def progress(title):
        titles.append(title)
        yield lambda done, total, text: epochs.append((done, total))

    evaluate(data, "gcn", config=GCN, seeds=2, progress=progress)
    assert titles == ["gcn, seed 0", "gcn, seed 1"]
    assert epochs.count((3, 3)) == 2


def test_names_are_importable_without_the_methods():
    code = (
        "import sys; from brgcl.evaluation.names import PROTOCOLS; assert PROTOCOLS;"
        "import brgcl; assert 'evaluate' in dir(brgcl);"
        "print('brgcl.evaluation.evaluate' in sys.modules or 'torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_noise_may_be_a_text():
    graph = make_graph(120, num_classes=3, labels_per_class=10, num_val=20)
    spec = Noise(labels=NoiseSpec("symmetric", 0.4))
    a, b = (evaluate(graph, "smooth", noise=noise) for noise in ("symmetric:0.4", spec))
    assert a.summary()["noise_realised"] == b.summary()["noise_realised"] > 0
    with pytest.raises(InputError, match="has no level"):
        evaluate(graph, "smooth", noise="symmetric")
