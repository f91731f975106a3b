"""The command `brgcl review`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from brgcl.cli.console import print_json, print_line, say
from brgcl.cli.grouped import grouped
from brgcl.cli.options import Json, Overwrite
from brgcl.cli.pipes import DASH, print_csv
from brgcl.errors import InputError

if TYPE_CHECKING:
    from brgcl.review.address import Address
    from brgcl.review.content import Content
    from brgcl.review.session import Session


@grouped
def review(
    run: Annotated[Path, Argument(help="Run folder that find-errors wrote with --out.")],
    port: Annotated[int, Option(min=0, max=65535, help="Port of the page; 0 = any free one.")] = 0,
    who: Annotated[str | None, Option(help="Your name in the audit trail; default: login.")] = None,
    browser: Annotated[bool, Option("--browser/--no-browser", help="Open the page.")] = True,
    export: Annotated[
        Path | None,
        Option(help="Write the reviewed labels as CSV; - = stdout.", rich_help_panel="Output"),
    ] = None,
    trail: Annotated[
        Path | None,
        Option(help="Write the audit trail as CSV; - = stdout.", rich_help_panel="Output"),
    ] = None,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Go through suspicious labels in the browser, by keyboard; each decision is kept at once.

    With --export or --trail nothing is served: files are written from what was decided.
    """
    from brgcl.cli.run_folder import tell_unfinished
    from brgcl.review.content import read_content

    tell_unfinished(run)
    who = _name() if who is None else who.strip()
    if not who:
        raise InputError("--who is empty; give a name for the audit trail")
    if export is not None or trail is not None:
        _write(read_content(run), export, trail, overwrite=overwrite, json_=json_)
        return
    _check_extra()
    from brgcl.review.address import take_address
    from brgcl.review.decisions import Decisions
    from brgcl.review.session import Session

    content = read_content(run)
    session = Session(content, Decisions(run, fingerprint=content.fingerprint), who)
    _tell_earlier(session)
    address = take_address(run, port)
    try:
        if json_:
            print_json({"url": address.url, "port": address.port, "run": str(run), "who": who})
        else:
            print_line(f"Review {run} at {address.url}")
            say("Stop with Ctrl-C; every decision is on disk as soon as the page shows it.")
        _serve(session, address, browser=browser)
    finally:
        address.forget()
        summary = session.summary()
        session.decisions.close()
    if not json_:
        say(_sentence(summary))
        say(f"The labels after review: brgcl review {run} --export labels.csv")


def _serve(session: "Session", address: "Address", *, browser: bool) -> None:
    """Answer the page until Ctrl-C or SIGTERM."""
    import contextlib
    import signal
    import sys
    import threading
    import webbrowser

    import uvicorn

    from brgcl.review.server import make_app

    sys.stdout.flush()
    app = make_app(session, token=address.token, port=address.port)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, lifespan="off",
        ws="none", timeout_graceful_shutdown=1,
    )  # fmt: skip
    if browser:
        threading.Timer(0.5, webbrowser.open, [address.url]).start()
    # uvicorn passes the signal on that ended it: SIGTERM, too, lets the review close its file
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[address.listening])


def _write(
    content: "Content", export: Path | None, trail: Path | None, *, overwrite: bool, json_: bool
) -> None:
    """Write files from what was decided."""
    from brgcl.atomic_files import write_csv
    from brgcl.cli.run_folder import claim_file
    from brgcl.review.database import read_state
    from brgcl.review.export import audit_trail, corrected_labels

    if DASH in (export, trail) and (json_ or export == trail):
        raise InputError("only one table can go to stdout; give a file, or remove --json")
    if export is not None and trail is not None and export.resolve() == trail.resolve():
        raise InputError(f"--export and --trail both write '{export}'; give each its own file")
    state = read_state(content.path)
    for file in (export, trail):
        if file is not None and file != DASH:
            claim_file(file, overwrite=overwrite)
    labels = corrected_labels(content, state)
    counts: dict[str, Any] = {
        "num_labelled": len(labels),
        "num_decided": int(labels["decided"].sum()),
        "num_changed": int(labels["changed"].sum()),
    }
    files = {"labels": export, "trail": trail}
    for file, frame in ((export, labels), (trail, audit_trail(state))):
        if file == DASH:
            print_csv(frame)
        elif file is not None:
            write_csv(file, frame)
    if json_:
        written = {name: str(file) for name, file in files.items() if file is not None}
        print_json({**counts, **written})
        return
    tell = say if DASH in files.values() else print_line
    tell(
        f"{counts['num_decided']:,} of {counts['num_labelled']:,} labels decided, "
        f"{counts['num_changed']:,} changed."
    )
    for name, file in files.items():
        if file is not None:
            tell(f"{'Labels' if name == 'labels' else 'Audit trail'}: {file}")


def _tell_earlier(session: "Session") -> None:
    """Say what became of decisions on an earlier run in the same folder."""
    earlier = session.earlier()
    if sum(earlier.values()):
        say(
            f"The folder has new results since the last review: {earlier['applies']:,} decisions "
            f"still apply; {earlier['stale']:,} concern labels that have changed and are left out."
        )


def _sentence(summary: dict[str, Any]) -> str:
    left = summary["error_left"]
    sure = f"{100 * left['low']:.1f} to {100 * left['high']:.1f} %"
    if not left["num_checked"]:
        sure = "the detector's own estimate: no random node was checked"
    return (
        f"{summary['num_suspects_decided']:,} of {summary['num_suspects']:,} suspects decided, "
        f"{summary['num_changed']:,} labels changed; about {100 * left['rate']:.1f} % of the "
        f"labels are still wrong ({sure})."
    )


def _name() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"


def _check_extra() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"the review needs {' and '.join(missing)}; install them with: "
            "pip install 'brgcl[review]'"
        )
