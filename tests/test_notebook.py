"""What notebooks show of models and results is a table, and never markup of the data's."""

from html.parser import HTMLParser

import numpy as np
import pytest

import brgcl
from brgcl.notebook import ROWS, html_table

HOSTILE = "<script>alert('x')</script>", '"><img src=x onerror=alert(1)>', "a & b"


class Cells(HTMLParser):
    """Tags and texts of a piece of HTML."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.texts = set(), []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        assert not attributes
        self.tags.add(tag)

    def handle_data(self, text):
        self.texts.append(text)


@pytest.fixture(scope="module")
def graph():
    return brgcl.make_graph(num_nodes=120, num_classes=3, num_features=40, labels_per_class=10)


@pytest.fixture(scope="module")
def model(graph):
    return brgcl.BRGCL(epochs=3, hidden=16, dim=8, warmup_epochs=1).fit(graph)


@pytest.mark.parametrize("text", HOSTILE)
def test_cells_title_and_header_are_text(text):
    shown = Cells(html_table([[text, [text]]], title=text, header=[text, "b"]))
    assert shown.tags == {"p", "table", "tr", "th", "td"}
    assert shown.texts == [text, text, "b", text, text]


def test_a_model_shows_settings_that_differ_and_what_it_found(model):
    shown = Cells(model._repr_html_())
    assert shown.texts[0] == f"{model!r}, fitted"
    found = dict(zip(shown.texts[1::2], shown.texts[2::2], strict=True))
    assert found["nodes"] == "120"
    assert found["clusters"] == str(model.num_clusters_)
    assert found["epochs"] == "3"
    assert float(found["effective rank"]) == pytest.approx(
        model.history_[-1].effective_rank, rel=0.01
    )


def test_a_model_that_is_not_fitted_says_so():
    assert Cells(brgcl.BRGCL(tau=0.2)._repr_html_()).texts == ["BRGCL(tau=0.2), not fitted"]


def test_an_evaluation_shows_its_summary(graph):
    ran = brgcl.evaluate(graph, "smooth", noise="symmetric:0.2", seeds=2)
    texts = Cells(ran._repr_html_()).texts
    assert texts[0] == f"smooth on {ran.dataset}, clean-val"
    found = dict(zip(texts[1::2], texts[2::2], strict=True))
    assert float(found["accuracy_mean"]) == pytest.approx(ran.summary()["accuracy_mean"], abs=0.001)
    assert found["n"] == "2"


def test_label_errors_show_what_was_found_and_the_first_rows(graph, model, folds_once):
    graph = graph.clone()
    graph.class_names = [f"<script>{name}" for name in HOSTILE]
    found = brgcl.judge_labels(model.transform(graph), graph.y, graph=graph)
    shown = Cells(found._repr_html_())
    assert shown.tags == {"p", "table", "tr", "th", "td"}
    called = int(found.frame["is_error"].sum())
    assert shown.texts[0].startswith(f"{called} of 120 labels look wrong. An estimated ")
    assert "&lt;script&gt;" in found._repr_html_()  # the names are shown
    cells = shown.texts[6:]
    assert cells[0::5] == [str(node) for node in found.frame["node"].head(ROWS)]
    assert cells[1::5] == [str(name) for name in found.frame["given"].head(ROWS)]
    assert np.allclose([float(s) for s in cells[3::5]], found.frame["score"].head(ROWS), rtol=0.01)
