import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brgcl.data import table_stream
from brgcl.data.table_files import read_table
from brgcl.data.table_stream import open_stream
from brgcl.errors import InputError

CELL = st.text('ab "\n,é#', max_size=4)


def parts(path, size, names=()):
    stream = open_stream(path, size)
    return list(stream.parts(stream.head, names or stream.head.columns))


@given(rows=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=30), size=st.integers(1, 90))
@settings(deadline=None, suppress_health_check=list(HealthCheck))
def test_the_parts_of_a_table_are_its_rows(tmp_path_factory, rows, size):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    pd.DataFrame([("first", "row"), *rows]).to_csv(path, index=False, header=False, quoting=1)
    whole = read_table(path).texts("column 1", "column 2")
    found = [part.texts("column 1", "column 2") for part in parts(path, size)]
    for column in (0, 1):
        cells = [cell for part in found for cell in part[column].to_pylist()]
        assert cells == whole[column].to_pylist()


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.txt"])
def test_every_row_knows_its_line(write, name):
    text = "\n\n" + "".join(f"{i},x\n" + "\n" * (i % 3) for i in range(40))
    path = write(name, text)
    table, row = read_table(path), 0
    for part in parts(path, 25):
        for own in range(len(part.texts("column 1")[0])):
            assert part.place(own) == table.place(row)
            row += 1
    assert row == 40
    stream = open_stream(path, 25)
    assert stream.place(stream.head, ["column 1"], 33) == table.place(33)


def test_parquet_comes_in_parts_of_the_columns_that_are_asked_for(tmp_path):
    frame = pd.DataFrame({"a": np.arange(50), "b": np.arange(50) / 2, "c": ["x"] * 50})
    frame.to_parquet(tmp_path / "t.parquet")
    found = parts(tmp_path / "t.parquet", 100, ["b"])
    assert len(found) > 3
    assert np.concatenate([part.numbers(["b"])[:, 0] for part in found]).tolist() == list(frame.b)
    assert found[1].place(0) == f"{tmp_path / 't.parquet'} row {len(found[0].numbers(['b']))}"


def test_the_bytes_that_were_read_are_reported(write):
    path = write("t.csv", "1,2\n" * 100)
    stream, seen = open_stream(path, 64), []
    list(stream.parts(stream.head, [], lambda done, total, words: seen.append((done, total))))
    assert seen == sorted(seen)
    assert seen[-1] == (400, 400)


def test_a_quotation_mark_that_never_closes_is_refused(write, monkeypatch):
    monkeypatch.setattr(table_stream, "LONGEST_ROW", 500)
    path = write("t.csv", '1,"2\n' + "3,4\n" * 500)
    with pytest.raises(InputError, match="a quotation mark opens a cell"):
        parts(path, 64)


def test_a_broken_file_is_refused(write, tmp_path):
    path = write("t.csv.gz", "1,2\n" * 1000)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="is it complete"):
        parts(path, 64)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="not a complete Parquet file"):
        parts(tmp_path / "t.parquet", 64)
    with pytest.raises(InputError, match="no such file"):
        parts(tmp_path / "none.csv", 64)
    with pytest.raises(InputError, match="the file is empty"):
        parts(write("u.txt", "# nothing\n" * 40), 64)
