import pytest

from brgcl.report.page import write_page
from report_speed import write_run

pytest.importorskip("jinja2")


def test_the_generated_run_has_a_report(tmp_path):
    page = write_page(write_run(tmp_path / "run", 200)).read_text(encoding="utf-8")
    assert "A large graph" in page
    assert "out of 200 judged labels" in page
