import json

import pandas as pd
import pytest

SETTINGS = ("epochs=4", "hidden=16", "dim=8", "warmup_epochs=2", "reported=prototypes")
SMALL = [part for setting in SETTINGS for part in ("--set", setting)]


@pytest.fixture(autouse=True)
def without_report(monkeypatch):
    monkeypatch.setattr("brgcl.report.extra.has_report_extra", lambda: False)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Files of a graph, and of other nodes that are like those of the first."""
    from brgcl.data import make_graph

    folder = tmp_path_factory.mktemp("own")
    for name, seed in (("old", 0), ("new", 1)):
        data = make_graph(80, num_classes=2, num_features=12, avg_degree=4, seed=seed)
        ids = [f"{name}-{i}" for i in range(80)]
        ends = data.edge_index[:, data.edge_index[0] < data.edge_index[1]].tolist()
        source, target = ([ids[i] for i in end] for end in ends)
        edges = pd.DataFrame({"source": source, "target": target})
        edges.to_csv(folder / f"{name}-edges.csv", index=False)
        x = pd.DataFrame(data.x.to_dense().numpy())
        x.columns = [f"w{i}" for i in range(12)]
        x.insert(0, "id", ids)
        x.to_csv(folder / f"{name}-features.csv", index=False)
        labels = pd.DataFrame({"id": ids, "label": [("red", "blue")[i] for i in data.y]})
        labels.to_csv(folder / f"{name}-labels.csv", index=False)
    return folder


def files(own, name, *kinds):
    return [part for kind in kinds for part in (f"--{kind}", own / f"{name}-{kind}.csv")]


def test_new_nodes_from_the_shell(run, own, tmp_path):
    given = files(own, "old", "edges", "features", "labels")
    assert run("classify", *given, *SMALL, "--out", tmp_path / "run")[0] == 0
    new = files(own, "new", "edges", "features")
    code, out, err = run("transform", tmp_path / "run", *new, "--out", tmp_path / "new", "--json")
    assert code == 0, err
    metrics = json.loads(out)
    assert (metrics["num_nodes"], metrics["dim"], metrics["num_classes"]) == (80, 8, 2)
    nodes = pd.read_parquet(tmp_path / "new/nodes.parquet")
    assert list(nodes["node_id"])[:2] == ["new-0", "new-1"]
    assert set(nodes["predicted"]) <= {"red", "blue"}
    assert nodes["cluster"].max() < metrics["num_clusters"]
    z = pd.read_parquet(tmp_path / "new/embeddings.parquet")
    assert z.shape == (80, 9)

    # the nodes of the training graph get back what they had
    old = files(own, "old", "edges", "features")
    code, _, err = run("transform", tmp_path / "run", *old, "--out", tmp_path / "old.csv")
    assert code == 0, err
    again = pd.read_csv(tmp_path / "old.csv")
    before = pd.read_parquet(tmp_path / "run/nodes.parquet")
    for name in ("node_id", "cluster", "confident", "predicted"):
        assert list(again[name]) == list(before[name]), name
    before_confidence = before["confidence"].to_numpy()
    assert again["confidence"].to_numpy() == pytest.approx(before_confidence, abs=1e-5)
    assert again.shape == (80, 6 + 8)

    # the same columns in another order would be taken for one another
    columns = pd.read_csv(own / "old-features.csv")
    columns[["id", "w1", "w0", *columns.columns[3:]]].to_csv(tmp_path / "x.csv", index=False)
    old = [*files(own, "old", "edges"), "--features", tmp_path / "x.csv"]
    code, _, err = run("transform", tmp_path / "run", *old)
    assert code == 2
    assert "attribute 1 is 'w1' but the model was fitted with 'w0' there" in err

    # a table may have any case, and takes the place of no file that is read
    old = files(own, "old", "edges", "features")
    code, out, _ = run("transform", tmp_path / "run", *old, "--out", tmp_path / "T.CSV")
    assert code == 0
    assert (tmp_path / "T.CSV").is_file()
    place = ("--out", own / "old-edges.csv", "--overwrite")
    code, _, err = run("transform", tmp_path / "run", *old, *place)
    assert code == 2
    assert "which --edges reads" in err


def test_a_run_keeps_the_model_and_the_files_that_a_command_reads(run, own, tmp_path):
    old, first = files(own, "old", "edges", "features"), tmp_path / "run"
    assert run("embed", *old, *SMALL, "--out", first)[0] == 0
    before = {file: file.read_bytes() for file in first.rglob("*") if file.is_file()}
    edges = files(own, "old", "edges")
    vectors = [*edges, "--features", first / "embeddings.parquet"]
    for arguments, message in (
        (("transform", first, *old), f"replace the run of '{first}'"),
        (("transform", first / "model", *old), f"replace the run of '{first / 'model'}'"),
        (("embed", *vectors, *SMALL), "embeddings.parquet', which --features reads"),
        (("cluster", *vectors, *SMALL), "embeddings.parquet', which --features reads"),
    ):
        code, out, err = run(*arguments, "--out", first, "--overwrite")
        assert (code, out) == (2, "")
        assert message in err
    assert {file: file.read_bytes() for file in first.rglob("*") if file.is_file()} == before


def test_a_perceptron_that_is_not_stored_is_missed(run, own, tmp_path):
    given = files(own, "old", "edges", "features", "labels")
    assert run("classify", *given, *SMALL, "--rule", "mlp", "--out", tmp_path / "run")[0] == 0
    new = files(own, "new", "edges", "features")
    code, out, err = run("transform", tmp_path / "run", *new, "--out", tmp_path / "new", "--json")
    assert code == 0, err
    assert "num_classes" not in json.loads(out)
    assert "no classes are predicted, because a run does not store the perceptron" in err


def test_classify_with_the_model_of_a_run(run, own, tmp_path):
    given = files(own, "old", "edges", "features")
    assert run("embed", *given, *SMALL, "--out", tmp_path / "run")[0] == 0
    new = files(own, "new", "edges", "features", "labels")
    model = ("--model", tmp_path / "run")
    code, _, err = run("classify", *new, *model, "--out", tmp_path / "classes", "--json")
    assert code == 0, err
    run("transform", tmp_path / "run", *new[:4], "--out", tmp_path / "z.parquet")
    z = pd.read_parquet(tmp_path / "z.parquet").filter(regex=r"^z\d")
    own_z = pd.read_parquet(tmp_path / "classes/embeddings.parquet").filter(regex=r"^z\d")
    assert z.equals(own_z)
    about = json.loads((tmp_path / "classes/run.json").read_text())
    assert about["model"] == str(tmp_path / "run")
    assert about["settings"]["dim"] == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("classify", "--model", "none", "demo"), "'none' has no model"),
        (("classify", "--model", "none", "demo", "--set", "epochs=3"), "has its own method and"),
        (("classify", "--model", "none", "demo", "--method", "gcn"), "has its own method and"),
        (("transform", "none", "demo"), "'none' has no model"),
        (("transform", "none"), "no graph given"),
        (("transform", "none", "demo", "--out", "none/x.csv"), "'none' has no model"),
    ],
)
def test_wrong_input_is_refused(run, monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err
