import json

import pytest

pytest.importorskip("jinja2")


def test_the_page_is_written_and_its_place_is_said(run, make_run):
    folder = make_run()
    code, out, _ = run("report", folder)
    assert code == 0
    assert out.startswith(f"Report: {folder / 'report.html'} (0.")
    assert (folder / "report.html").is_file()
    assert "brgcl review" in out


def test_only_a_run_with_suspects_is_said_to_have_a_review(run, make_run):
    folder = make_run(without=["suspects.parquet"])
    code, out, err = run("report", folder)
    assert code == 0, err
    assert "review" not in out


def test_the_place_of_the_page_is_chosen_and_nothing_is_overwritten(run, make_run, tmp_path):
    folder, page = make_run(), tmp_path / "page.html"
    code, out, _ = run("report", folder, "--out", page, "--json")
    assert code == 0
    assert json.loads(out) == {"report": str(page), "bytes": page.stat().st_size}
    assert not (folder / "report.html").exists()
    code, _, err = run("report", folder, "--out", page)
    assert code == 2
    assert "page.html' already exists" in err
    assert run("report", folder, "--out", page, "--overwrite")[0] == 0


def test_a_folder_that_is_no_run_is_refused(run, tmp_path):
    code, _, err = run("report", tmp_path)
    assert code == 2
    assert "has no run" in err


def test_a_page_written_anew_belongs_to_the_run(run, own, tmp_path):
    """The next command with --overwrite replaces it; a page of somebody else is not touched."""
    quick = ["--set", "epochs=2", "--set", "hidden=8", "--set", "dim=8", "--out", tmp_path / "run"]
    assert run("embed", *own(), *quick)[0] == 0
    page = tmp_path / "run" / "report.html"
    about = tmp_path / "run" / "run.json"
    told = json.loads(about.read_text(encoding="utf-8"))
    told["title"] = "Changed"
    about.write_text(json.dumps(told), encoding="utf-8")
    assert run("report", tmp_path / "run")[0] == 0
    assert "<h1>Changed</h1>" in page.read_text(encoding="utf-8")
    assert run("report", tmp_path / "run", "--out", page)[0] == 0  # the same place
    assert run("embed", *own(), *quick, "--overwrite")[0] == 0
    told = json.loads(about.read_text(encoding="utf-8"))
    del told["files"]["report.html"]
    about.write_text(json.dumps(told), encoding="utf-8")
    code, _, err = run("report", tmp_path / "run")
    assert code == 2
    assert "report.html' was not written by brgcl" in err
