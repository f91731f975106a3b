from pathlib import Path

import pyarrow as pa
import pytest

from brgcl.data.ids import ZeroFractions
from brgcl.data.node_index import NodeIndex
from brgcl.data.streamed_labels import StreamedLabels
from brgcl.data.table_stream import open_stream
from brgcl.errors import InputError


def read(path, ids, size):
    stream = open_stream(path, size)
    labels = StreamedLabels(stream, stream.head.with_header(), "id", "kind")
    fractions = ZeroFractions()
    labels.look(fractions, None, checked=False, by_numbers=False)
    y, names = labels.read(NodeIndex(pa.array(ids), Path("x.csv")), fractions, None)
    return y.tolist(), names


@pytest.mark.parametrize("size", [10, 1000])
def test_classes_are_numbered_alike_in_all_parts(write, said, size):
    path = write("y.csv", "id,kind\nd,10\na,9.0\nb,NA\nd,10.0\nc,?\na,9\n")
    assert read(path, ["a", "b", "c", "d", "e"], size) == ([0, -1, -1, 1, -1], ["9", "10"])
    assert said() == [f"{path}: number of missing labels: 2 (?, NA)"]


@pytest.mark.parametrize("size", [10, 1000])
def test_a_node_with_two_labels_is_refused(write, size):
    path = write("y.csv", "id,kind\na,x\nb,x\nb,x\na,y\n")
    with pytest.raises(InputError, match="id 'a' has two labels"):
        read(path, ["a", "b"], size)
