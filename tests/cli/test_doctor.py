import json

import pytest

from brgcl.cli import doctor


def checks(run, *arguments):
    code, out, _ = run("doctor", *arguments, "--json")
    found = json.loads(out)
    return code, {check["what"]: check for check in found["checks"]}


def test_a_working_installation(run):
    code, found = checks(run)
    assert code == 0
    assert found["packages"]["state"] == "ok"
    assert "torch" in found["packages"]["found"]
    assert {"report", "review", "public graphs", "threads", "disk", "browser"} <= found.keys()
    assert all(check["remedy"] for check in found.values() if check["state"] != "ok")
    assert "Everything that brgcl always needs" in run("doctor")[1]


def test_what_is_missing_is_named_with_its_remedy(run, monkeypatch):
    known = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "jinja2" else known(name))
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    code, found = checks(run)
    assert code == 0
    assert found["report"] == {
        "what": "report",
        "state": "missing",
        "found": "no jinja2: HTML reports with a map of the nodes",
        "remedy": "pip install 'brgcl[report]'",
    }
    assert found["browser"]["state"] == "missing"


def test_a_missing_requirement_is_broken(run, monkeypatch):
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "scipy" else "1")
    code, found = checks(run)
    assert code == 1
    assert found["packages"]["state"] == "broken"
    assert "scipy" in found["packages"]["found"]


def test_a_data_folder_that_is_not_there_is_broken(run, monkeypatch, tmp_path):
    monkeypatch.setenv("BRGCL_DATA", str(tmp_path / "nowhere"))
    code, found = checks(run)
    assert code == 1
    assert found["BRGCL_DATA"]["state"] == "broken"


def test_every_extra_of_the_package_is_explained():
    from importlib.metadata import metadata

    assert set(metadata("brgcl").get_all("Provides-Extra")) == set(doctor.EXTRAS)


@pytest.mark.parametrize(("extra", "package"), [("", "torch"), ("review", "starlette")])
def test_needed(extra, package):
    assert package in doctor.needed(extra)
