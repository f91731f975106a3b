"""A run folder is taken before training; only files that brgcl wrote are replaced."""

import json
import subprocess
import sys
import time
from hashlib import sha256

import pytest

import brgcl
from brgcl.atomic_files import write_text
from brgcl.cli import run_folder
from brgcl.cli.run_folder import claim_file, claim_folder, tell_unfinished, write_anew
from brgcl.errors import InputError

TINY = ("epochs=2", "hidden=16", "dim=8", "warmup_epochs=1", "reported=prototypes")
QUICK = [part for text in TINY for part in ("--set", text)]


def put(folder, text="new"):
    folder.write("metrics.json", write_text, text)


def about(path):
    return json.loads((path / "run.json").read_text(encoding="utf-8"))


def test_overwrite_leaves_files_that_brgcl_did_not_write(run, own, tmp_path):
    """Defect 1: --overwrite deleted a foreign file in model/ and a foreign report."""
    out = tmp_path / "mine"
    arguments = ["classify", *own(), *QUICK, "--rule", "centroid", "--out", out]
    assert run(*arguments)[0] == 0
    (out / "model" / "thesis.docx").write_text("years of work")
    (out / "notes.txt").write_text("mine")
    before = about(out)["started"], (out / "metrics.json").stat().st_mtime_ns
    code, _, err = run(*arguments, "--overwrite")
    assert code == 0, err
    assert (out / "model" / "thesis.docx").read_text() == "years of work"
    assert (out / "notes.txt").read_text() == "mine"
    assert (out / "metrics.json").stat().st_mtime_ns != before[1]
    # a method without a model: the old model goes, the foreign file beside it stays
    code, _, err = run(
        "classify", *own(), "--method", "gcn", "--set", "epochs=2", "--out", out, "--overwrite"
    )
    assert code == 0, err
    assert [path.name for path in (out / "model").iterdir()] == ["thesis.docx"]


def test_a_foreign_file_under_the_name_of_a_result_is_an_error(run, own, no_training, tmp_path):
    """Defect 1: a report that brgcl had not written was replaced."""
    (tmp_path / "report.html").write_text("mine")
    code, _, err = run("classify", *own(), *QUICK, "--out", tmp_path, "--overwrite")
    assert code == 2
    assert "report.html' was not written by brgcl and would be replaced" in err
    assert (tmp_path / "report.html").read_text() == "mine"


def test_links_are_not_written_through(tmp_path):
    """Defect 1: a symlinked model/ was written through."""
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    elsewhere.mkdir()
    (elsewhere / "model.safetensors").write_text("precious")
    out.mkdir()
    (out / "model").symlink_to(elsewhere)
    with (
        pytest.raises(InputError, match=r"model' is a link and would be replaced"),
        claim_folder(out, overwrite=True),
    ):
        pytest.fail("the folder was taken")
    assert (elsewhere / "model.safetensors").read_text() == "precious"


def test_a_result_that_was_edited_is_not_replaced(tmp_path):
    with claim_folder(tmp_path / "out", overwrite=False) as folder:
        put(folder)
    (tmp_path / "out" / "metrics.json").write_text("edited")
    with (
        pytest.raises(InputError, match=r"metrics.json' was changed and would be replaced"),
        claim_folder(tmp_path / "out", overwrite=True),
    ):
        pytest.fail("the folder was taken")


def test_two_commands_cannot_share_a_folder(tmp_path):
    """Defect 2: of two runs into one folder the slower overwrote the faster."""
    out = tmp_path / "two"
    program = (
        "import sys\nfrom pathlib import Path\nfrom brgcl.cli.run_folder import claim_folder\n"
        "with claim_folder(Path(sys.argv[1]), overwrite=False) as folder:\n"
        "    print('taken', flush=True)\n    sys.stdin.read()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program, out], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert other.stdout.readline() == b"taken\n"
        for overwrite in (False, True):
            with (
                pytest.raises(InputError, match=r"another command is writing into '.*two'"),
                claim_folder(out, overwrite=overwrite),
            ):
                pytest.fail("the folder was taken twice")
        other.kill()  # the system frees the lock
        other.wait()
        with claim_folder(out, overwrite=False) as folder:
            put(folder)
    finally:
        other.kill()
        other.communicate()
    assert {path.name for path in out.iterdir()} == {"metrics.json", "run.json"}


def test_a_finished_run_is_not_replaced_unasked(tmp_path):
    """Defect 2: without --overwrite a finished run stays."""
    with claim_folder(tmp_path / "out", overwrite=False) as folder:
        put(folder, text="first")
    with (
        pytest.raises(InputError, match="is not empty; give another --out or add --overwrite"),
        claim_folder(tmp_path / "out", overwrite=False),
    ):
        pytest.fail("the folder was taken")
    assert (tmp_path / "out" / "metrics.json").read_text() == "first"


def test_a_run_that_fails_before_it_writes_leaves_nothing(tmp_path):
    with (
        pytest.raises(KeyboardInterrupt),
        claim_folder(tmp_path / "a" / "b", overwrite=False),
    ):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_failed_run_leaves_the_run_before_as_it_was(tmp_path):
    with claim_folder(tmp_path / "out", overwrite=False) as folder:
        put(folder, text="first")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(OSError, match="full"), claim_folder(tmp_path / "out", overwrite=True):
        raise OSError("full")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_a_run_that_fails_while_it_writes_says_what_is_there(tmp_path, capsys):
    out = tmp_path / "out"

    def fail():
        with claim_folder(out, overwrite=False) as folder:
            put(folder)
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert "has an unfinished run: metrics.json" in capsys.readouterr().err
    assert about(out)["state"] == "unfinished"
    tell_unfinished(out)
    assert "whose files may not belong together" in capsys.readouterr().err
    with claim_folder(out, overwrite=True) as folder:
        put(folder)
    assert about(out)["state"] == "finished"
    tell_unfinished(out)
    assert capsys.readouterr().err == ""


def test_run_json_says_how_the_run_was_made(run, own, files, tmp_path):
    """Defect 44: seed, protocol, settings, versions and inputs were nowhere."""
    out = tmp_path / "run"
    code, _, err = run(
        "classify", *own(), *QUICK, "--rule", "centroid", "--seed", 3, "--seeds", 2,
        "--protocol", "no-val", "--edge-noise", "add:0.1", "--out", out,
    )  # fmt: skip
    assert code == 0, err
    found = about(out)
    assert found["state"] == "finished"
    assert found["brgcl"] == brgcl.__version__ == found["versions"]["brgcl"]
    assert found["command"][:2] == ["brgcl", "classify"]
    assert (found["seeds"], found["protocol"]) == ([3, 4], "no-val")
    assert found["noise"] == {"labels": None, "attributes": None, "edges": "add:0.1"}
    assert (found["method"], found["settings"]["dim"]) == ("brgcl", 8)
    assert found["classifier"]["rule"] == "centroid"
    assert found["processor"]
    edges = found["inputs"]["edges"]
    assert edges["sha256"] == sha256((files / "links.csv").read_bytes()).hexdigest()
    for name, checksum in found["files"].items():
        assert checksum == sha256((out / name).read_bytes()).hexdigest(), name


def test_run_json_of_a_data_set_has_a_fingerprint(run, small, tmp_path):
    assert run("embed", "cora", *QUICK, "--out", tmp_path / "run")[0] == 0
    found = about(tmp_path / "run")
    assert found["inputs"]["dataset"] == "cora"
    assert len(found["inputs"]["fingerprint"]) == 16
    assert found["seed"] == 0


@pytest.mark.parametrize("command", ["embed", "classify", "cluster"])
@pytest.mark.parametrize("out", ["file", "file/sub", "/proc/nope/sub"])
def test_a_folder_that_cannot_be_written_is_found_before_training(
    run, own, no_training, tmp_path, command, out
):
    """Defect 20: an impossible --out was noticed after training."""
    (tmp_path / "file").write_text("mine")
    code, _, err = run(command, *own(), *QUICK, "--out", tmp_path / out)
    assert code == 2
    assert "give another --out" in err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_is_found_before_training(run, own, no_training, tmp_path, monkeypatch):
    """Defect 20: a full disk was noticed after training."""
    usage = run_folder.shutil.disk_usage(tmp_path)._replace(free=2**20)
    monkeypatch.setattr(run_folder.shutil, "disk_usage", lambda path: usage)
    code, _, err = run("embed", *own(), *QUICK, "--out", tmp_path / "run")
    assert code == 2
    assert "1 MB of free disk" in err
    assert not (tmp_path / "run").exists()


def test_a_demo_into_a_file_is_found_before_training(run, no_training, tmp_path):
    """Defect 20: `demo --out FILE` was noticed after training."""
    (tmp_path / "file").write_text("mine")
    code, _, err = run("demo", *QUICK, "--out", tmp_path / "file")
    assert code == 2
    assert "is a file, not a folder" in err


def test_a_demo_replaces_a_demo_but_no_other_run(run, own, small, folds_once, tmp_path):
    assert run("demo", "--seeds", 1, *QUICK, "--out", tmp_path / "shown")[0] == 0
    (tmp_path / "shown" / "notes.txt").write_text("mine")
    assert run("demo", "--seeds", 1, *QUICK, "--out", tmp_path / "shown")[0] == 0
    assert (tmp_path / "shown" / "notes.txt").read_text() == "mine"
    assert run("embed", *own(), *QUICK, "--out", tmp_path / "run")[0] == 0
    code, _, err = run("demo", "--seeds", 1, *QUICK, "--out", tmp_path / "run")
    assert code == 2
    assert "is not empty" in err
    assert (tmp_path / "run" / "embeddings.parquet").exists()


def test_a_file_is_checked_before_it_is_written(tmp_path):
    claim_file(tmp_path / "new" / "file.toml", overwrite=False)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old").write_text("mine")
    with pytest.raises(InputError, match="already exists"):
        claim_file(tmp_path / "old", overwrite=False)
    with pytest.raises(InputError, match="is a folder"):
        claim_file(tmp_path, overwrite=True)
    with pytest.raises(InputError, match="cannot write"):
        claim_file(tmp_path / "old" / "file.toml", overwrite=True)


@pytest.mark.parametrize("name", ["run.json", "suspects.csv", "model/config.json"])
def test_a_file_of_a_run_is_not_replaced(tmp_path, name):
    claim_file(tmp_path / name, overwrite=True)
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InputError, match="is a file of a run"):
        claim_file(tmp_path / name, overwrite=True)
    claim_file(tmp_path / "mine.csv", overwrite=True)


@pytest.mark.parametrize("name", ["review.sqlite", "review.sqlite-wal"])
def test_decisions_are_not_replaced_wherever_they_are(tmp_path, name):
    with pytest.raises(InputError, match="is a file of a run"):
        claim_file(tmp_path / name, overwrite=True)


def test_time_is_written_in_utc(tmp_path):
    with claim_folder(tmp_path / "out", overwrite=False) as folder:
        put(folder)
    started = about(tmp_path / "out")["started"]
    assert started.endswith("+00:00")
    assert started[:4] == str(time.gmtime().tm_year)


def test_decisions_of_a_review_are_not_left_beside_another_run(tmp_path):
    """A rerun into the folder would make decisions look as if they were about its suspects."""
    out = tmp_path / "out"
    with claim_folder(out, overwrite=False) as folder:
        put(folder, text="first")
    (out / "review.sqlite").write_text("decided")
    with (
        pytest.raises(InputError, match=r"review.sqlite' has decisions about the run"),
        claim_folder(out, overwrite=True),
    ):
        pytest.fail("the folder was taken")
    assert (out / "metrics.json").read_text() == "first"
    with claim_folder(out, overwrite=True, reviewed=True) as folder:
        put(folder, text="second")
    assert (out / "metrics.json").read_text() == "second"
    assert (out / "review.sqlite").read_text() == "decided"


def test_files_of_a_search_for_errors_go_with_the_next_run(tmp_path):
    out = tmp_path / "out"
    with claim_folder(out, overwrite=False) as folder:
        for name in ("suspects.csv", "findings.json"):
            folder.write(name, write_text, "old")
    with claim_folder(out, overwrite=True) as folder:
        put(folder)
    assert {path.name for path in out.iterdir()} == {"metrics.json", "run.json"}
    (out / "suspects.csv").write_text("mine")
    with (
        pytest.raises(InputError, match=r"suspects.csv' was not written by brgcl"),
        claim_folder(out, overwrite=True),
    ):
        pytest.fail("the folder was taken")


def test_a_file_of_a_run_is_written_anew(tmp_path):
    """A report that was made again is still a file of the run."""
    out = tmp_path / "out"
    with claim_folder(out, overwrite=False) as folder:
        put(folder)
    write_anew(out, "report.html", lambda path: write_text(path, "page"))
    write_anew(out, "report.html", lambda path: write_text(path, "a better page"))
    assert about(out)["state"] == "finished"
    with claim_folder(out, overwrite=True) as folder:
        put(folder)
    assert not (out / "report.html").exists()
    (out / "report.html").write_text("mine")
    with pytest.raises(InputError, match=r"report.html' was not written by brgcl"):
        write_anew(out, "report.html", lambda path: write_text(path, "page"))
    assert (out / "report.html").read_text() == "mine"
    assert {path.name for path in out.iterdir()} == {"metrics.json", "report.html", "run.json"}


def test_nothing_is_written_anew_where_there_is_no_run(tmp_path):
    with pytest.raises(InputError, match="has no run"):
        write_anew(tmp_path, "report.html", lambda path: write_text(path, "page"))
    assert list(tmp_path.iterdir()) == []
