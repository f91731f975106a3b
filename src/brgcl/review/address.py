"""Where the page is served: a port of this machine and a secret token.

Both are kept in `RUN/.review-server.json`, readable by its owner only, while the server runs. After
a crash the next start takes them up again, so that a page that is still open goes on where it was.
"""

import contextlib
import json
import os
import secrets
import socket
from dataclasses import dataclass, field
from pathlib import Path

from brgcl.errors import InputError

FILE = ".review-server.json"


@dataclass(frozen=True)
class Address:
    """A listening socket and the token of its page.

    Attributes:
        listening: Bound to 127.0.0.1.
        token: What a page must know.
        file: Where both are remembered; None while another server has that file.
    """

    listening: socket.socket
    token: str = field(repr=False)
    file: Path | None

    @property
    def port(self) -> int:
        """The port."""
        return int(self.listening.getsockname()[1])

    @property
    def url(self) -> str:
        """The address to open in a browser."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def forget(self) -> None:
        """Close the socket and remove the file: the token is worth nothing any more."""
        self.listening.close()
        if self.file is not None:
            self.file.unlink(missing_ok=True)


def take_address(run: Path, port: int = 0) -> Address:
    """Listen on a port of this machine.

    Args:
        run: The run folder.
        port: 0 = that of a server that did not end well, or any free one.

    Raises:
        InputError: The port is in use.
    """
    file: Path | None = run / FILE
    before = _remembered(run / FILE)
    if before is not None and port in (0, before[0]):
        with contextlib.suppress(OSError):
            return Address(_listen(before[0]), before[1], file)
        file = None  # it belongs to a server that is running
    try:
        listening = _listen(port)
    except OSError as error:
        raise InputError(
            f"cannot listen on port {port}: {error.strerror}; give another --port"
        ) from error
    address = Address(listening, secrets.token_urlsafe(24), file)
    if file is not None:
        file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # a folder that is read-only says so later
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as content:
                json.dump({"port": address.port, "token": address.token}, content)
    return address


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere it would let two servers share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening


def _remembered(file: Path) -> tuple[int, str] | None:
    """Read port and token; None if there are none, or others can read or have written them."""
    try:
        found = file.stat(follow_symlinks=False)
        if os.name == "posix" and (found.st_mode & 0o177 or found.st_uid != os.geteuid()):
            return None
        about = json.loads(file.read_text(encoding="utf-8"))
        port, token = int(about["port"]), str(about["token"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (port, token) if 0 < port < 2**16 and len(token) >= 16 else None
