import json
import re

import pytest

from brgcl.tasks.diagnose import NEGLIGIBLE
from diagnosis import BEGIN, END, PAGE, RESULTS, put_tables, tables


@pytest.fixture(scope="module")
def runs():
    return json.loads(RESULTS.read_text(encoding="utf-8"))["runs"]


def test_the_page_shows_what_was_measured():
    page = PAGE.read_text(encoding="utf-8")
    assert put_tables(page, tables(RESULTS)) == page
    assert page.count(BEGIN) == page.count(END) == 1


def test_a_changed_number_changes_the_page(tmp_path, runs):
    page = PAGE.read_text(encoding="utf-8")
    changed = json.loads(json.dumps(runs))
    changed[0]["estimated_rate"] += 0.5
    file = tmp_path / "diagnosis.json"
    file.write_text(json.dumps({"runs": changed}))
    assert put_tables(page, tables(file)) != page


def test_every_cell_has_all_its_draws(runs):
    for graph, draws in {"cora": range(5), "citeseer": range(5), "pubmed": range(1)}.items():
        cells = {}
        for run in runs:
            if run["graph"] == graph:
                cells.setdefault((run["part"], run["noise"]), []).append(run["draw"])
        assert len(cells) == 12
        assert all(sorted(found) == list(draws) for found in cells.values())


def test_the_finders_rank_better_than_every_baseline_in_every_draw(runs):
    """What the page says in words."""
    ours = {"brgcl", "without z"}
    for run in runs:
        found = run.get("methods", {})
        for name in ours & found.keys():
            for baseline in found.keys() - ours:
                for metric in ("auroc", "average_precision"):
                    assert found[name][metric] > found[baseline][metric], (run, baseline)


def test_no_noise_is_no_sign_of_noise(runs):
    for run in runs:
        assert (run["interval"][0] <= NEGLIGIBLE) == (run["noise"] == "none"), run


def test_tables_name_the_draws():
    assert re.search(r"\*\*Edges of cora\*\*, n = 5\n", tables(RESULTS))
