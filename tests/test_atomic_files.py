import json
import os
import stat

import numpy as np
import pandas as pd
import pytest
import torch

from brgcl.atomic_files import (
    claim_folder,
    read_tensors,
    refusing_damage,
    replacing,
    write_json,
    write_parquet,
    write_tensors,
    write_text,
)
from brgcl.errors import InputError


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_text_is_written_as_utf8_and_replaces_what_was_there(tmp_path):
    write_text(tmp_path / "a" / "b.txt", "früher")
    write_text(tmp_path / "a" / "b.txt", "später")
    assert (tmp_path / "a" / "b.txt").read_bytes() == "später".encode()
    assert names(tmp_path / "a") == ["b.txt"]


def test_a_failed_write_leaves_the_old_file_and_no_trace(tmp_path):
    write_text(tmp_path / "b.txt", "old")

    def fail():
        with replacing(tmp_path / "b.txt") as temporary:
            temporary.write_text("half of the n")
            raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError):
        fail()
    assert (tmp_path / "b.txt").read_text() == "old"
    assert names(tmp_path) == ["b.txt"]


def test_the_old_file_stays_whole_until_the_new_one_is(tmp_path):
    path = tmp_path / "b.txt"
    write_text(path, "old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.parent == path.parent  # a rename across disks would not be atomic
    assert path.read_text() == "new"


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_permissions_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "b.txt", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "b.txt").stat().st_mode) == 0o640


def test_json_takes_numpy_numbers(tmp_path):
    write_json(tmp_path / "m.json", {"n": np.int64(3), "mean": np.float32(0.5), "none": None})
    text = (tmp_path / "m.json").read_text()
    assert json.loads(text) == {"n": 3, "mean": 0.5, "none": None}
    assert text.endswith("}\n")


def test_json_refuses_what_it_cannot_say(tmp_path):
    with pytest.raises(TypeError, match="set has no JSON form"):
        write_json(tmp_path / "m.json", {"odd": {1, 2}})
    assert names(tmp_path) == []


def test_parquet_comes_back(tmp_path):
    frame = pd.DataFrame(
        {"node_id": ["007", "8"], "z0": np.float32([0.5, 1]), "label": [None, "a"]}
    )
    write_parquet(tmp_path / "t.parquet", frame)
    again = pd.read_parquet(tmp_path / "t.parquet")
    assert again["node_id"].tolist() == ["007", "8"]
    assert again["z0"].dtype == np.float32
    assert again["label"].isna().tolist() == [True, False]


def test_tensors_and_what_is_said_about_them_come_back(tmp_path):
    tensors = {"a": torch.eye(2, requires_grad=True), "b": torch.arange(6).reshape(2, 3).T}
    write_tensors(tmp_path / "new" / "t", tensors, {"name": "x", "rows": [1, None]})
    again, about = read_tensors(tmp_path / "new" / "t")
    assert about == {"name": "x", "rows": [1, None]}
    assert {name: t.tolist() for name, t in again.items()} == {
        name: t.tolist() for name, t in tensors.items()
    }


@pytest.mark.parametrize("content", [b"", b"text", None])
def test_a_damaged_file_is_named_with_a_remedy(tmp_path, content):
    if content is not None:
        (tmp_path / "t").write_bytes(content)
    with (
        pytest.raises(InputError, match=r"t' is damaged \(.+\); do it again"),
        refusing_damage(tmp_path / "t", "do it again"),
    ):
        read_tensors(tmp_path / "t")


def test_a_folder_is_not_overwritten_by_a_file(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a folder, not a file"):
        write_text(tmp_path, "x")
    with pytest.raises(InputError, match="is a file, not a folder"):
        write_text(tmp_path / "file" / "b.txt", "x")
    assert names(tmp_path) == ["file"]


def test_an_empty_or_absent_folder_may_be_claimed_and_is_not_made(tmp_path):
    claim_folder(tmp_path, overwrite=False)
    claim_folder(tmp_path / "new", overwrite=False)
    assert names(tmp_path) == []


def test_a_folder_with_files_needs_overwrite(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match="is not empty; choose another or allow overwriting"):
        claim_folder(tmp_path, overwrite=False)
    claim_folder(tmp_path, overwrite=True)
    assert (tmp_path / "mine.txt").read_text() == "keep"


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "run").write_text("")
    for overwrite in (False, True):
        with pytest.raises(InputError, match="is a file, not a folder"):
            claim_folder(tmp_path / "run", overwrite=overwrite)
