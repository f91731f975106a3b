import json
import os

import pytest

from brgcl.errors import InputError
from brgcl.review.address import FILE, take_address


def test_it_listens_on_this_machine_alone_and_the_token_is_long(tmp_path):
    address = take_address(tmp_path)
    assert address.listening.getsockname() == ("127.0.0.1", address.port)
    assert len(address.token) >= 32
    assert address.token not in repr(address)
    assert address.url == f"http://127.0.0.1:{address.port}/?token={address.token}"
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    address.forget()
    assert not (tmp_path / FILE).exists()


def test_after_a_crash_port_and_token_are_taken_up_again(tmp_path):
    crashed = take_address(tmp_path)
    port = crashed.port
    crashed.listening.close()
    again = take_address(tmp_path)
    assert (again.port, again.token) == (port, crashed.token)
    again.forget()
    after = take_address(tmp_path)
    assert after.token != crashed.token
    after.forget()


def test_a_second_server_leaves_the_first_alone(tmp_path):
    first, second = take_address(tmp_path), take_address(tmp_path)
    assert first.port != second.port
    assert first.token != second.token
    second.forget()
    assert json.loads((tmp_path / FILE).read_text())["token"] == first.token
    with pytest.raises(InputError, match=f"cannot listen on port {first.port}"):
        take_address(tmp_path, first.port)
    first.forget()


@pytest.mark.parametrize("damage", ["readable", "short", "text", "link"])
def test_a_file_that_others_could_have_read_or_written_is_not_trusted(tmp_path, damage):
    file = tmp_path / FILE
    token = "x" * (3 if damage == "short" else 40)
    target = tmp_path / "other" if damage == "link" else file
    target.write_text("?" if damage == "text" else json.dumps({"port": 54321, "token": token}))
    target.chmod(0o644 if damage == "readable" else 0o600)
    if damage == "link":
        os.symlink(target, file)  # noqa: PTH211
    address = take_address(tmp_path)
    assert address.token != token
    address.forget()
