"""Converting a graph gives the graph that `read_graph` reads, however small the parts are."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brgcl.data import open_graph, read_graph
from brgcl.data.convert import convert_files
from brgcl.errors import InputError
from brgcl.method.sparse import is_sparse

TINY = 16 * 40  # bytes: parts of some lines, and ranges of ten entries


def same_graph(one, other):
    """Compare two graphs field by field."""
    assert one.edge_index.tolist() == other.edge_index.tolist()
    assert is_sparse(one.x) == is_sparse(other.x)
    assert one.x.to_dense().tolist() == other.x.to_dense().tolist()
    assert one.y.tolist() == other.y.tolist()
    assert one.class_names == other.class_names
    assert one.get("feature_names") == other.get("feature_names")
    assert one.node_ids.tolist() == other.node_ids.tolist()
    assert one.node_ids.dtype == other.node_ids.dtype
    assert (one.get("edge_weight") is None) == (other.get("edge_weight") is None)
    if one.get("edge_weight") is not None:
        assert one.edge_weight.tolist() == other.edge_weight.tolist()
    assert one.name == other.name


def convert_and_compare(out, *files, said=None, **options):
    """Convert, and compare with what `read_graph` reads: result, messages or error."""
    outcomes = []
    for read in (
        lambda: read_graph(*files, **options),
        lambda: (convert_files(out, *files, memory=TINY, **options), open_graph(out))[1],
    ):
        try:
            outcomes.append(read())
        except InputError as error:
            outcomes.append(error)
    expected, found = outcomes
    if isinstance(expected, InputError):
        assert isinstance(found, InputError), (expected, found)
        assert str(found) == str(expected)
        assert not out.exists()
    else:
        if isinstance(found, InputError):
            raise found
        same_graph(found, expected)
    return expected


IDS = {
    "numbers": lambda n: [str(3 * i - 4) for i in range(n)],
    "texts": lambda n: [f"n {i}" if i % 3 else f"É{i:03d}" for i in range(n)],
    "fractions": lambda n: [f"{i}.0" if i % 2 else str(i) for i in range(n)],
    "padded": lambda n: [f"{i:04d}" for i in range(n)],
}


@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_converted_graph_is_the_one_that_is_read(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("own")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    num_nodes, num_edges = data.draw(st.integers(2, 40)), data.draw(st.integers(1, 120))
    ids = np.array(IDS[data.draw(st.sampled_from(list(IDS)))](num_nodes), dtype=object)
    ends = rng.integers(0, num_nodes, (2, num_edges))
    edges = pd.DataFrame({"source": ids[ends[0]], "target": ids[ends[1]]})
    if data.draw(st.booleans()):
        edges["weight"] = rng.integers(1, 9, num_edges) / 4  # sums are exact in any order
    x = rng.normal(size=(num_nodes, 4)) * (rng.random((num_nodes, 4)) < rng.choice([0.1, 1]))
    features = pd.DataFrame(x.astype(np.float32), columns=list("abcd"))
    features.insert(2, "id", rng.permutation(ids))
    shown = rng.random(num_nodes) < 0.7
    words = rng.choice(["red", "blue", "", "NA", "10", "9.0"], num_nodes)
    labels = pd.DataFrame({"node": ids, "kind": words})[shown]
    files = [folder / "edges", folder / "features", folder / "labels"]
    kinds = st.sampled_from([".csv", ".tsv", ".csv.gz", ".txt", ".parquet"])
    header = data.draw(st.booleans())
    for i, frame in enumerate((edges, features, labels)):
        kind = data.draw(kinds)
        files[i] = files[i].with_name(files[i].name + kind)
        if kind == ".parquet":
            frame.to_parquet(files[i], row_group_size=7)
            continue
        separator = "\t" if kind in (".tsv", ".txt") else ","
        frame.to_csv(files[i], sep=separator, index=False, header=i == 1 or header)
    given = data.draw(st.sampled_from([3, 2, 1]))
    convert_and_compare(
        folder / "graph", *files[:given], header=data.draw(st.sampled_from([None, header]))
    )


@pytest.mark.parametrize(
    ("edges", "options"),
    [
        ("u,v\n" + "1,2\n" * 30 + "x,2\n", {}),  # text above numbers, until it is not
        ("one,two\n" + "1,2\n" * 40, {}),
        ("one,two\n" + "1,2\n" * 40 + "3,z\n", {}),
        ("source,target\n" + "a,b\n" * 30 + "target,b\n", {}),
        ("a,b\n" * 40, {}),
        ("a,b\n" * 40, {"header": False}),
        ("source,target\n" + "a,b\n" * 30 + "a\n", {}),
        ("source,target\n" + "a,b\n" * 30 + ",b\n", {}),
        ("source,target,weight\n" + "a,b,1\n" * 30 + "a,b,-1\n", {}),
        ("source,target,weight\n" + "a,b,1\n" * 30 + "a,b,much\n", {}),
        ("source,target,note\n" + "a,b,hello\n" * 30, {}),
        ('source,target\n"a, and\nmore",b\n' * 12, {"header": False}),
        ("source,target\r\n" + "a,b\r\n" * 30 + "\r\n\r\nb,c", {}),
        ("\ufeffsource,target\n\n\n" + "a,b\n" * 30, {}),
        ("source,target\n", {}),
        ("", {}),
    ],
)
def test_the_rules_for_edges_are_those_of_read_graph(write, tmp_path, said, edges, options):
    path = write("e.csv", edges)
    convert_and_compare(tmp_path / "graph", path, **options)


@pytest.mark.parametrize(
    "text",
    [
        "# a graph\n" * 20 + "1 2\n2   3\n" * 20 + "# the end\n",
        "1\t2\n" * 30 + "  # aside\n" + "2\t3\n" * 20,
        "1 2 {}\n" * 40,
        "1 2 {'weight': 3}\n" * 40,
    ],
)
def test_the_rules_for_plain_text_hold_in_every_part(write, tmp_path, text):
    convert_and_compare(tmp_path / "graph", write("e.txt", text))


@pytest.mark.parametrize(
    ("features", "labels"),
    [
        ("id,f\n" + "".join(f"{c},1\n" for c in "abcdefghijklmnopqrstuvwxyza"), None),
        ("id,f\n" + "".join(f"{c},1\n" for c in "abcdefghijklmnopqrstuvwxy") + "z,nan\n", None),
        ("id,f\n" + "".join(f"{c},1\n" for c in "abcdefghijklmnopqrstuvwxy") + "z,two\n", None),
        ("id,f\nb,1\nc,2\n", None),
        ("id,f\na,1\nb,2\n", "id,kind\n" + "a,1\n" * 30 + "b,-1\n"),
        ("id,f\na,1\nb,2\n", "id,kind\n" + "a,1\n" * 30 + "c,2\n"),
        ("id,f\na,1\nb,2\n", "id,kind\n" + "a,x\n" * 30 + "b,?\nb,NA\n"),
        ("id,f,class\na,1,x\nb,2,y\n", None),
        ("1,2\n3,4\n", None),
    ],
)
def test_the_rules_for_nodes_are_those_of_read_graph(write, tmp_path, features, labels):
    files = [write("e.csv", "source,target\na,b\n"), write("x.csv", features)]
    if labels is not None:
        files.append(write("y.csv", labels))
    convert_and_compare(tmp_path / "graph", *files)


def test_two_labels_of_a_node_are_refused_in_whatever_parts_they_are(write, tmp_path):
    edges = write("e.csv", "source,target\na,b\n")
    for rows in ("a,x\na,y\n", "a,x\n" + "b,z\n" * 40 + "a,y\n", "a,x\n" + "b,z\n" * 40 + "a,?\n"):
        labels = write("y.csv", "id,kind\n" + rows)
        with pytest.raises(InputError, match=r"y.csv line \d+: id 'a' has two labels"):
            convert_files(tmp_path / "graph", edges, None, labels, memory=TINY)


def test_labels_may_be_a_column_of_the_features(write, tmp_path):
    edges = write("e.csv", "source,target\na,b\nb,c\n")
    features = write("x.csv", "id,f,kind\na,1,x\nb,2,y\nc,3,\n")
    convert_and_compare(tmp_path / "graph", edges, features, label="kind", id="id")


def test_matrices_are_read_as_they_are(write, tmp_path):
    edges = write("e.csv", "source,target\n" + "0,1\n1,29\n" * 20)
    x = np.random.default_rng(0).normal(size=(30, 5))
    for name, value in (
        ("d", x),
        ("f", np.asfortranarray(x)),
        ("b", x.astype(">f8")),
        ("0", 0 * x),
    ):
        np.save(tmp_path / f"{name}.npy", value)
        convert_and_compare(tmp_path / f"g{name}", edges, tmp_path / f"{name}.npy")
    scipy.sparse.save_npz(tmp_path / "s.npz", scipy.sparse.csr_array(x * (x > 1)))
    with pytest.raises(InputError, match="memory is limited to"):
        convert_files(tmp_path / "g", edges, tmp_path / "s.npz", memory=TINY)
    convert_files(tmp_path / "g", edges, tmp_path / "s.npz")
    same_graph(open_graph(tmp_path / "g"), read_graph(edges, tmp_path / "s.npz"))
    x[20, 3] = np.inf
    np.save(tmp_path / "bad.npy", x)
    convert_and_compare(tmp_path / "bad", edges, tmp_path / "bad.npy")
    np.save(tmp_path / "bad.npy", np.zeros((30, 0)))
    convert_and_compare(tmp_path / "bad", edges, tmp_path / "bad.npy")
    np.save(tmp_path / "bad.npy", np.zeros(3))
    convert_and_compare(tmp_path / "bad", edges, tmp_path / "bad.npy")
    convert_and_compare(tmp_path / "bad", edges, tmp_path / "none.npy")


def test_vectors_of_parquet_have_one_length_in_all_parts(tmp_path):
    pd.DataFrame({"source": [0], "target": [1]}).to_parquet(tmp_path / "e.parquet")
    frame = pd.DataFrame({"id": range(60), "v": [[1.0, 2.0]] * 60})
    frame.to_parquet(tmp_path / "x.parquet")
    convert_and_compare(tmp_path / "g", tmp_path / "e.parquet", tmp_path / "x.parquet")
    frame.loc[59, "v"] = [1.0]
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=5)
    with pytest.raises(InputError, match="vectors of different lengths"):
        convert_files(tmp_path / "h", tmp_path / "e.parquet", tmp_path / "x.parquet", memory=TINY)


def test_many_nodes_without_attributes_are_described_by_their_degree(write, tmp_path, monkeypatch):
    monkeypatch.setattr("brgcl.data.attributes.MAX_IDENTITY", 3)
    rows = "".join(f"{i % 5},{i % 7}\n" for i in range(60))
    convert_and_compare(tmp_path / "g", write("e.csv", "source,target\n" + rows))


def test_messages_are_those_of_read_graph(write, tmp_path, said, caplog):
    edges = write("e.csv", "source,target,weight\n" + "a,b,1\nb,a,2\nc,c,1\nb,c,1\n" * 9)
    read_graph(edges)
    expected = said()
    caplog.clear()
    convert_files(tmp_path / "g", edges, memory=TINY)
    assert sorted(said()) == sorted(expected)
    assert "9 self-loops removed" in expected
