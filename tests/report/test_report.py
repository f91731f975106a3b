import re
from html.parser import HTMLParser

import pytest
import torch

from brgcl.errors import InputError
from brgcl.method.train import Epoch
from brgcl.report.figures import draw_cluster_number, draw_history, draw_map
from brgcl.report.report import Picture, Report, Table, has_report_extra, write_report
from brgcl.tasks.number_of_clusters import number_of_clusters

pytestmark = pytest.mark.skipif(not has_report_extra(), reason="needs the report extra")

PNG = b"\x89PNG\r\n\x1a\n"
NASTY = '<script>alert("1")</script>&'


class Reader(HTMLParser):
    """Collects tags and text of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.texts = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, text):
        self.texts.append(text.strip())


def read(path):
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader


def test_every_text_is_escaped(tmp_path):
    page = Report(
        title=NASTY,
        summary=[NASTY],
        tables=[Table(NASTY, [NASTY], [[NASTY]], NASTY)],
        pictures=[Picture(NASTY + '" onload="x', PNG, NASTY)],
        settings={NASTY: NASTY},
    )
    write_report(tmp_path / "report.html", page, "1")
    reader = read(tmp_path / "report.html")
    assert "script" not in {tag for tag, _ in reader.tags}
    assert not any("onload" in attributes for _, attributes in reader.tags)
    # title, heading, sentence, 4 of the table, heading and note of the picture
    assert reader.texts.count(NASTY) == 8
    assert "<script>" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_page_needs_nothing_else(tmp_path):
    page = Report("A", [], pictures=[Picture("P", PNG)])
    write_report(tmp_path / "report.html", page, "1")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|<link|@import|<script", text)
    sources = [a["src"] for tag, a in read(tmp_path / "report.html").tags if tag == "img"]
    assert sources == ["data:image/png;base64,iVBORw0KGgo="]


def test_tables_come_in_order_with_their_cells(tmp_path):
    tables = [Table("One", ["a", "b"], [["1", "2"], ["3", "4"]], "why"), Table("Two", ["c"], [])]
    write_report(tmp_path / "r.html", Report("T", ["Said."], tables), "9.9")
    texts = [text for text in read(tmp_path / "r.html").texts if text]
    start = texts.index("Said.")
    assert texts[start:] == [
        "Said.", "One", "a", "b", "1", "2", "3", "4", "why", "Two", "c", "Made by brgcl 9.9.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "z",
    [
        torch.eye(2),
        torch.randn(7, 3, generator=torch.Generator().manual_seed(0)),
        torch.linspace(-1, 1, 9)[:, None],
        torch.ones(12, 4),
        torch.zeros(12, 4),
    ],
    ids=["two nodes", "seven nodes", "one column", "all the same", "all zero"],
)
def test_a_map_is_drawn_of_the_oddest_representations(z):
    N = len(z)
    groups = torch.arange(N) % 3 - 1
    picture = draw_map(z, torch.full((N,), 0.5), groups, "class")
    assert picture.png.startswith(PNG)


def test_a_map_repeats():
    z = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
    arguments = (z, torch.rand(40), torch.arange(40) % 2, "class")
    assert draw_map(*arguments).png == draw_map(*arguments).png


def test_history_is_drawn_with_and_without_prototypes():
    warm = [Epoch(t, 7.0 - t, 7.0 - t, None, None, None, 0.9, 0.1) for t in (1, 2)]
    late = [Epoch(t, 4.0, 3.5, 1.5, 5, 0.8, 0.8, 0.1) for t in (3, 4)]
    assert draw_history(warm).png.startswith(PNG)
    assert draw_history(warm + late).png.startswith(PNG)


@pytest.mark.parametrize("stability", [False, True])
def test_the_number_of_clusters_is_drawn_over_the_price(stability):
    found = number_of_clusters(
        torch.eye(5).repeat(20, 1), prices=(0.1, 0.03, 0.01), stability=stability
    )
    picture = draw_cluster_number(found)
    assert picture.png.startswith(PNG)
    assert "5 clusters" in picture.note


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch, tmp_path):
    import importlib

    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    assert not has_report_extra()
    with pytest.raises(InputError, match=r"reports need jinja2; pip install 'brgcl\[report\]'"):
        write_report(tmp_path / "r.html", Report("A", []), "1")
    assert list(tmp_path.iterdir()) == []
