"""The local server of the page: loopback only, one token, and every request is checked.

- It listens on 127.0.0.1 and answers only requests whose Host is that address or localhost, so that
  a foreign name which resolves to this machine (DNS rebinding) gets nothing.
- Data are given and taken only with the token, which the page reads from its address and sends in a
  header of its own. There is no cookie that a browser would add by itself to foreign requests.
- What changes something must come from the page's own origin, as JSON, within a size limit.
- The page loads nothing but its own files (content security policy), and nothing is stored.
"""

import json
import secrets
from collections.abc import Callable
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from brgcl.errors import BrgclError, InputError
from brgcl.review.decisions import Conflict, NotSaved
from brgcl.review.export import audit_trail, corrected_labels
from brgcl.review.session import Replaced, Session

TOKEN = "x-brgcl-token"
LIMIT = 2**22  # bytes of a request; 100,000 nodes accepted at once take 700 kB
PAGE = (
    "review.js", "saving.js", "dialogs.js", "matrix.js", "elements.js", "node.js", "nodes_map.js",
    "progress.js", "notices.js", "keys.js", "review.css",
)  # fmt: skip
SHARED = (
    "palette.js", "points.js", "map_picture.js", "map_legend.js", "map_input.js", "map.js",
    "page.css",
)  # fmt: skip
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
STATUS = {Conflict: 409, Replaced: 410, NotSaved: 507, InputError: 422}


def make_app(session: Session, *, token: str, port: int) -> ASGIApp:
    """Build the application that serves the page of a review.

    Args:
        session: What is reviewed.
        token: What the page must know.
        port: On which it listens; the Host and the Origin of requests must name it.
    """

    async def page(request: Request) -> Response:
        return Response(_file("brgcl.review", "page/index.html"), media_type="text/html")

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        if name in PAGE:
            return Response(_file("brgcl.review", f"page/{name}"), media_type=kind)
        if name in SHARED:  # with the report
            return Response(_file("brgcl.report", f"static/{name}"), media_type=kind)
        return PlainTextResponse("not found", 404)

    async def run(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(session.describe))

    async def node(request: Request) -> Response:
        return await _answer(session.details, request.path_params["row"])

    async def changes(request: Request) -> Response:
        return await _answer(session.changes, request.path_params["after"])

    async def export(request: Request) -> Response:
        def table() -> str:
            state = session.decisions.state()
            if request.path_params["what"] == "trail":
                return audit_trail(state).to_csv(index=False)
            return corrected_labels(session.content, state).to_csv(index=False)

        return Response(await run_in_threadpool(table), media_type="text/csv")

    async def decide(request: Request) -> Response:
        wanted = {"request": str, "place": int, "kind": str, "version": int}
        return await _change(
            request, session, session.decide, wanted | {"label": (str, type(None))}
        )

    async def accept_all(request: Request) -> Response:
        return await _change(request, session, session.accept_all, {"request": str, "places": list})

    async def undo(request: Request) -> Response:
        return await _change(request, session, session.undo, {"request": str, "undoes": str})

    routes = [
        Route("/", page),
        Route("/static/{name}", static),
        Route("/api/run", run),
        Route("/api/node/{row:int}", node),
        Route("/api/changes/{after:int}", changes),
        Route("/api/export/{what}", export),
        Route("/api/decide", decide, methods=["POST"]),
        Route("/api/accept-all", accept_all, methods=["POST"]),
        Route("/api/undo", undo, methods=["POST"]),
    ]
    return _guard(Starlette(routes=routes), token=token, port=port)


def _guard(app: ASGIApp, *, token: str, port: int) -> ASGIApp:
    """Refuse what does not come from the page, and add the headers to every answer."""
    hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
    origins = {f"http://{host}" for host in hosts}

    def problem(request: Request) -> str | None:
        given = request.headers.get(TOKEN)
        if request.url.path == "/":
            given = request.query_params.get("token")
        public = request.url.path.startswith("/static/")  # the program, the same for everybody
        if request.headers.get("host") not in hosts:
            return "this host name is not served; open the address that brgcl review printed"
        if not public and not secrets.compare_digest((given or "").encode(), token.encode()):
            return "wrong or missing token; open the address that brgcl review printed"
        if request.headers.get("origin") not in (
            origins if _changes(request) else {*origins, None}
        ):
            return "requests from other pages are refused"
        if _changes(request) and request.headers.get("content-type") != "application/json":
            return "send JSON"
        return None

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(k.encode(), v.encode()) for k, v in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        if scope["type"] != "http":
            return
        refused = problem(Request(scope))
        answer = app if refused is None else PlainTextResponse(refused, 403)
        await answer(scope, receive, send_with_headers)

    return guarded


def _changes(request: Request) -> bool:
    return request.method not in ("GET", "HEAD")


async def _change(
    request: Request, session: Session, function: Callable[..., Any], wanted: dict[str, Any]
) -> Response:
    """Read a request, do what it says, and answer with what has changed since the page knew."""
    try:
        sent = await _read(request)
    except ValueError as error:
        return JSONResponse({"error": str(error)}, 413 if "bytes" in str(error) else 422)
    after, seen = sent.pop("after", 0), sent.pop("fingerprint", None)
    whole = sent.keys() == wanted.keys() and isinstance(after, int)
    if not whole or not all(_fits(sent[name], kind) for name, kind in wanted.items()):
        return JSONResponse({"error": "the request lacks a field, or has one of a wrong kind"}, 422)

    def change() -> dict[str, Any]:
        if seen != session.content.fingerprint:
            raise Replaced("the server shows another run by now; load the page again")
        done = function(**sent)
        return {"done": len(done), **session.changes(after)}

    return await _answer(change, changes=lambda: session.changes(after))


def _fits(value: Any, kind: Any) -> bool:
    if kind is list:
        return isinstance(value, list) and all(type(one) is int for one in value)
    if kind is int:
        return type(value) is int  # True is none
    return isinstance(value, kind) and len(value or "") <= 1000


async def _read(request: Request) -> dict[str, Any]:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LIMIT:
            raise ValueError(f"a request has at most {LIMIT} bytes")
    try:
        sent = json.loads(bytes(body))
    except (ValueError, RecursionError):
        sent = None
    if not isinstance(sent, dict):
        raise ValueError("send a JSON object")
    return sent


async def _answer(
    function: Callable[..., dict[str, Any]],
    *arguments: Any,
    changes: Callable[[], dict[str, Any]] | None = None,
) -> Response:
    """Answer with a result, or with what went wrong and what holds instead."""
    try:
        return JSONResponse(await run_in_threadpool(function, *arguments))
    except BrgclError as error:
        answer: dict[str, Any] = {"error": str(error)}
        if changes is not None and isinstance(error, Conflict):
            answer |= await run_in_threadpool(changes)
        status = next(code for kind, code in STATUS.items() if isinstance(error, kind))
        return JSONResponse(answer, status)


def _file(package: str, name: str) -> bytes:
    return resources.files(package).joinpath(name).read_bytes()
