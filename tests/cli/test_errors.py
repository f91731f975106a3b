"""Wrong input at the command line: exit code 2, one line that helps, and nothing written."""

import gzip
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

from brgcl.cli import main as cli

EDGES = "from,to\na,b\nb,c\nc,d\nd,a\n"
FEATURES = "id,f1,f2\na,1,0\nb,1,1\nc,0,1\nd,0,2\n"
LABELS = "id,kind\na,x\nb,x\nc,y\nd,y\n"
QUICK = ["--set", "epochs=1", "--set", "hidden=4", "--set", "dim=2"]
OWN = ["--edges", "e.csv", "--features", "x.csv", "--labels", "y.csv"]
NPY = ["--edges", "e.csv", "--features", "x.npy"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with the files of a small good graph."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("e.csv", EDGES), ("x.csv", FEATURES), ("y.csv", LABELS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    np.save(tmp_path / "x.npy", np.eye(4, dtype=np.float32))
    return tmp_path


@pytest.fixture
def refused(folder, monkeypatch, capsys):
    """Run a command that must be refused; returns the one line that says why."""

    def call(*arguments):
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        monkeypatch.setattr(sys, "argv", ["brgcl", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            cli.main()
        streams = capsys.readouterr()
        assert exit.value.code == 2, streams.err
        assert streams.out == ""
        lines = streams.err.splitlines()
        assert [line for line in lines if line.startswith("brgcl: ")] == lines[-1:]
        assert "Traceback" not in streams.err
        after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert after == before
        return lines[-1].removeprefix("brgcl: ")

    return call


def test_the_good_graph_is_accepted(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["brgcl", "classify", *OWN, *QUICK, "--json"])
    with pytest.raises(SystemExit) as exit:
        cli.main()
    assert not exit.value.code
    assert '"cv_agreement"' in capsys.readouterr().out


# Files: what is written over a good file, and what the line must say


def matrix(value, dtype=np.float32):
    def write(path):
        np.save(path, np.array(value, dtype=dtype))

    return write


def sparse_nan(path):
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(np.array([[1.0, np.nan], [0, 1]])))


BAD_FILES = {
    # attributes
    "NaN attribute": (
        "x.csv",
        FEATURES.replace("c,0,1", "c,nan,1"),
        OWN,
        "x.csv line 4, column 'f1': the value is missing or NaN",
    ),
    "missing attribute": (
        "x.csv",
        FEATURES.replace("c,0,1", "c,,1"),
        OWN,
        "x.csv line 4, column 'f1'",
    ),
    "infinite attribute": (
        "x.csv",
        FEATURES.replace("c,0,1", "c,inf,1"),
        OWN,
        "x.csv line 4, column 'f1'",
    ),
    "text attribute": ("x.csv", FEATURES.replace("c,0,1", "c,red,1"), OWN, "'red' is not a number"),
    "attribute over two lines": (
        "x.csv",
        FEATURES.replace("c,0,1", 'c,"re\nd",1'),
        OWN,
        "is not a number",
    ),
    "NaN in a matrix": (
        "x.npy",
        matrix([[1, 0], [0, np.nan], [1, 1], [0, 1]]),
        NPY,
        "x.npy row 1, column 1: the value is not finite",
    ),
    "text matrix": ("x.npy", matrix([["a"], ["b"]], str), NPY, "must be a matrix of numbers"),
    "pickled matrix": (
        "x.npy",
        matrix([[{}], [None]], object),
        NPY,
        "cannot be read as a matrix of numbers",
    ),
    "a vector": ("x.npy", matrix([1, 2, 3, 4]), NPY, "must be a matrix of numbers"),
    "NaN in a sparse matrix": (
        "x.npz",
        sparse_nan,
        ["--edges", "e.csv", "--features", "x.npz"],
        "x.npz row 0, column 1",
    ),
    "attributes without columns": (
        "x.csv",
        "id\na\nb\nc\nd\n",
        OWN,
        "no column beside the id 'id'",
    ),
    "an id twice": ("x.csv", FEATURES + "a,1,1\n", OWN, "x.csv line 6: id 'a' is duplicated"),
    # edges
    "edge to nobody": ("e.csv", EDGES + "a,zz\n", OWN, "e.csv line 6: id 'zz' is not in x.csv"),
    "empty id": ("e.csv", EDGES + ",a\n", OWN, "e.csv line 6: the id is empty"),
    "ragged edges": (
        "e.csv",
        EDGES + "a,b,c\n",
        OWN,
        "e.csv line 6: 3 columns where the first row has 2",
    ),
    "one column": ("e.csv", "from\na\n", OWN, "has 1 column but needs 2"),
    "weight below 0": ("e.csv", "from,to,weight\na,b,-1\n", OWN, "weight -1 is not above 0"),
    "fractional id": (
        "e.csv",
        "from,to\n0,1\n1,1.5\n",
        NPY,
        "id '1.5' is not in x.npy; its rows are numbered 0..3",
    ),
    "negative id": (
        "e.csv",
        "from,to\n0,1\n1,-2\n",
        NPY,
        "id '-2' is not in x.npy; its rows are numbered 0..3",
    ),
    "id beyond the matrix": (
        "e.csv",
        "from,to\n0,1\n1,4\n",
        NPY,
        "id '4' is not in x.npy; its rows are numbered 0..3",
    ),
    "empty graph": ("e.csv", "from,to\n", ["--edges", "e.csv"], "the graph has no nodes"),
    "empty file": ("e.csv", "", OWN, "e.csv: the file is empty"),
    # labels
    "label for nobody": ("y.csv", LABELS + "zz,x\n", OWN, "y.csv line 6: id 'zz' is not in x.csv"),
    "two labels for one": (
        "y.csv",
        LABELS + "a,y\n",
        OWN,
        "has label 'x' here and 'y' further down",
    ),
    "no label at all": ("y.csv", "id,kind\na,\nb,\n", OWN, "no node has a label"),
    "a single label in a class": ("y.csv", "id,kind\na,x\nb,x\nc,y\n", OWN, "has a single label"),
    "one class": ("y.csv", "id,kind\na,x\nb,x\n", OWN, "all labels are the same"),
    # unreadable
    "not UTF-8 in the header": (
        "e.csv",
        b"fr\xfcher,to\na,b\n",
        OWN,
        "e.csv line 1: not UTF-8 text",
    ),
    "not UTF-8 below it": ("e.csv", EDGES.encode() + b"\xff\xfe,a\n", OWN, "not UTF-8 text"),
    "truncated Parquet": (
        "e.parquet",
        b"PAR1\x00\x01",
        ["--edges", "e.parquet"],
        "not a complete Parquet file",
    ),
    "truncated gzip": (
        "e.csv.gz",
        gzip.compress(EDGES.encode() * 50)[:-12],
        ["--edges", "e.csv.gz"],
        "cannot be read, is it complete?",
    ),
    "truncated matrix": (
        "x.npy",
        b"\x93NUMPY\x01\x00",
        NPY,
        "cannot be read as a matrix of numbers",
    ),
    "unknown kind of file": (
        "e.xlsx",
        b"PK",
        ["--edges", "e.xlsx"],
        "unknown kind of table '.xlsx'",
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_refused(refused, folder, case):
    name, content, arguments, message = BAD_FILES[case]
    if callable(content):
        content(folder / name)
    else:
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)
    assert message in refused("classify", *arguments, *QUICK, "--out", "run")
    assert not (folder / "run").exists()


def test_labels_are_wanted_by_a_supervised_method_before_it_trains(refused):
    said = refused("classify", *OWN[:4], "--method", "gcn", "--set", "epochs=1000000")
    assert "no node has a label" in said


# Arguments

BAD_ARGUMENTS = {
    "no such file": ("embed --edges absent.csv", "absent.csv: no such file"),
    "a folder for a file": ("embed --edges .", "unknown kind of table"),
    "both": ("embed cora --edges e.csv", "either 'cora' or files"),
    "both, by labels": ("classify demo --labels y.csv", "either 'demo' or files"),
    "neither": ("embed", "no graph given; name a data set (brgcl datasets) or a graph folder"),
    "features alone": ("embed --features x.csv", "no graph given"),
    "unknown data set": (
        "classify citeser",
        "unknown data set 'citeser'; did you mean 'citeseer'?",
    ),
    "unknown method": ("classify demo --method gnc", "unknown method 'gnc'; did you mean 'gcn'?"),
    "unknown setting": (
        "embed demo --set epoch=3",
        "unknown setting 'epoch'; did you mean 'epochs'?",
    ),
    "setting of another method": ("classify demo --method gcn --set xi=1", "unknown setting 'xi'"),
    "setting without a value": ("embed demo --set epochs", "--set takes key=value, got 'epochs'"),
    "setting of a wrong type": (
        "embed demo --set epochs=many",
        "epochs must be an integer of at least 1, got 'many'",
    ),
    "the seed as a setting": ("embed demo --set seed=3", "use --seed"),
    "wrong setting of a baseline": (
        "classify demo --method gcn --set dropout=2",
        "dropout must be",
    ),
    "setting out of range": ("embed demo --set tau=0", "tau must be a number above 0, got 0"),
    "setting that is none": (
        "embed demo --set epochs=none",
        "epochs must be an integer of at least 1, got",
    ),
    "unknown preset": (
        "embed demo --preset papr-literal",
        "unknown preset 'papr-literal'; did you mean 'paper-literal'?",
    ),
    "preset of another method": (
        "classify demo --method gcn --preset cora",
        "presets belong to brgcl",
    ),
    "unknown protocol": (
        "classify demo --protocol noisyval",
        "unknown protocol 'noisyval'; did you mean 'noisy-val'?",
    ),
    "unknown rule": (
        "classify demo --rule centroids",
        "unknown rule 'centroids'; did you mean 'centroid'?",
    ),
    "unknown soft labels": (
        "classify demo --soft-labels soft",
        "unknown soft_labels 'soft'; did you mean 'softmax'?",
    ),
    "unknown label noise": (
        "classify demo --label-noise symetric:0.4",
        "unknown noise 'symetric'; did you mean 'symmetric'?",
    ),
    "label noise on edges": (
        "classify demo --edge-noise symmetric:0.4",
        "unknown noise 'symmetric'",
    ),
    "noise of 1": (
        "classify demo --label-noise symmetric:1",
        "noise level must be in [0, 1), got 1",
    ),
    "noise above 1": (
        "classify demo --attribute-noise cell:40",
        "noise level must be in [0, 1), got 40",
    ),
    "negative noise": (
        "classify demo --edge-noise add:-0.1",
        "noise level must be in [0, 1), got -0.1",
    ),
    "noise that is no number": (
        "classify demo --label-noise pair:nan",
        "noise level must be in [0, 1), got nan",
    ),
    "noise without a level": ("classify demo --label-noise pair", "noise 'pair' has no level"),
    "noise in words": ("classify demo --label-noise pair:half", "noise level 'half'"),
    "noise with a wrong scope": (
        "classify demo --label-noise pair:0.1@train",
        "pair noise takes no scope",
    ),
    "more clusters than nodes": ("cluster --edges e.csv -k 9", "num_clusters must be in 1..4"),
    "output is a file": ("embed demo --out e.csv", "'e.csv' is a file, not a folder"),
    "output is not empty": ("embed demo --out .", "folder '.' is not empty"),
    "configuration is absent": ("embed demo --config absent.toml", "cannot read 'absent.toml'"),
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_a_bad_argument_is_refused(refused, folder, case):
    command, message = BAD_ARGUMENTS[case]
    assert message in refused(*command.split())
    assert not (folder / "run").exists()


BAD_TOML = {
    "broken": ("epochs = = 3", "'c.toml' is not valid TOML"),
    "unknown key": ("epoch = 3", "unknown setting 'epoch'; did you mean 'epochs'?"),
    "a table": ("[brgcl]\nepochs = 3", "unknown setting 'brgcl'"),
    "wrong value": ("epochs = 0", "epochs must be an integer of at least 1, got 0"),
    "not UTF-8": (b"\xff\xfe", "'c.toml' is not UTF-8 text"),
}


@pytest.mark.parametrize("case", BAD_TOML)
def test_a_bad_configuration_is_refused(refused, folder, case):
    content, message = BAD_TOML[case]
    (folder / "c.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert message in refused("embed", "demo", "--config", "c.toml")


def test_debug_shows_the_traceback(folder, monkeypatch):
    from brgcl.errors import InputError

    monkeypatch.setattr(sys, "argv", ["brgcl", "classify", "citeser", "--debug"])
    with pytest.raises(InputError):
        cli.main()


def test_an_error_of_our_own_is_told_from_wrong_input(folder, monkeypatch, capsys):
    def broken(*arguments, **options):
        raise RuntimeError("out of\nluck")

    monkeypatch.setattr("brgcl.evaluation.evaluate.draw_noisy_graph", broken)
    monkeypatch.setattr(sys, "argv", ["brgcl", "classify", *OWN, *QUICK])
    with pytest.raises(SystemExit) as exit:
        cli.main()
    assert exit.value.code == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "brgcl: failed, RuntimeError: out of luck (--debug shows where)"


def test_a_process_of_its_own_prints_one_line_and_nothing_else(folder):
    done = subprocess.run(
        [sys.executable, "-m", "brgcl", "classify", "citeser"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("brgcl: unknown data set 'citeser'; did you mean 'citeseer'?")
