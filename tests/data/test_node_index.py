from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brgcl.data.node_index import NodeIndex, first_repeated
from brgcl.data.table_files import open_arrow
from brgcl.errors import InputError

INTEGERS = st.integers(-(2**63), 2**63 - 1).map(str)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3)


def table(keys):
    return open_arrow(Path("e.parquet"), pa.table({"key": keys}))


@given(ids=st.one_of(st.sets(INTEGERS, min_size=1), st.sets(TEXTS, min_size=1)), data=st.data())
def test_every_id_is_found_at_its_place(ids, data):
    ids = data.draw(st.permutations(sorted(ids)))
    keys = data.draw(st.lists(st.sampled_from(ids)))
    index = NodeIndex(pa.array(ids), Path("x.csv"))
    column = pa.array(keys, pa.string())
    assert index.locate(column, table(column)).tolist() == [ids.index(key) for key in keys]
    assert list(map(str, index.values)) == ids


@pytest.mark.parametrize("ids", [["7", "10", "-3"], ["7", "x"], []])
@pytest.mark.parametrize("key", ["07", "7.0", "8", "9" * 19, "9" * 30, "-0", "y"])
def test_an_id_that_is_not_listed_is_refused_with_its_row(ids, key):
    column = pa.array([*ids[:1], key])
    with pytest.raises(InputError, match=rf"e.parquet row {len(ids[:1])}: id '{key}' is not in"):
        NodeIndex(pa.array(ids, pa.string()), Path("x.csv")).locate(column, table(column))


def test_an_empty_id_is_refused():
    column = pa.array(["7", ""])
    with pytest.raises(InputError, match="row 1: the id is empty"):
        NodeIndex(pa.array(["7"]), Path("x.csv")).locate(column, table(column))


def test_the_first_repeated_id_is_found():
    assert first_repeated(pa.array(["a", "b", "a", "b"])) == 2
    assert first_repeated(pa.array(["a", "b"])) is None
