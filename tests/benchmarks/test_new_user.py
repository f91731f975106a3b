import csv

import new_user
from brgcl import read_graph


def test_the_files_are_a_graph_with_a_tenth_of_its_labels_wrong(tmp_path):
    wrong = new_user.write_graph(tmp_path)
    data = read_graph(*(tmp_path / f"{name}.csv" for name in ("edges", "attributes", "labels")))
    assert data.num_nodes == new_user.NODES
    assert sorted(data.class_names) == sorted(new_user.CLASSES)
    assert len(wrong) == new_user.NODES // 10
    with (tmp_path / "labels.csv").open(encoding="utf-8") as stream:
        labels = {row["id"]: row["label"] for row in csv.DictReader(stream)}
    with (tmp_path / "edges.csv").open(encoding="utf-8") as stream:
        edges = [row for row in csv.DictReader(stream) if not {*row.values()} & wrong]
    same = [labels[edge["source"]] == labels[edge["target"]] for edge in edges]
    assert sum(same) > 0.75 * len(same)


def test_the_commands_are_those_that_readme_shows():
    lines = new_user.readme_commands((new_user.ROOT / "README.md").read_text(encoding="utf-8"))
    assert [line.split()[:2] for line in lines] == [["brgcl", "classify"], ["brgcl", "find-errors"]]
    given = {word for line in lines for word in line.split() if word.endswith(".csv")}
    assert given == {"edges.csv", "attributes.csv", "labels.csv"}


def test_the_page_has_the_measured_table():
    page = new_user.PAGE.read_text(encoding="utf-8")
    shown = page.partition(new_user.BEGIN)[2].partition(new_user.END)[0]
    lines = new_user.readme_commands((new_user.ROOT / "README.md").read_text(encoding="utf-8"))
    for command in ("git clone", "make demo", *lines):
        assert f"`{command}`" in shown
    steps = [("Clone", "git clone", 1.2), ("Demonstration", "make demo", 30.0)]
    assert "| Together | | 31 s |" in new_user.table(steps, "a machine")
