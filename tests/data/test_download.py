import hashlib
import http.server
import logging
import threading
from collections.abc import Iterator

import pytest

from brgcl.data.download import download
from brgcl.errors import DataNotFound

CONTENT = bytes(range(256)) * 1000
SHA = hashlib.sha256(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT at /file (with ranges) and /plain (without); half of it at /half."""

    asked: list[str | None] = []  # noqa: RUF012

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.asked.append(wanted)
        if self.path == "/missing":
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if self.path == "/plain":
            start = 0
        if start >= len(CONTENT):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        end = len(CONTENT) // 2 if self.path == "/half" else len(CONTENT)
        self.wfile.write(CONTENT[start:end])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Handler.asked.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


def test_a_file_arrives_complete_and_leaves_no_part(server, tmp_path):
    target = tmp_path / "new" / "file.bin"
    download(f"{server}/file", target, sha256=SHA)
    assert target.read_bytes() == CONTENT
    assert list(target.parent.iterdir()) == [target]


def test_a_part_is_continued_where_it_ended(server, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:1000])
    download(f"{server}/file", tmp_path / "file.bin", sha256=SHA)
    assert Handler.asked == ["bytes=1000-"]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_server_without_ranges_starts_again(server, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(b"xyz")
    download(f"{server}/plain", tmp_path / "file.bin", sha256=SHA)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_part_that_is_complete_is_taken(server, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(CONTENT)
    download(f"{server}/file", tmp_path / "file.bin", sha256=SHA)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_broken_connection_keeps_the_part_and_the_next_call_finishes(server, tmp_path):
    target = tmp_path / "file.bin"
    with pytest.raises(DataNotFound, match="128000 of 256000 bytes; run again to continue"):
        download(f"{server}/half", target, sha256=SHA)
    assert not target.exists()
    download(f"{server}/file", target, sha256=SHA)
    assert Handler.asked[-1] == "bytes=128000-"
    assert target.read_bytes() == CONTENT


def test_a_wrong_checksum_is_refused_and_the_part_removed(server, tmp_path):
    with pytest.raises(DataNotFound, match=f"wrong checksum, {SHA}; it was removed"):
        download(f"{server}/file", tmp_path / "file.bin", sha256="0" * 64)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_checksum_is_said(server, tmp_path, caplog):
    caplog.set_level(logging.INFO, "brgcl")
    download(f"{server}/file", tmp_path / "file.bin")
    assert "no checksum is known" in caplog.text


def test_what_cannot_be_reached_is_named(server, tmp_path):
    with pytest.raises(DataNotFound, match=r"cannot download http://.*/missing \(HTTP Error 404"):
        download(f"{server}/missing", tmp_path / "file.bin")
    with pytest.raises(DataNotFound, match=r"cannot download http://127.0.0.1:1/x \(.*refused"):
        download("http://127.0.0.1:1/x", tmp_path / "file.bin")
