import csv
from collections import Counter

import pytest

from brgcl.benchmark.experiment import Part, cells, load_suite, suite_names
from brgcl.errors import InputError
from brgcl.methods import METHODS

NAMES = [
    "symmetric",
    "asymmetric",
    "attribute",
    "clustering",
    "clustering-noise",
    "sample-selection",
    "ablation",
    "prototypes",
    "hyperparameters",
    "dataset-statistics",
    "confidence-map",
    "edge",
    "instance",
    "noisy-val",
    "no-val",
    "components",
]
TABLES = {
    "label-noise-symmetric": "symmetric",
    "label-noise-asymmetric": "asymmetric",
    "attribute-noise": "attribute",
    "sample-selection": "sample-selection",
    "ablation": "ablation",
}
OURS = {"S2GC": "s2gc", "K-means": "kmeans"}


def test_all_tables_and_figures_are_there():
    assert set(NAMES) <= set(suite_names())


@pytest.mark.parametrize("name", suite_names())
def test_every_file_makes_cells_whose_settings_are_valid(name):
    suite = load_suite(name)
    for cell in cells(suite):
        assert cell.experiment.config is not None
    for entry in suite.published:
        assert entry["dataset"] in suite.datasets
        if suite.kind == "grid":
            assert any(row.published == entry["row"] for row in suite.rows.values())


ABOUT_ITS_PARTS = ("components", "confidence-map", "hyperparameters")


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ABOUT_ITS_PARTS])
def test_tables_with_brgcl_have_the_printed_form_too(name):
    rows = load_suite(name).rows
    assert ("brgcl" in rows) == ("brgcl-paper" in rows)


def test_level_0_is_one_column():
    assert load_suite("edge").columns() == [
        ("none", 0.0),
        *((noise, level) for noise in ("add", "remove", "rewire") for level in (0.2, 0.4)),
    ]


def test_a_row_may_have_less_than_the_rest():
    suite = load_suite("symmetric")
    found = cells(suite, Part(rows=["nrgnn-published"]))
    assert {c.experiment.dataset for c in found} == {"cora"}
    assert {c.level for c in found} == {0.0, 0.2, 0.4}
    assert {c.experiment.seed for c in found} == {0, 1, 2}
    assert len(cells(suite, Part(rows=["gcn"], datasets=["cora"]))) == 50


def test_settings_may_be_the_cells_own_values():
    found = cells(load_suite("symmetric"), Part(rows=["co-teaching"], datasets=["cora"], seeds=1))
    assert {c.experiment.config.forget_rate for c in found} == {0.0, 0.2, 0.4, 0.6, 0.8}
    (kmeans,) = cells(
        load_suite("ablation"), Part(rows=["joint+kmeans"], datasets=["cora"], seeds=1)
    )
    assert kmeans.experiment.config.num_prototypes == 7


def test_a_row_may_have_other_settings_on_one_graph():
    suite = load_suite("symmetric")
    (cora,) = cells(suite, Part(rows=["grace"], datasets=["cora"], levels=[0.0], seeds=1))
    (pubmed,) = cells(suite, Part(rows=["grace"], datasets=["pubmed"], levels=[0.0], seeds=1))
    assert cora.experiment.config == METHODS["grace"].config("cora")
    assert pubmed.experiment.config.epochs == 300


@pytest.mark.parametrize("what", ["datasets", "rows"])
def test_unknown_parts_are_errors(what):
    with pytest.raises(InputError, match="unknown"):
        cells(load_suite("symmetric"), Part(**{what: ["nothing"]}))


def test_unknown_levels_and_names_are_errors():
    with pytest.raises(InputError, match="level"):
        cells(load_suite("symmetric"), Part(levels=[0.3]))
    with pytest.raises(InputError, match="did you mean 'symmetric'"):
        load_suite("symetric")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "not valid TOML"),
        ("title = 'a'\nsource = 'b'\nlevel = [0.0]", "levels"),
        ("title = 'a'", "source"),
        ("title = 'a'\nsource = 'b'\n[rows.gcm]", "did you mean 'gcn'"),
        ("title = 'a'\nsource = 'b'\n[rows.gcn]\nsetting = {}", "settings"),
    ],
)
def test_a_wrong_file_of_ones_own_is_an_error(tmp_path, text, message):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_suite(str(path))


@pytest.mark.data
@pytest.mark.parametrize("table", [*TABLES, "clustering"])
def test_published_values_are_those_of_the_paper(table, published_numbers):
    with published_numbers.open() as lines:
        rows = [row for row in csv.DictReader(lines) if row["table"] == table]
    assert rows
    for row in rows:
        level = float(row["level"])
        name = TABLES.get(table, "clustering-noise" if level else "clustering")
        suite = load_suite(name)
        found = suite.published_value(
            row["dataset"].lower().replace(" ", "-"),
            OURS.get(row["method"], row["method"].lower()),
            level,
            row["metric"].lower(),
        )
        std = float(row["std"]) if row["std"] else None
        assert found == (float(row["mean"]), std), row


def test_a_row_has_its_own_number_of_draws_on_a_graph_or_at_all(tmp_path):
    file = tmp_path / "table.toml"
    file.write_text(
        """
        title = "t"
        source = "s"
        datasets = ["cora", "citeseer", "pubmed"]
        seeds = { default = 4, citeseer = 6 }
        [rows.gcn]
        [rows.s2gc]
        seeds = 9
        on.pubmed = { seeds = 2 }
        """
    )
    suite = load_suite(str(file))
    found = Counter((cell.row, cell.experiment.dataset) for cell in cells(suite))
    assert found == {
        ("gcn", "cora"): 4, ("gcn", "citeseer"): 6, ("gcn", "pubmed"): 4,
        ("s2gc", "cora"): 9, ("s2gc", "citeseer"): 9, ("s2gc", "pubmed"): 2,
    }  # fmt: skip
