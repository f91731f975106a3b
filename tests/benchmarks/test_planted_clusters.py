"""The table of planted groups, and that the page has it."""

import json
from pathlib import Path

import pytest

import planted_clusters as planted

ROOT = Path(__file__).parent.parent.parent


def test_the_page_has_the_table_of_the_results():
    results = json.loads(planted.RESULTS.read_text(encoding="utf-8"))
    assert planted.table(results) in (ROOT / "docs" / "method.md").read_text(encoding="utf-8")


def test_without_groups_words_and_edges_do_not_depend_on_the_class():
    data = planted.make("no groups", 0)
    start, end = data.edge_index
    assert float((data.y[start] == data.y[end]).double().mean()) == pytest.approx(1 / 7, abs=0.05)


def test_a_result_has_what_the_table_shows():
    found = planted.measure("3 groups", 0, epochs=4, warmup_epochs=2, hidden=16, dim=8)
    assert found["nodes"] == 2000
    assert 0 <= found["nmi"] <= 1
    assert f"| 3 groups | {found['num_clusters']} | {found['null']} |" in planted.table([found])
