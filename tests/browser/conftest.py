"""A browser for the pages that brgcl writes and serves."""

import shutil

import pytest

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium; tests that need it are skipped where there is none.

    It is closed after each module: while it is open, an event loop runs, and other tests start
    loops of their own.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no chromium on this machine")
    with playwright.sync_playwright() as session:
        started = session.chromium.launch(executable_path=program, headless=True, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def page(browser):
    """A page of its own profile; the test fails if it prints an error or breaks its policy."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    opened = context.new_page()
    complaints = []
    opened.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.complaints = complaints
    yield opened
    context.close()
    assert complaints == []
