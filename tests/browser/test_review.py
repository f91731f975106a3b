"""The review page in a browser, on run folders made by hand."""

import contextlib
import json
import re
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd
import pytest

from run_folders import write_run

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
uvicorn = pytest.importorskip("uvicorn")

from playwright.sync_api import expect  # noqa: E402

from brgcl.review.address import take_address  # noqa: E402
from brgcl.review.content import read_content  # noqa: E402
from brgcl.review.decisions import Choice, Decisions, read_decisions  # noqa: E402
from brgcl.review.server import make_app  # noqa: E402
from brgcl.review.session import Session  # noqa: E402

HOSTILE = [
    "<script>window.hacked = 1</script>", "<img src=x onerror='window.hacked = 1'>",
    "\"><svg onload=alert(1)>", "{{7*7}} & ${1}",
]  # fmt: skip


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run")


@pytest.fixture
def serve(page):
    """A function that serves a run in this process; returns the address of the page.

    Pages ask for news all the time, so they are closed before their servers: a request that nobody
    answers would be an error on the console.
    """
    ends = []

    def start(run, who="ann"):
        content = read_content(run)
        session = Session(content, Decisions(run, fingerprint=content.fingerprint), who)
        address = take_address(run)
        app = make_app(session, token=address.token, port=address.port)
        server = uvicorn.Server(
            uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
        )
        thread = threading.Thread(target=server.run, args=[[address.listening]])
        thread.start()
        ends.append((server, thread, address, session))
        return address.url

    yield start
    page.context.close()
    for server, thread, address, session in ends:
        server.should_exit = True
        thread.join()
        address.forget()
        session.decisions.close()


class Process:
    """The server as users start it: a process of its own."""

    def __init__(self, run):
        command = [sys.executable, "-m", "brgcl", "review", str(run), "--no-browser", "--json"]
        self.process = subprocess.Popen(
            [*command, "--who", "ann"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        said = ""
        while not said.endswith("}\n"):
            said += self.process.stdout.readline()
        self.url = json.loads(said)["url"]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


def open_page(page, url):
    page.goto(url)
    expect(page.locator("#node-id")).not_to_be_empty()


def press(page, key):
    """Press a key that decides; returns the node, when the next one is shown."""
    node = page.inner_text("#node-id")
    page.keyboard.press(key)
    expect(page.locator("#node-id")).not_to_have_text(node)
    return node


def forgive(page, text):
    """The browser itself writes failed requests to the console."""
    page.complaints[:] = [line for line in page.complaints if text not in line]


def test_twenty_decisions_with_a_killed_server_in_the_middle(page, run):
    server = Process(run)
    expected = {}
    suspects = pd.read_parquet(run / "suspects.parquet").set_index("node")
    try:
        open_page(page, server.url)
        for key in "aakaaakaak":  # the tenth is a random one, of which nothing is suggested
            if len(expected) == 9:
                page.keyboard.press("a")
                expect(page.locator("#saved")).to_contain_text("nothing to accept")
            node = press(page, key)
            expected[node] = suspects["given" if key == "k" else "suggested"][node]
        server.kill()
        node = page.inner_text("#node-id")
        page.keyboard.press("a")
        expect(page.locator("#notice")).to_contain_text("Not saved: the server does not answer")
        expect(page.locator("#saved")).to_have_text("not saved")
        assert page.inner_text("#node-id") == node
        assert len(read_decisions(run)) == 10

        server = Process(run)  # the same command: the page finds it again
        page.keyboard.press("r")
        expect(page.locator("#notice")).to_be_hidden()
        expect(page.locator("#node-id")).not_to_have_text(node)
        expected[node] = suspects["suggested"][node]
        for key in "akaaaa":
            node = press(page, key)
            expected[node] = suspects["given" if key == "k" else "suggested"][node]
        while len(expected) < 20:  # the classes have fixed numbers
            node = press(page, "4")
            expected[node] = "robotics"
        found = read_decisions(run)
        assert dict(zip(found["node"], found["label"], strict=True)) == expected
        assert set(found["who"]) == {"ann"}

        page.keyboard.press("u")
        expect(page.locator("#node-id")).to_have_text(node)
        page.keyboard.press("Control+z")
        expect(page.locator("#node-id")).not_to_have_text(node)
        assert len(read_decisions(run)) == 18
    finally:
        page.context.close()
        server.kill()
    forgive(page, "ERR_CONNECTION_REFUSED")


def test_many_are_accepted_at_once_and_exported(page, run, serve):
    open_page(page, serve(run))
    kept = press(page, "k")
    skipped = press(page, "s")
    page.locator("#threshold").fill("0.7")
    count = int(page.inner_text("#bulk").split()[2])
    suspects = pd.read_parquet(run / "suspects.parquet")
    sure = suspects[suspects["is_error"] & (suspects["probability"] >= 0.7)]["node"]
    assert count == len(set(sure) - {kept, skipped}) > 3
    page.locator("#node-id").click()
    page.keyboard.press("b")
    expect(page.locator("#bulk-title")).to_have_text(f"Accept {count} suggestions at once?")
    page.keyboard.press("Escape")
    assert len(read_decisions(run)) == 1
    page.keyboard.press("b")
    page.keyboard.press("Enter")
    expect(page.locator("#saved")).to_have_text(f"saved: {count} accepted")
    with page.expect_download() as download:
        page.click("[data-export=labels]")
    frame = pd.read_csv(download.value.path())
    assert set(frame.loc[frame["changed"], "node_id"]) == set(sure) - {kept, skipped}
    page.keyboard.press("u")
    expect(page.locator("#saved")).to_have_text(f"undone: {count} nodes")
    assert read_decisions(run)["node"].tolist() == [kept]
    with page.expect_download() as download:
        page.click("[data-export=trail]")
    trail = pd.read_csv(download.value.path())
    assert trail["undone"].sum() == count
    assert len(trail) == 2 + 2 * count


def test_a_cell_of_the_matrix_filters_and_any_class_can_be_searched(page, run, serve):
    open_page(page, serve(run))
    page.locator("#matrix button", has_text=re.compile(r"\d")).first.click()
    chosen = page.locator("#matrix button[aria-pressed=true]")
    true, given = chosen.get_attribute("aria-label").split(":")[0].split(", given ")
    expect(page.locator("#suggested span span")).to_have_text(true.removeprefix("true "))
    expect(page.locator("#given span span")).to_have_text(given)
    node = page.inner_text("#node-id")
    page.keyboard.press("c")
    page.keyboard.type("ROB")
    expect(page.locator("#choose-list li")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#saved")).to_contain_text("robotics")
    assert read_decisions(run)[["node", "label"]].to_numpy().tolist() == [[node, "robotics"]]
    chosen.click()
    expect(page.locator("#position")).to_contain_text("of 80")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#node-id")).not_to_be_empty()


def test_what_cannot_be_saved_stays_in_the_page(page, run, serve, monkeypatch):
    import sqlite3

    def fail(*arguments, **more):
        raise sqlite3.OperationalError("database or disk is full")

    open_page(page, serve(run))
    with monkeypatch.context() as patch:
        patch.setattr(Decisions, "_insert", fail)
        node = page.inner_text("#node-id")
        page.keyboard.press("a")
        expect(page.locator("#notice")).to_contain_text("disk is full")
        page.keyboard.press("k")  # nothing else happens meanwhile
        assert page.inner_text("#node-id") == node
        page.on("dialog", lambda dialog: dialog.accept())
        page.reload()
        expect(page.locator("#notice")).to_contain_text("disk is full")
    page.click("#notice button")
    expect(page.locator("#notice")).to_be_hidden()
    assert read_decisions(run)[["node", "kind"]].to_numpy().tolist() == [[node, "accept"]]
    forgive(page, "507")


def test_two_pages_do_not_overwrite_each_other(page, run, serve):
    open_page(page, serve(run, "ann"))
    other = page.context.new_page()
    open_page(other, serve(run, "bob"))
    node = press(other, "k")
    other.close()
    page.keyboard.press("a")
    expect(page.locator("#notice")).to_contain_text(f"node {node} was decided elsewhere")
    expect(page.locator("#verdict")).to_contain_text("by bob")
    assert read_decisions(run)["who"].tolist() == ["bob"]
    page.click("#notice button")
    expect(page.locator("#saved")).to_contain_text("saved")
    assert read_decisions(run)["who"].tolist() == ["ann"]
    forgive(page, "409")


def test_a_page_says_when_its_node_is_decided_elsewhere(page, run, serve):
    open_page(page, serve(run, "ann"))
    node = page.inner_text("#node-id")
    with contextlib.closing(Decisions(run)) as store:  # as another page would
        given = read_content(run).labels[node]
        store.record("r1", "bob", [Choice(node, given, given, "keep", "because", 0)])
    expect(page.locator("#notice")).to_contain_text("decided elsewhere in the meantime")
    expect(page.locator("#verdict")).to_contain_text("by bob")
    page.click("#notice button")
    expect(page.locator("#node-id")).not_to_have_text(node)
    expect(page.locator("#notice")).to_be_hidden()
    assert read_decisions(run)["who"].tolist() == ["bob"]


def test_without_suspects_random_nodes_are_checked(page, run, serve):
    suspects = pd.read_parquet(run / "suspects.parquet")
    suspects.assign(is_error=False).to_parquet(run / "suspects.parquet", index=False)
    open_page(page, serve(run))
    expect(page.locator("#unflagged")).to_be_visible()
    press(page, "k")
    expect(page.locator(".meter").first).to_contain_text("1 of 50 random nodes checked")


@pytest.fixture
def other_origin():
    """The address of a page of another local server."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"another page")

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_wrong_token_other_host_and_other_origin_are_refused(page, run, serve, other_origin):
    url = serve(run)
    assert page.goto(f"{url}x").status == 403
    foreign = url.replace("127.0.0.1", "evil.localhost")  # resolves to this machine
    assert page.goto(foreign).status == 403
    post = """async ([url, token, sent]) => {
        const body = JSON.stringify(sent);
        const headers = {"x-brgcl-token": token, "content-type": "application/json"};
        const results = [];
        for (const options of [{headers}, {mode: "no-cors"}]) {
            try { results.push((await fetch(url, {method: "POST", body, ...options})).status); }
            catch { results.push("refused"); }
        }
        return results;
    }"""
    base, token = url.split("/?token=")
    sent = {"request": "x", "place": 0, "kind": "keep", "label": None, "version": 0, "after": 0}
    sent["fingerprint"] = read_content(run).fingerprint
    page.goto(other_origin)
    answers = page.evaluate(post, [f"{base}/api/decide", token, sent])
    assert answers == ["refused", "refused"]
    assert len(read_decisions(run)) == 0
    page.goto(url)
    assert page.evaluate(post, [f"{base}/api/decide", token, sent]) == [200, 403]
    assert len(read_decisions(run)) == 1
    page.complaints.clear()


def test_hostile_names_are_shown_as_text(page, tmp_path, serve):
    folder = write_run(tmp_path / "run", classes=HOSTILE, prefix="<b onclick=x>&amp;")
    open_page(page, serve(folder))
    content = read_content(folder)
    assert page.inner_text("#node-id") == content.suspects["node"][0]
    assert page.inner_text("#given span span") == content.suspects["given"][0]
    node = press(page, "a")
    assert page.inner_text("#history span >> nth=0") == node
    page.keyboard.press("c")
    assert page.locator("#choose-list li .label").all_inner_texts() == HOSTILE
    page.keyboard.press("Escape")
    page.hover("#map .map-stage")
    assert page.evaluate("window.hacked === undefined")
    assert page.locator("main script, main img, main b[onclick], svg[onload]").count() == 0


def test_ids_around_a_node_are_read_in_full(page, tmp_path, serve):
    open_page(page, serve(write_run(tmp_path / "run", prefix="document-00")))
    spans = page.locator(".evidence li > button > span:first-child")
    assert spans.count() > 5
    assert not spans.evaluate_all("(all) => all.some((one) => one.scrollWidth > one.clientWidth)")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_fits_its_window(page, tmp_path, serve, width, scheme):
    names = [f"A rather long name of class number {number}" for number in range(30)]
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    open_page(page, serve(write_run(tmp_path / "run", num_nodes=300, classes=names)))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == scheme
    assert page.locator("#others button").count() == 9
    press(page, "1")
