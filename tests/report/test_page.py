import base64
import hashlib
import importlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from brgcl.errors import InputError
from brgcl.report.page import SCRIPTS, STYLES, flat, read_static, write_page

pytest.importorskip("jinja2")
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</script><script>alert(3)</script>",
    "{{ 7 * 7 }}",
    "a\u2028b\u0000<!--",
)


class Reader(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.scripts, self.inside = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside in ("script", "style"):
            self.scripts.append((self.tags[-1][1], data))
        else:
            self.texts.append(" ".join(data.split()))


def read(page):
    return Reader(page.read_text(encoding="utf-8"))


def data_of(page):
    return json.loads(next(text for a, text in read(page).scripts if a.get("id") == "data"))


def policy_of(reader):
    return next(a["content"] for _, a in reader.tags if "http-equiv" in a)


def unpack(packed):
    return np.frombuffer(base64.b64decode(packed["base64"]), dtype=f"<{packed['dtype']}")


def test_hostile_names_and_ids_are_text(make_run):
    ids = [f"{i} {HOSTILE[i % 5]}" for i in range(60)]
    page = write_page(make_run(HOSTILE, ids))
    reader = read(page)
    assert [tag for tag, _ in reader.tags].count("script") == len(SCRIPTS) + 1
    assert "img" not in {tag for tag, _ in reader.tags}
    assert not any(name.startswith("on") for _, a in reader.tags for name in a)
    assert f"Labels of {HOSTILE[0]}" in reader.texts
    assert HOSTILE[3] in " ".join(reader.texts)  # not computed
    data = data_of(page)
    assert data["class_names"] == list(HOSTILE)
    assert data["nodes"]["ids"] == ids


def test_the_page_asks_nothing_of_the_network(make_run):
    reader = read(write_page(make_run()))
    addresses = [a[k] for _, a in reader.tags for k in ("src", "href", "action") if k in a]
    assert set(addresses) == {"data:,", "#suspects"}
    policy = policy_of(reader)
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_policy_allows_exactly_what_is_in_the_page(make_run):
    reader = read(write_page(make_run()))
    allowed = re.findall(r"'sha256-([^']+)'", policy_of(reader))
    runs = [text for a, text in reader.scripts if a.get("type") != "application/json"]
    found = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in runs]
    assert sorted(found) == sorted(allowed)
    assert len(found) == len(SCRIPTS) + len(STYLES)


@pytest.mark.parametrize("name", [*SCRIPTS, *STYLES])
def test_no_static_file_ends_its_element_or_calls_out(name):
    text = read_static(name).replace("http://www.w3.org/2000/svg", "")  # a name, no address
    assert not re.search(r"</(script|style)|<!--", text, re.IGNORECASE)
    assert not re.search(r"\bfetch\(|XMLHttp|WebSocket|\beval\(|innerHTML|@import|https?:", text)


def test_a_page_repeats(make_run, tmp_path):
    run = make_run()
    assert write_page(run).read_bytes() == write_page(run, tmp_path / "b.html").read_bytes()


def test_columns_of_the_page_are_those_of_the_run(make_run):
    run = make_run()
    data, nodes = data_of(write_page(run)), pd.read_parquet(run / "nodes.parquet")
    given = next(label for label in data["nodes"]["labels"] if label["name"] == "given")
    names = [data["class_names"][code] for code in unpack(given["codes"])]
    assert names == nodes["label_given"].tolist()
    assert unpack(data["nodes"]["cluster"]).tolist() == nodes["cluster"].tolist()
    confidence = unpack(data["nodes"]["confidence"]) / 65534
    np.testing.assert_allclose(confidence, nodes["confidence"], atol=1e-5)
    assert data["nodes"]["ids"] is None  # they are 0, 1, 2, ...
    suspects = pd.read_parquet(run / "suspects.parquet")
    assert unpack(data["table"]["node"]).tolist() == suspects["node"].tolist()
    assert data["table"]["evidence"] == suspects["evidence"].tolist()


def test_places_keep_their_shape(make_run):
    run = make_run()
    packed, nodes = data_of(write_page(run))["nodes"], pd.read_parquet(run / "nodes.parquet")
    steps = np.stack([unpack(packed["x"]), unpack(packed["y"])], axis=1).astype(float)
    assert steps[0].tolist() == [65535, 65535]  # not placed
    places = nodes[["map_x", "map_y"]].to_numpy()[1:]
    unit = np.ptp(places, axis=0).max() / 65534  # one for both axes
    np.testing.assert_allclose(steps[1:] * unit + places.min(axis=0), places, atol=unit)


def test_the_first_sentences_say_what_counts(make_run):
    page = write_page(make_run())
    texts = read(page).texts
    assert "95\u00a0% interval" in page.read_text("utf-8")  # never on two lines
    said = " ".join(" ".join(texts).split())
    assert "8 labels look wrong, out of 60 judged labels." in said
    assert (
        "17.0 % of all labels, about 10, are estimated to be wrong (95 % interval 10.0 to 25.0 %). "
        "8 labels are flagged; about 5.0 % of them are expected to be right."
    ) in said
    assert any(text.startswith("brgcl review ") for text in texts)
    assert "The label red is noisy." in texts
    assert "Classes with too few labels to judge: blue." in texts


PARTS = ("edges.parquet", "suspects.parquet", "findings.json", "history.json", "metrics.json")


@pytest.mark.parametrize("without", [*[(part,) for part in PARTS], PARTS], ids=str)
def test_a_page_shows_what_there_is(make_run, without):
    data = data_of(write_page(make_run(without=without)))
    assert (data["edges"] is None) == ("edges.parquet" in without)
    assert (data["table"] is None) == ("suspects.parquet" in without)
    assert (data["transition"] is None) == ("findings.json" in without)
    assert (data["history"] == {}) == ("history.json" in without)
    assert len(data["clusters"]) == 3


@pytest.mark.parametrize("without", ["nodes.parquet", "run.json"])
def test_a_folder_without_a_run_is_refused(make_run, without):
    with pytest.raises(InputError, match=f"has no {without}, so it is not a run"):
        write_page(make_run(without=[without]))


@pytest.mark.parametrize("name", ["nodes.parquet", "findings.json", "history.json"])
def test_a_damaged_file_is_named(make_run, name):
    run = make_run()
    (run / name).write_text('{"a": ', encoding="utf-8")
    with pytest.raises(InputError, match=rf"{name}' is damaged .*run the command again"):
        write_page(run)
    assert not (run / "report.html").exists()


def test_nothing_is_written_when_a_package_is_missing(make_run, monkeypatch):
    def absent(name):
        raise ImportError(name)

    run = make_run()
    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(InputError, match=r"reports need jinja2; pip install 'brgcl\[report\]'"):
        write_page(run)
    assert not (run / "report.html").exists()


def test_nested_values_become_a_flat_list():
    values = {"a": {"b": {"c": 1.23456789}}, "d": [1, None], "e": "x"}
    assert list(flat(values)) == [("a: b: c", "1.235"), ("d", "1, \u2013"), ("e", "x")]
