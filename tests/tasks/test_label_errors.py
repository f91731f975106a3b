import importlib.util
import json

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.data import make_graph
from brgcl.errors import InputError
from brgcl.tasks import label_errors, out_of_fold
from brgcl.tasks.label_errors import find_label_errors, flag, judge_labels, less_chance
from brgcl.tasks.out_of_fold import Labelled, calibrate


@pytest.fixture(autouse=True)
def one_choice_of_folds(monkeypatch):
    """Repeats cost time and change nothing that is tested here."""
    monkeypatch.setattr(out_of_fold, "REPEATS", ())


def blobs(per_class=15, num_classes=3, spread=0.15):
    rng = torch.Generator().manual_seed(0)
    y = torch.arange(num_classes).repeat_interleave(per_class)
    return torch.eye(num_classes)[y] + spread * torch.randn(len(y), num_classes, generator=rng), y


PLANTED = [2, 16, 17, 31, 44]


@pytest.fixture(scope="module")
def planted():
    """Three separated classes with five wrong labels."""
    z, y = blobs()
    given = y.clone()
    given[PLANTED] = (y[PLANTED] + 1) % 3
    return z, y, given


def test_planted_errors_on_separated_classes_are_found(planted):
    z, y, given = planted
    frame = find_label_errors(z, given)
    errors = frame[frame["is_error"]]
    assert sorted(errors["node"]) == PLANTED
    assert errors["suggested"].tolist() == y[errors["node"].tolist()].tolist()
    assert errors["given"].tolist() == given[errors["node"].tolist()].tolist()


def test_the_table_lists_every_label_the_most_suspicious_first(planted):
    z, _, given = planted
    frame = find_label_errors(z, given)
    assert list(frame.columns) == [
        "node", "given", "suggested", "probability", "score", "is_error", "neighbours_given",
        "neighbours_suggested", "nearest", "prototype_confidence", "evidence",
    ]  # fmt: skip
    assert sorted(frame["node"]) == list(range(45))
    assert frame["score"].between(0, 1).all()
    assert frame["score"].is_monotonic_increasing
    assert frame["is_error"].dtype == bool
    assert sorted(frame["node"][:5]) == PLANTED
    assert frame.index.tolist() == list(range(45))


def test_unlabelled_nodes_are_not_listed(planted):
    z, _, given = planted
    labels = given.clone()
    labels[::3] = -1
    frame = find_label_errors(z, labels)
    assert set(frame["node"]) == set((labels >= 0).nonzero().flatten().tolist())


def test_clean_labels_raise_no_suspicion():
    z, y = blobs()
    frame = find_label_errors(z, y)
    assert not frame["is_error"].any()
    assert (frame["given"] == frame["suggested"]).all()


def test_ids_and_class_names_come_back(planted):
    z, _, given = planted
    names = ["red", "green", "blue"]
    ids = np.array([f"paper-{i}" for i in range(45)], dtype=object)
    ends = torch.arange(44)
    graph = Data(x=z, edge_index=torch.stack([ends, ends + 1]), node_ids=ids, class_names=names)
    frame = find_label_errors(z, given, graph=graph)
    rows = frame.set_index("node")
    assert set(frame["node"][:5]) == {f"paper-{i}" for i in PLANTED}
    assert tuple(rows.loc["paper-2", ["given", "suggested"]]) == ("green", "red")
    assert rows.loc["paper-2", "neighbours_suggested"] == 1
    assert rows.loc["paper-2", "neighbours_given"] == 0
    assert "paper-" in rows.loc["paper-2", "nearest"]
    assert "neighbours and" in rows.loc["paper-2", "evidence"]
    assert "'red'" in rows.loc["paper-2", "evidence"]


def test_errors_are_found_with_few_labels_per_class(planted):
    z, _, given = planted
    few = torch.full_like(given, -1)
    few[[0, 1, 2, 3, 15, 18, 19, 20, 30, 32, 33]] = given[[0, 1, 2, 3, 15, 18, 19, 20, 30, 32, 33]]
    frame = find_label_errors(z, few)
    assert tuple(frame.loc[0, ["node", "given", "suggested"]]) == (2, 1, 0)
    assert frame["is_error"][1:].sum() == 0


def test_input_is_left_as_it_was_and_the_result_repeats(planted):
    z, _, given = planted
    before = z.clone(), given.clone()
    one, two = (find_label_errors(z, given) for _ in range(2))
    assert one.equals(two)
    assert torch.equal(z, before[0])
    assert torch.equal(given, before[1])


def test_wrong_labels_are_refused(planted):
    z, _, given = planted
    with pytest.raises(InputError, match="labels have 44 entries but there are 45 nodes"):
        find_label_errors(z, given[:44])
    with pytest.raises(InputError, match="no node has a label"):
        find_label_errors(z, torch.full((45,), -1))


def test_a_single_class_and_a_wrong_rate_are_refused(planted):
    z, _, given = planted
    with pytest.raises(InputError, match="all labels are the same"):
        find_label_errors(z, torch.zeros(45))
    few = torch.full((45,), -1)
    few[:2] = torch.tensor([0, 1])  # with both hidden at once nothing is left to learn from
    with pytest.raises(InputError, match="no class has 4 labels or more"):
        find_label_errors(z, few)
    with pytest.raises(InputError, match=r"fdr must be a number in \[0, 1\), got 1"):
        find_label_errors(z, given, fdr=1)
    with pytest.raises(InputError, match=r"fdr must be a number in \[0, 1\), got '0.1'"):
        find_label_errors(z, given, fdr="0.1")
    for seed in (1.5, -1):
        with pytest.raises(InputError, match=rf"seed must be an integer in .*, got {seed}"):
            find_label_errors(z, given, seed=seed)
    with pytest.raises(InputError, match="as many rows each"):
        find_label_errors([z, z[:40]], given)
    graph = Data(x=z[:40], edge_index=torch.empty(2, 0, dtype=torch.long))
    with pytest.raises(InputError, match="the graph has 40 nodes but z has 45 rows"):
        find_label_errors(z, given, graph=graph)


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("certain", [1] * 45, "certain must be a mask with 45 entries"),
        ("confidence", [0.5], "confidence must have 45 entries"),
        ("pred_probs", np.ones((45, 2)), r"pred_probs must have shape \(45, 3\)"),
        ("pred_probs", -np.ones((45, 3)), "pred_probs must be probabilities"),
    ],
)
def test_wrong_extras_are_refused(planted, argument, value, message):
    z, _, given = planted
    with pytest.raises(InputError, match=message):
        find_label_errors(z, given, **{argument: value})


# What else is returned


def test_the_summary_is_ready_for_json_and_agrees_with_the_table(planted):
    z, _, given = planted
    found = judge_labels(z, given, fdr=0.2)
    summary = json.loads(json.dumps(found.to_dict()))
    assert found.frame.attrs == found.to_dict()
    assert summary["num_labelled"] == 45
    assert summary["num_suspects"] == int(found.frame["is_error"].sum())
    assert sum(move["count"] for move in summary["classes"]) == summary["num_suspects"]
    low, high = summary["error_interval"]
    assert low <= summary["estimated_error_rate"] <= high
    assert summary["estimated_error_rate"] == pytest.approx(1 - found.frame["score"].mean())
    assert summary["fdr_target"] == 0.2
    assert summary["fdr_estimated"] <= 0.2
    assert set(summary["error_rate_by_class"]) == {"0", "1", "2"}


def test_rows_are_distributions_in_the_order_of_the_graph(planted):
    z, _, given = planted
    labels = given.clone()
    labels[::4] = -1
    found = judge_labels(z, labels)
    assert torch.equal(found.nodes, (labels >= 0).nonzero().squeeze(1))
    assert torch.equal(found.given, labels[labels >= 0])
    ones = torch.ones(len(found.nodes)).double()
    for rows in (found.pred_probs, found.posterior):
        assert torch.allclose(rows.sum(1), ones)
    assert torch.allclose(found.transition.sum(1), torch.ones(3).double())
    score = dict(zip(found.frame["node"], found.frame["score"], strict=True))
    own = found.posterior.gather(1, found.given[:, None]).squeeze(1)
    assert [score[i] for i in found.nodes.tolist()] == pytest.approx(own.tolist())


@pytest.mark.parametrize("level", [0.0, 0.2])
def test_the_share_of_wrong_labels_is_estimated(level):
    z, y = blobs(per_class=100)
    wrong = torch.rand(300, generator=torch.Generator().manual_seed(3)) < level
    found = judge_labels(z, torch.where(wrong, (y + 1) % 3, y))
    low, high = found.error_interval
    assert found.error_rate == pytest.approx(float(wrong.double().mean()), abs=0.03)
    assert low - 0.01 <= float(wrong.double().mean()) <= high
    if level:  # every wrong label is one class up
        assert float(found.transition[0, 1]) > 3 * float(found.transition[0, 2])


def test_flags_are_the_longest_run_with_a_low_mean():
    generator = torch.Generator().manual_seed(0)
    score = torch.rand(30, generator=generator).square()
    candidate = torch.rand(30, generator=generator) < 0.8
    found = flag(score, candidate, 0.1)
    ranked = sorted((float(s), i) for i, s in enumerate(score) if candidate[i])
    runs = [ranked[:k] for k in range(len(ranked) + 1)]
    best = max((run for run in runs if sum(s for s, _ in run) <= 0.1 * len(run)), key=len)
    assert found.nonzero().squeeze(1).tolist() == sorted(i for _, i in best)
    assert not flag(score, torch.zeros(30, dtype=torch.bool), 0.5).any()


# Shapes of the problem


def test_a_class_of_three_is_not_judged_and_comes_last():
    z, y = blobs(per_class=15, num_classes=4)
    few = torch.cat([torch.arange(45), torch.tensor([45, 46, 47])])
    names = np.array(["a", "b", "c", "rare"], dtype=object)[y[few].numpy()]
    found = judge_labels(z[few], names)
    assert found.not_judged == ["rare"]
    last = found.frame.tail(3)
    assert last["given"].tolist() == ["rare"] * 3
    assert last["score"].isna().all()
    assert not last["is_error"].any()
    assert last["evidence"].str.startswith("Not judged: 'rare' has only 3 labels").all()
    assert "rare" not in found.error_rate_by_class
    assert not found.frame["score"][:-3].isna().any()
    json.dumps(found.to_dict())


@pytest.mark.parametrize(("num_classes", "per_class"), [(2, 20), (70, 8)])
def test_few_and_many_classes(num_classes, per_class):
    z, y = blobs(per_class, num_classes, spread=0.08)
    given = y.clone()
    given[::10] = (y[::10] + 1) % num_classes
    planted = set(range(0, len(y), 10))
    frame = find_label_errors(z, given)
    assert len(planted & set(frame["node"][: len(planted)])) >= 0.9 * len(planted)


def test_a_label_alone_in_its_class_is_listed_but_not_judged():
    z, y = blobs()
    given = y.clone()
    given[0] = 7
    found = judge_labels(z, given)
    assert found.not_judged == [7]
    assert found.frame["node"].iloc[-1] == 0


def test_a_graph_may_have_isolated_nodes_and_no_attributes(planted):
    z, _, given = planted
    graph = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=45)
    frame = find_label_errors(z, given, graph=graph).set_index("node")
    assert frame["neighbours_given"].notna().sum() == 4
    assert frame.loc[2, "neighbours_suggested"] == 1
    assert "no neighbour has a label" in frame.loc[44, "evidence"]


def test_neighbours_speak_where_representations_are_silent():
    """Two cliques whose representations are noise; some labels are those of the other clique."""
    z = torch.randn(100, 4, generator=torch.Generator().manual_seed(0))
    y = torch.arange(2).repeat_interleave(50)
    i, j = torch.triu_indices(100, 100, 1)
    graph = Data(edge_index=torch.stack([i, j])[:, y[i] == y[j]], num_nodes=100)
    planted = [5, 15, 30, 60, 70, 88]
    given = y.clone()
    given[planted] = 1 - y[planted]
    assert sorted(find_label_errors(z, given, graph=graph)["node"][:6]) == planted
    assert sorted(find_label_errors(z, given)["node"][:6]) != planted


def test_several_representations_are_better_than_the_worse(planted):
    z, _, given = planted
    noise = torch.randn(45, 5, generator=torch.Generator().manual_seed(1))
    frame = find_label_errors([noise, z.numpy()], given)
    assert sorted(frame["node"][:5]) == PLANTED


def test_with_many_labels_classifiers_see_few_columns(planted, monkeypatch):
    z, _, given = planted
    seen = []
    whole = label_errors.predict_out_of_fold

    def spy(data, *rest):
        seen.append([rows.shape[1] for rows in data.rows])
        return whole(data, *rest)

    monkeypatch.setattr(label_errors, "predict_out_of_fold", spy)
    monkeypatch.setattr(label_errors, "MANY", 40)
    monkeypatch.setattr(label_errors, "COLUMNS", 2)
    assert sorted(find_label_errors(z, given)["node"][:5]) == PLANTED
    assert seen == [[2]]


def test_confidence_is_shown(planted):
    z, _, given = planted
    frame = find_label_errors(z, given, confidence=torch.arange(45) / 45)
    assert frame["prototype_confidence"].tolist() == pytest.approx((frame["node"] / 45).tolist())
    assert find_label_errors(z, given)["prototype_confidence"].isna().all()


def test_certain_labels_are_never_suspects(planted):
    z, _, given = planted
    certain = torch.zeros(45, dtype=torch.bool)
    certain[[2, 20]] = True
    found = judge_labels(z, given, certain=certain)
    rows = found.frame.set_index("node")
    assert rows.loc[[2, 20], "score"].tolist() == [1, 1]
    assert not rows.loc[[2, 20], "is_error"].any()
    assert rows.loc[2, "evidence"] == "Known to be right."
    assert sorted(found.frame["node"][:4]) == sorted(set(PLANTED) - {2})


def test_labels_before_a_review_count_in_the_transition_matrix(planted):
    z, y, given = planted
    certain = torch.zeros(45, dtype=torch.bool)
    certain[PLANTED] = True
    decided = torch.where(certain, y, given)
    names = ["a", "b", "c"]
    before, after = ([names[c] for c in labels.tolist()] for labels in (given, decided))
    found = judge_labels(z, after, certain=certain, labels_before=before).transition
    plain = judge_labels(z, after, certain=certain).transition
    assert found.diagonal().mean() < plain.diagonal().mean()
    stranger = [
        "d" if known else name for name, known in zip(before, certain.tolist(), strict=True)
    ]
    same = judge_labels(z, after, certain=certain, labels_before=stranger).transition
    assert torch.equal(same, plain)  # a class that is no more tells nothing


# Probabilities of others


def test_given_probabilities_replace_ours(planted):
    z, y, given = planted
    p = torch.full((45, 3), 0.05).scatter(1, y[:, None], 0.9)
    frame = find_label_errors(torch.randn_like(z), given, pred_probs=p.numpy())
    assert sorted(frame["node"][:5]) == PLANTED


def test_columns_of_given_probabilities_are_class_numbers(planted):
    z, y, given = planted
    wide = torch.full((45, 6), 0.01).scatter(1, 2 * y[:, None], 0.9)
    frame = find_label_errors(z, 2 * given, pred_probs=wide)
    assert sorted(frame["node"][:5]) == PLANTED
    assert set(frame["suggested"]) <= {0, 2, 4}


def test_columns_of_a_frame_of_probabilities_go_by_their_names(planted):
    z, y, given = planted
    names = np.array(["a", "b", "c"])
    p = torch.full((45, 3), 0.05).scatter(1, y[:, None], 0.9)
    frame = pd.DataFrame(p.numpy(), columns=names)
    wanted = find_label_errors(z, names[given], pred_probs=p)
    for one in (frame[["c", "a", "b"]], frame.set_axis(["x", "y", "z"], axis=1)):
        pd.testing.assert_frame_equal(find_label_errors(z, names[given], pred_probs=one), wanted)


@pytest.mark.skipif(not importlib.util.find_spec("cleanlab"), reason="cleanlab is not installed")
def test_cleanlab_takes_our_probabilities(planted):
    from cleanlab.filter import find_label_issues

    z, _, given = planted
    labels = given.clone()
    labels[[7, 8]] = -1
    found = judge_labels(z, labels)
    issues = find_label_issues(**found.to_cleanlab())
    assert sorted(found.nodes[torch.from_numpy(issues)].tolist()) == PLANTED


def test_a_contradicted_estimate_is_said(monkeypatch, caplog):
    data = make_graph(200, num_classes=3, num_features=60)
    z = F.one_hot(data.y, 3).float()
    with caplog.at_level("WARNING", logger="brgcl"):
        judge_labels(z, data.y, graph=data)
    assert not caplog.records
    monkeypatch.setattr("brgcl.tasks.label_errors.unexplained_errors", lambda *_: 0.43)
    with caplog.at_level("WARNING", logger="brgcl"):
        judge_labels(z, data.y, graph=data)
    assert "43 % more are wrong than it explains" in caplog.text


def test_chance_is_taken_off_by_the_same_odds_for_all():
    rng = torch.Generator().manual_seed(0)
    q = torch.rand(50, 3, generator=rng).double().softmax(1)
    one_hot = F.one_hot(torch.randint(3, (50,), generator=rng), 3).bool()
    doubted = torch.arange(50) > 4
    raised = less_chance(q, one_hot, doubted, 0.3)
    np.testing.assert_allclose(raised[:5], q[:5])
    np.testing.assert_allclose(raised.sum(1), 1)
    before, after = q[one_hot][doubted], raised[one_hot][doubted]
    assert float(after.mean()) == pytest.approx(float(before.mean()) / 0.7, abs=1e-6)
    factor = (after / (1 - after)) / (before / (1 - before))
    np.testing.assert_allclose(factor, float(factor[0]))
    assert torch.equal(less_chance(q, one_hot, doubted, 0.0), q)
    most = less_chance(q, one_hot, doubted, 0.99)[one_hot][doubted]  # half of it at most
    assert 1 - float(most.mean()) == pytest.approx((1 - float(before.mean())) / 2, abs=1e-6)


def test_classes_that_overlap_are_not_taken_for_noise_where_labels_are_few():
    rng = torch.Generator().manual_seed(0)
    p = torch.randn(120, 4, generator=rng).softmax(1)
    labels = torch.multinomial(p, 1, generator=rng).squeeze(1)  # all of them right
    judged = judge_labels(p, labels, pred_probs=p)
    data = Labelled(p, [], labels, 4, torch.zeros(120, dtype=torch.bool))
    found = calibrate(data, p.double(), seed=0)
    uncorrected = 1 - float(found.posterior.gather(1, labels[:, None]).mean())
    assert found.chance > 0.01
    assert judged.error_rate < uncorrected - 0.01
