"""Fetch one file: resumable, checked, and in place only when complete."""

import hashlib
import logging
import urllib.error
import urllib.request
from pathlib import Path

from brgcl.errors import DataNotFound
from brgcl.progress import progress_bar

log = logging.getLogger("brgcl")

TIMEOUT = 30.0
"""Seconds without an answer after which a download fails."""

CHUNK = 1 << 16


def download(url: str, target: Path, *, sha256: str | None = None) -> None:
    """Fetch `url` into `target`; what an interrupted attempt left in `<target>.part` is continued.

    Without a checksum any content is accepted, which is logged.

    Raises:
        DataNotFound: The server cannot be reached or the content has a wrong checksum; after a
            wrong checksum the part is removed.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    try:
        _fetch(url, part)
    except (OSError, urllib.error.URLError) as error:
        raise DataNotFound(f"cannot download {url} ({error})") from error
    digest = file_sha256(part)
    if sha256 is not None and digest != sha256:
        part.unlink()
        raise DataNotFound(
            f"the download of {url} has a wrong checksum, {digest}; it was removed, try again"
        )
    if sha256 is None:
        log.info("%s: no checksum is known for this file, downloaded as it is (%s)", target, digest)
    part.replace(target)


def file_sha256(path: Path) -> str:
    """The SHA-256 checksum of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(url: str, part: Path) -> None:
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not have:  # 416: nothing lies beyond what we have
            raise
        error.close()
        return
    with response:
        received = have if response.status == 206 else 0
        length = response.headers.get("Content-Length")
        total = received + int(length) if length else None
        with (
            part.open("ab" if received else "wb") as file,
            progress_bar(part.stem, unit="bytes") as report,
        ):
            report(received, total, "")
            while chunk := response.read(CHUNK):
                file.write(chunk)
                received += len(chunk)
                report(received, total, "")
    if total is not None and received < total:
        raise OSError(f"connection closed after {received} of {total} bytes; run again to continue")
