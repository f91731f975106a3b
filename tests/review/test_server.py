import asyncio
import json
from importlib import resources

import pytest

from run_folders import write_run

pytest.importorskip("starlette")
httpx = pytest.importorskip("httpx")

from brgcl.review import server  # noqa: E402
from brgcl.review.server import PAGE, SHARED, make_app  # noqa: E402

SECRET = "a-secret-token"
HERE = "http://127.0.0.1:4321"


class Client:
    """Sends requests to an application without a network."""

    def __init__(self, app, base, headers):
        self.transport = httpx.ASGITransport(app)
        self.settings = {"base_url": base, "headers": headers, "transport": self.transport}

    def _send(self, method, path, **more):
        async def send():
            async with httpx.AsyncClient(**self.settings) as client:
                return await client.request(method, path, **more)

        return asyncio.run(send())

    def get(self, path):
        return self._send("GET", path)

    def post(self, path, **more):
        return self._send("POST", path, **more)


@pytest.fixture
def connect(start):
    """A function that opens a client to a server of its own."""

    def begin(who="ann", base=HERE, token=SECRET, origin=HERE):
        app = make_app(start(who), token=SECRET, port=4321)
        headers = {"x-brgcl-token": token, "origin": origin}
        return Client(app, base, {name: value for name, value in headers.items() if value})

    return begin


@pytest.fixture
def client(connect):
    return connect()


def body(client, request="r1", place=0, kind="accept", label=None, version=0, **more):
    seen = client.get("/api/run").json()["fingerprint"]
    about = {"request": request, "place": place, "kind": kind, "label": label, "version": version}
    return about | {"after": 0, "fingerprint": seen} | more


def decide(client, **about):
    return client.post("/api/decide", json=body(client, **about))


def test_the_page_needs_the_token_in_its_address(client):
    assert client.get(f"/?token={SECRET}").status_code == 200
    for path in ("/", "/?token=", "/?token=wrong", f"/?token={SECRET}x", "/?token=é"):
        assert client.get(path).status_code == 403


@pytest.mark.parametrize(
    "path", ["/api/run", "/api/node/0", "/api/changes/0", "/api/export/labels"]
)
def test_data_need_the_token_in_a_header(connect, path):
    assert connect().get(path).status_code == 200
    for token in (None, "wrong", SECRET[:-1]):
        reply = connect(token=token).get(f"{path}?token={SECRET}")
        assert reply.status_code == 403
        assert "token" in reply.text
    assert connect(token=None).post("/api/decide", json={}).status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example:4321", "127.0.0.1:4322", "127.0.0.1.evil.example:4321", "127.0.0.1"]
)
def test_another_host_name_is_refused(connect, host):
    """A foreign name may resolve to this machine (DNS rebinding)."""
    client = connect(base=f"http://{host}", origin=None)
    for path in (f"/?token={SECRET}", "/api/run", "/static/review.js"):
        assert client.get(path).status_code == 403
    assert connect(base="http://localhost:4321", origin=None).get("/api/run").status_code == 200


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://127.0.0.1:9",
                                    "https://127.0.0.1:4321"])  # fmt: skip
def test_another_origin_changes_nothing(connect, client, origin):
    foreign = connect(origin=origin)
    for path in ("/api/decide", "/api/accept-all", "/api/undo"):
        assert foreign.post(path, json=body(client)).status_code == 403
    if origin is not None:
        assert foreign.get("/api/run").status_code == 403
    assert client.get("/api/run").json()["last"] == 0


def test_a_form_of_another_page_changes_nothing(client):
    text = json.dumps(body(client))
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        reply = client.post("/api/decide", content=text, headers={"content-type": kind})
        assert reply.status_code == 403


def test_every_answer_forbids_foreign_content_and_storing(client):
    for path in (f"/?token={SECRET}", "/api/run", "/static/review.js", "/nowhere", "/?token=wrong"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in headers


def test_the_page_has_no_script_or_style_of_its_own(client):
    text = client.get(f"/?token={SECRET}").text
    assert "<style" not in text
    assert "style=" not in text
    assert "<script>" not in text
    assert " onclick" not in text


def test_files_of_the_page_are_served_and_nothing_else(client):
    for name in PAGE:
        assert client.get(f"/static/{name}").status_code == 200
    for name in ("../server.py", "..%2fserver.py", "index.html", "nope.js", "%2e%2e/decisions.py"):
        assert client.get(f"/static/{name}").status_code == 404
    folder = resources.files("brgcl.review").joinpath("page")
    assert {file.name for file in folder.iterdir()} == {"index.html", *PAGE}
    assert all(client.get(f"/static/{name}").status_code == 200 for name in SHARED)


def test_a_decision_is_on_disk_when_the_reply_comes(client, connect):
    reply = decide(client)
    assert reply.status_code == 200
    assert reply.json()["done"] == 1
    assert reply.json()["states"][0]["kind"] == "accept"
    other = connect("bob").get("/api/changes/0").json()
    assert other["states"] == reply.json()["states"]


def test_a_request_that_is_sent_twice_counts_once(client):
    assert decide(client).json() == decide(client).json()
    assert client.get("/api/run").json()["last"] == 1


def test_a_conflict_tells_what_holds_instead(client, connect):
    decide(connect("bob"), request="b1", kind="keep")
    reply = decide(client)
    assert reply.status_code == 409
    assert "decided elsewhere" in reply.json()["error"]
    assert reply.json()["states"][0]["who"] == "bob"
    version = reply.json()["states"][0]["version"]
    assert decide(client, request="r2", version=version).status_code == 200


def test_undo_and_bulk(client):
    sent = {"after": 0, "fingerprint": body(client)["fingerprint"]}
    reply = client.post("/api/accept-all", json={"request": "m", "places": [0, 1, 2], **sent})
    assert reply.json()["done"] == 3
    assert reply.json()["undoable"] == "m"
    reply = client.post("/api/undo", json={"request": "u", "undoes": "m", **sent})
    assert reply.json()["done"] == 3
    assert reply.json()["summary"]["num_decided"] == 0
    assert client.post("/api/undo", json={"request": "v", "undoes": "m", **sent}).status_code == 409


@pytest.mark.parametrize(
    "wrong",
    [{"place": "0"}, {"place": True}, {"place": 10**9}, {"place": -1}, {"label": 3},
     {"kind": "undo"}, {"kind": "drop table"}, {"version": None}, {"request": 7}, {"extra": 1},
     {"after": "x"}, {"kind": "choose"}, {"kind": "choose", "label": "nope"},
     {"request": "r" * 2000}],
)  # fmt: skip
def test_wrong_requests_are_refused(client, wrong):
    reply = client.post("/api/decide", json=body(client) | wrong)
    assert reply.status_code == 422
    assert reply.json()["error"]
    assert client.get("/api/run").json()["last"] == 0


@pytest.mark.parametrize("text", ["", "[]", "nonsense", "[" * 100_000, '{"request": NaN', b"\xff"])
def test_what_is_no_json_object_is_refused(client, text):
    headers = {"content-type": "application/json"}
    assert client.post("/api/decide", content=text, headers=headers).status_code == 422


def test_a_request_that_is_too_long_is_refused(client, monkeypatch):
    monkeypatch.setattr(server, "LIMIT", 1000)
    assert client.post("/api/decide", json=body(client) | {"x": "y" * 2000}).status_code == 413


def test_a_full_disk_is_said(client, monkeypatch):
    import sqlite3

    def fail(*arguments, **more):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("brgcl.review.decisions.Decisions._insert", fail)
        reply = decide(client)
    assert reply.status_code == 507
    assert "disk is full" in reply.json()["error"]
    assert client.get("/api/run").json()["last"] == 0
    assert decide(client).status_code == 200


def test_a_page_of_an_earlier_run_is_told_to_load_again(client, run):
    assert decide(client, fingerprint="another").status_code == 410
    write_run(run, seed=1)
    reply = decide(client)
    assert reply.status_code == 410
    assert "start it again" in reply.json()["error"]


def test_tables_can_be_downloaded(client):
    decide(client)
    assert client.get("/api/export/labels").text.startswith("node_id,label,label_given,")
    assert len(client.get("/api/export/trail").text.splitlines()) == 2
