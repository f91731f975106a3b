import csv
from collections import Counter

import pytest

from brgcl.benchmark.experiment import Selection, experiment_names, load_experiment, runs
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
    assert set(NAMES) <= set(experiment_names())


@pytest.mark.parametrize("name", experiment_names())
def test_every_file_makes_runs_whose_settings_are_valid(name):
    experiment = load_experiment(name)
    for planned in runs(experiment):
        assert planned.spec.config is not None
    for entry in experiment.published:
        assert entry["dataset"] in experiment.datasets
        if experiment.kind == "grid":
            assert any(row.published == entry["row"] for row in experiment.rows.values())


ABOUT_ITS_PARTS = ("components", "confidence-map", "hyperparameters")


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ABOUT_ITS_PARTS])
def test_tables_with_brgcl_have_the_printed_form_too(name):
    rows = load_experiment(name).rows
    assert ("brgcl" in rows) == ("brgcl-paper" in rows)


def test_level_0_is_one_column():
    assert load_experiment("edge").columns() == [
        ("none", 0.0),
        *((noise, level) for noise in ("add", "remove", "rewire") for level in (0.2, 0.4)),
    ]


def test_a_row_may_have_less_than_the_rest():
    experiment = load_experiment("symmetric")
    planned = runs(experiment, Selection(rows=["nrgnn-published"]))
    assert {run.spec.dataset for run in planned} == {"cora"}
    assert {run.level for run in planned} == {0.0, 0.2, 0.4}
    assert {run.spec.seed for run in planned} == {0, 1, 2}
    assert len(runs(experiment, Selection(rows=["gcn"], datasets=["cora"]))) == 50


def test_settings_may_be_the_values_of_the_run():
    planned = runs(
        load_experiment("symmetric"), Selection(rows=["co-teaching"], datasets=["cora"], seeds=1)
    )
    assert {run.spec.config.forget_rate for run in planned} == {0.0, 0.2, 0.4, 0.6, 0.8}
    (kmeans,) = runs(
        load_experiment("ablation"), Selection(rows=["joint+kmeans"], datasets=["cora"], seeds=1)
    )
    assert kmeans.spec.config.num_prototypes == 7


def test_a_row_may_have_other_settings_on_one_graph():
    experiment = load_experiment("symmetric")
    (cora,) = runs(experiment, Selection(rows=["grace"], datasets=["cora"], levels=[0.0], seeds=1))
    (pubmed,) = runs(
        experiment, Selection(rows=["grace"], datasets=["pubmed"], levels=[0.0], seeds=1)
    )
    assert cora.spec.config == METHODS["grace"].config("cora")
    assert pubmed.spec.config.epochs == 300


@pytest.mark.parametrize("what", ["datasets", "rows"])
def test_unknown_names_are_errors(what):
    with pytest.raises(InputError, match="unknown"):
        runs(load_experiment("symmetric"), Selection(**{what: ["nothing"]}))


def test_unknown_levels_and_names_are_errors():
    with pytest.raises(InputError, match="level"):
        runs(load_experiment("symmetric"), Selection(levels=[0.3]))
    with pytest.raises(InputError, match="did you mean 'symmetric'"):
        load_experiment("symetric")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "not valid TOML"),
        ("title = 'a'\nsource = 'b'\nlevel = [0.0]", "levels"),
        ("title = 'a'", r"mine.toml' lacks source$"),
        ("title = 'a'\nsource = 'b'\n[rows.gcm]", "did you mean 'gcn'"),
        ("title = 'a'\nsource = 'b'\n[rows.gcn]\nsetting = {}", "settings"),
    ],
)
def test_a_wrong_file_of_ones_own_is_an_error(tmp_path, text, message):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_experiment(str(path))


@pytest.mark.data
@pytest.mark.parametrize("table", [*TABLES, "clustering"])
def test_published_values_are_those_of_the_paper(table, published_numbers):
    with published_numbers.open() as lines:
        rows = [row for row in csv.DictReader(lines) if row["table"] == table]
    assert rows
    for row in rows:
        level = float(row["level"])
        name = TABLES.get(table, "clustering-noise" if level else "clustering")
        experiment = load_experiment(name)
        published = experiment.published_value(
            row["dataset"].lower().replace(" ", "-"),
            OURS.get(row["method"], row["method"].lower()),
            "none",
            level,
            row["metric"].lower(),
        )
        std = float(row["std"]) if row["std"] else None
        assert published == (float(row["mean"]), std), row


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
    experiment = load_experiment(str(file))
    draws = Counter((planned.row, planned.spec.dataset) for planned in runs(experiment))
    assert draws == {
        ("gcn", "cora"): 4, ("gcn", "citeseer"): 6, ("gcn", "pubmed"): 4,
        ("s2gc", "cora"): 9, ("s2gc", "citeseer"): 9, ("s2gc", "pubmed"): 2,
    }  # fmt: skip


def test_published_values_may_belong_to_one_noise_of_several(tmp_path):
    file = tmp_path / "table.toml"
    file.write_text(
        """
        title = "t"
        source = "s"
        noise = ["symmetric", "pair"]
        levels = [0.0, 0.2]
        datasets = ["cora"]
        published = [
          { dataset = "cora", row = "gcn", noise = "symmetric", metric = "acc", mean = [0.8, 0.7] },
          { dataset = "cora", row = "gcn", noise = "pair", metric = "acc", mean = [0.8, nan] },
        ]
        [rows.gcn]
        """
    )
    of = load_experiment(str(file)).published_value
    assert of("cora", "gcn", "symmetric", 0.2, "acc") == (0.7, None)
    assert of("cora", "gcn", "pair", 0.2, "acc") == (None, None)
    assert of("cora", "gcn", "none", 0.0, "acc") == (0.8, None)


def test_the_ceiling_shares_its_training_and_is_told_which_labels_are_right():
    planned = runs(load_experiment("targets"), Selection(datasets=["cora"], levels=[0.4], seeds=1))
    of = {(run.row, run.noise): run.spec for run in planned}
    ceiling, ours = of["ceiling", "pair"], of["brgcl", "pair"]
    assert (ceiling.labelled, ours.labelled) == ("right", "train")
    assert ceiling.training == ours.training
    assert ceiling.key != ours.key
