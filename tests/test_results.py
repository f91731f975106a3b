"""The page of results says what the records say."""

from pathlib import Path

from brgcl.benchmark.experiment import Selection, experiment_names, load_experiment, runs
from brgcl.benchmark.records import read_records
from brgcl.evaluation.names import SCORED_ON
from brgcl.methods import find_method
from brgcl.tune.equal import choose, read_outcomes, runs_of, scored
from brgcl.tune.figure import read_searches
from methods_page import put_measured
from results_page import put_summary, results_page
from write_pages import known_pictures

ROOT = Path(__file__).parent.parent
RECORDS = read_records(ROOT / "results" / "records.jsonl")
SEARCHES = read_searches(ROOT / "results" / "tuning")
TUNINGS = read_outcomes(ROOT / "results" / "tuning" / "equal")


def test_the_page_is_made_from_the_records():
    page = ROOT / "docs" / "results.md"
    conclusions = (ROOT / "results" / "conclusions.md").read_text(encoding="utf-8")
    wanted = results_page(RECORDS, SEARCHES, conclusions, known_pictures(page.parent), TUNINGS)
    assert page.read_text(encoding="utf-8") == wanted, "make results writes it anew"


def test_the_readme_is_made_from_the_records():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert put_summary(text, RECORDS) == text, "make results writes it anew"


def test_the_page_of_methods_is_made_from_the_records():
    text = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    assert put_measured(text, RECORDS) == text, "make results writes it anew"


def test_no_record_is_there_twice():
    lines = (ROOT / "results" / "records.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(RECORDS)


def test_every_record_belongs_to_a_table():
    wanted = {
        cell.spec.key
        for name in experiment_names()
        for split in SCORED_ON
        for cell in runs(load_experiment(name), Selection(scored_on=split))
    }
    assert [str(RECORDS[key].spec) for key in RECORDS if key not in wanted] == []


def test_equal_tuning_is_what_its_records_say():
    records = read_records(ROOT / "results" / "tuning" / "equal" / "records.jsonl")
    for tuning in TUNINGS:
        settings = [each.changes for each in tuning.tried]
        method = find_method(tuning.method)
        wanted = [runs_of(method, tuning.dataset, changes, tuning.draws) for changes in settings]
        if wanted[0][0].key not in records:  # the default is another one since then
            continue
        known = [[records[spec.key] for spec in runs] for runs in wanted]
        assert scored(settings, known) == tuning.tried, (tuning.method, tuning.dataset)
        assert choose(tuning.tried) == tuning.chosen
