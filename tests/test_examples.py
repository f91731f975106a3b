"""Every example runs as it stands and prints what it promises."""

import ast
import re
import runpy
import shutil
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"

# Example -> lines of its output, as regular expressions, in order.
PROMISED = {
    "quickstart": [
        r"graph: 300 nodes, \d+ edges, 200 attributes",
        r"representations: 300 x 16, unit length",
        r"clusters found without labels: \d+",
        r"nodes confident in their cluster: \d+%",
        r"classifier chosen: (bayes|centroid|logistic\+?|mlp)",
        r"test nodes classified right: \d+%",
        r"sizes of 3 clusters: \[\d+, \d+, \d+\]",
        r"loaded model gives the same representations: True",
    ],
    "noisy_labels": [
        r"wrong labels +brgcl +gcn",
        r" +0% +\d+% +\d+%",
        r" +\d+% +\d+% +\d+%",
        r" +\d+% +\d+% +\d+%",
    ],
    "find_label_errors": [
        r"labels given: 60, wrong: \d+",
        r" *node +given +suggested +score +is_error",
        r"( +\S+){5}",
        r"node \d+: .*\.",
        r"share of wrong labels: 0\.\d\d \(0\.\d\d to 0\.\d\d\)",
        r"labels flagged as wrong: \d+, of these really wrong: \d+",
        r"really wrong among the \d+ lowest scores: \d+",
    ],
    "own_graph": [
        r"read: 200 nodes, 40 labelled, \['biology', 'physics'\]",
        r" *id +topic +probability +confidence",
        r"paper-000 +(biology|physics) +\d\.\d\d +\d\.\d\d",
        r"written: .*predictions\.csv",
    ],
    "vectors_without_a_graph": [
        r"graph: 1797 nodes, \d+ edges",
        r"classified right by brgcl: \d+%",
        r"by logistic regression on pixels: \d+%",
    ],
    "compare_methods": [
        r"method +accuracy +spread +draws",
        r"gcn +0\.\d{3} +0\.\d{3} +3",
        r"smooth +0\.\d{3} +0\.\d{3} +3",
        r"brgcl +0\.\d{3} +0\.\d{3} +3",
    ],
    "from_pandas_and_networkx": [
        r"from frames: 34 nodes, 78 edges, \['Mr. Hi', 'Officer'\]",
        r"from NetworkX: 34 nodes, 34 attributes",
        r"Mr. Hi +\d+ +\d+",
        r"back: 78 edges, 34 nodes",
    ],
    "large_graph": [
        r"trained in one step: 3000 nodes, test nodes classified right: \d+%",
        r"trained by parts: 3000 nodes, test nodes classified right: \d+%",
    ],
    "stages_by_hand": [
        r"epoch 11: K \d+, confident \d+%",
        r"epoch 20: K \d+, confident \d+%",
        r"largest difference to BRGCL.fit: (0e\+00|\de-0[5-9])",
    ],
}


def run(name, capsys):
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    return capsys.readouterr().out


def numbers(pattern, text):
    found = re.search(pattern, text)
    assert found, f"no {pattern!r} in:\n{text}"
    return [int(group) for group in found.groups()]


def test_every_example_has_a_promise():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(PROMISED)


@pytest.mark.parametrize("name", PROMISED)
def test_an_example_is_flat_and_short(name):
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 70
    for node in ast.walk(ast.parse(text)):
        assert not isinstance(node, ast.FunctionDef | ast.ClassDef), node.name
    assert not re.search(r"argparse|sys\.argv|requests|urllib|load_dataset", text)


@pytest.mark.parametrize("name", [name for name in PROMISED if name != "own_graph"])
def test_an_example_prints_what_it_promises(name, capsys):
    out = run(name, capsys)
    place = 0
    lines = out.splitlines()
    for pattern in PROMISED[name]:
        match = next((i for i, s in enumerate(lines[place:]) if re.fullmatch(pattern, s)), None)
        assert match is not None, f"no {pattern!r} from line {place} on in:\n{out}"
        place += match + 1
    if name == "quickstart":
        assert numbers(r"right: (\d+)%", out)[0] > 50  # three classes: chance is a third
    if name == "large_graph":
        assert numbers(r"by parts: 3000 .* right: (\d+)%", out)[0] > 50  # five classes
    if name == "vectors_without_a_graph":
        assert numbers(r"brgcl: (\d+)%", out) > numbers(r"pixels: (\d+)%", out)
    if name == "find_label_errors":
        flagged, wrong = numbers(r"flagged as wrong: (\d+), of these really wrong: (\d+)", out)
        assert wrong > flagged / 2  # of all labels three in ten are wrong


def test_own_graph_writes_a_prediction_for_each_id(capsys):
    out = run("own_graph", capsys)
    for pattern in PROMISED["own_graph"]:
        assert re.search(rf"(?m)^{pattern}$", out), f"no {pattern!r} in:\n{out}"
    written = Path(re.search(r"written: (.*)", out)[1])
    try:
        rows = written.read_text(encoding="utf-8").splitlines()
        assert rows[0] == "id,topic,probability,confidence"
        assert [row.split(",")[0] for row in rows[1:]] == [f"paper-{i:03d}" for i in range(200)]
    finally:
        shutil.rmtree(written.parent)
