"""The documentation site builds strictly, has no dead link and describes every public name."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import brgcl

pytest.importorskip("mkdocs", reason="mkdocs is not installed; see the dependency group docs")
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, file):
        super().__init__()
        self.links, self.anchors = [], {""}
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.links += [given[name] for name in ("href", "src") if given.get(name)]
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}


def test_no_link_is_dead(site):
    pages = {file: Page(file) for file in site.rglob("*.html") if file.name != "404.html"}
    assert len(pages) > 15
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("javascript"):
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            assert target.is_file(), f"{file.name}: {link}"
            if parts.fragment and target in pages and not parts.fragment.startswith("__"):
                anchors = pages[target].anchors
                assert unquote(parts.fragment) in anchors, f"{file.name}: {link}"


def test_pages_load_nothing_from_elsewhere(site):
    for file in site.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img|iframe)[^>]*src="https?:', text), file.name
        assert not re.findall(r'<link[^>]*rel="stylesheet"[^>]*href="https?:', text), file.name


def test_every_public_name_is_in_the_reference(site):
    public = {
        name for name in dir(brgcl) if name[0] != "_" and hasattr(getattr(brgcl, name), "__doc__")
    }
    public = {name for name in public if getattr(brgcl, name).__class__.__name__ != "module"}
    described = set(re.findall(r'id="brgcl\.(\w+)"', (site / "api.html").read_text("utf-8")))
    assert public - {"TYPE_CHECKING", "lazy_names"} <= described
