import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brgcl.data import read_graph
from brgcl.errors import InputError
from brgcl.method.sparse import is_sparse

PATH = [[0, 1, 1, 2], [1, 0, 2, 1]]
EDGES = "from,to\na,b\nb,c\n"
FEATURES = "id,f1,f2\na,1,2\nb,3,4\nc,5,6\n"


def test_three_tables_make_a_graph(write):
    data = read_graph(
        write("links.csv", EDGES),
        write("x.csv", FEATURES),
        write("y.csv", "node,kind\nc,red\na,blue\nb,\n"),
    )
    assert data.edge_index.tolist() == PATH
    assert data.x.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert data.y.tolist() == [0, -1, 1]
    assert data.class_names == ["blue", "red"]
    assert data.node_ids.tolist() == ["a", "b", "c"]
    assert data.name == "links"
    assert "edge_weight" not in data


def test_parquet_files_with_typed_columns(tmp_path):
    pd.DataFrame({"s": [10, 7], "t": [7, 3], "weight": [2, 4]}).to_parquet(tmp_path / "e.parquet")
    table = pd.DataFrame({"a": [1.5, 2.5, 3.5], "b": [True, False, True]}, index=[3, 7, 10])
    table.to_parquet(tmp_path / "x.parquet")  # the ids are in the index, which is written last
    labels = pd.DataFrame({"id": [3, 7, 10], "label": [9.0, np.nan, 10.0]})
    labels.to_parquet(tmp_path / "y.parquet")
    data = read_graph(*(tmp_path / f"{name}.parquet" for name in "exy"))
    assert data.node_ids.tolist() == [3, 7, 10]
    assert data.x.tolist() == [[1.5, 1], [2.5, 0], [3.5, 1]]
    assert data.edge_index.tolist() == PATH
    assert data.edge_weight.tolist() == [4, 4, 2, 2]
    assert data.y.tolist() == [0, -1, 1]
    assert data.class_names == ["9", "10"]


def test_without_features_nodes_are_sorted_and_get_a_column_each(write):
    data = read_graph(write("e.csv", "source,target\n10,9\n9,100\n"))
    assert data.node_ids.tolist() == [9, 10, 100]
    assert data.node_ids.dtype == np.int64
    assert data.x.to_dense().tolist() == np.eye(3).tolist()
    assert read_graph(write("f.csv", "source,target\n10,9\n9,x\n")).node_ids.tolist() == [
        "10",
        "9",
        "x",
    ]


def test_matrix_files_number_the_nodes(write, tmp_path):
    edges = write("e.csv", "source,target\n0,1\n1,2\n")
    np.save(tmp_path / "x.npy", np.arange(6).reshape(3, 2))
    dense = read_graph(edges, tmp_path / "x.npy")
    assert dense.x.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert not is_sparse(dense.x)
    np.savez(tmp_path / "dense.npz", np.arange(6).reshape(3, 2))
    assert read_graph(edges, tmp_path / "dense.npz").x.tolist() == dense.x.tolist()
    scipy.sparse.save_npz(tmp_path / "x.npz", scipy.sparse.csc_array(np.eye(3)))
    sparse = read_graph(edges, tmp_path / "x.npz")
    assert is_sparse(sparse.x)
    assert sparse.node_ids.tolist() == [0, 1, 2]
    assert sparse.edge_index.tolist() == PATH


def test_archive_of_several_arrays_is_refused(write, tmp_path):
    """Defect 58: a dense `.npz` was refused; of several arrays none can be chosen."""
    np.savez(tmp_path / "x.npz", a=np.eye(3), b=np.eye(3))
    with pytest.raises(InputError, match=r"x.npz: .*it holds 2 arrays, .*, not one"):
        read_graph(write("e.csv", "0,1\n"), tmp_path / "x.npz")


@pytest.mark.parametrize("bad", ["-1", "1.5", "3", "01", "x"])
def test_matrix_files_need_ids_in_range(write, tmp_path, bad):
    np.save(tmp_path / "x.npy", np.eye(3))
    edges = write("e.csv", f"source,target\n0,1\n1,{bad}\n")
    with pytest.raises(InputError, match=rf"e.csv line 3: id '{bad}' is not in .*x.npy; .* 0\.\.2"):
        read_graph(edges, tmp_path / "x.npy")


def test_table_with_few_nonzeros_is_kept_sparse(write):
    rows = "\n".join(
        f"{i}," + ",".join("1" if j == i else "0" for j in range(20)) for i in range(20)
    )
    header = "id," + ",".join(f"w{j}" for j in range(20))
    data = read_graph(write("e.csv", "source,target\n0,1\n"), write("x.csv", f"{header}\n{rows}\n"))
    assert is_sparse(data.x)
    assert data.x.to_dense().tolist() == np.eye(20).tolist()


def test_isolated_nodes_and_no_edges_work(write, said):
    data = read_graph(write("e.csv", "source,target\n"), write("x.csv", FEATURES))
    assert data.edge_index.shape == (2, 0)
    assert "the graph has no edges" in said()[0]
    assert (
        read_graph(write("e.csv", "source,target\na,b\n"), write("x.csv", FEATURES)).num_nodes == 3
    )


def test_fixed_edges_are_said_once_with_counts(write, said):
    read_graph(write("e.csv", "source,target\na,a\na,b\na,b\na,b\n"), write("x.csv", FEATURES))
    assert said() == ["1 self-loops removed", "2 repeated edges merged"]


@pytest.mark.parametrize(
    "word", ["", " ", "NA", "nan", "NaN", "None", "null", "NULL", "N/A", "<NA>", "?", "-1", "-1.0"]
)
def test_words_for_a_missing_label_are_unlabelled(write, said, word):
    """Defect 5: NA, nan, None, null, ?, N/A, blanks and -1 became classes."""
    labels = write("y.csv", f"id,y\na,1\nb,{word}\nc,2\n")
    data = read_graph(write("e.csv", EDGES), labels=labels)
    assert data.y.tolist() == [0, -1, 1]
    assert data.class_names == ["1", "2"]
    written = word.strip() or "empty"
    assert [m for m in said() if "missing" in m] == [
        f"{labels}: number of missing labels: 1 ({written})"
    ]


def test_classes_called_minus_one_and_one_are_refused(write):
    """Defect 5: of the classes -1 and 1 one would be lost."""
    labels = write("y.csv", "id,y\na,-1\nb,1\nc,1\n")
    with pytest.raises(InputError, match=r"the labels are -1 and 1, but -1 means unlabelled"):
        read_graph(write("e.csv", EDGES), labels=labels)


def test_ids_with_and_without_a_zero_fraction_are_the_same(write, said):
    """Defect 11: `1` and `1.0` were two nodes, and two classes."""
    data = read_graph(
        write("e.csv", "source,target\n1,2.0\n2.0,3.0\n"),
        write("x.csv", "id,f\n1,1\n2,2\n3,3\n"),
        write("y.csv", "id,label\n1.0,5\n2,5.0\n"),
    )
    assert data.node_ids.tolist() == [1, 2, 3]
    assert data.edge_index.tolist() == PATH
    assert data.class_names == ["5"]
    assert said() == ["ids such as 1.0 are read as 1"]


def test_same_label_twice_is_no_contradiction(write):
    data = read_graph(write("e.csv", EDGES), labels=write("y.csv", "id,y\na,u\na,u\n"))
    assert data.y.tolist() == [0, -1, -1]


ids = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=6)
    | st.sampled_from(["007", "7", "1e5", "NA", "nan", "null", "-0", "3.0", "9" * 30])
    | st.integers(-(2**63), 2**63 - 1).map(str),
    min_size=2,
    max_size=8,
    unique=True,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(ids=ids, kind=st.sampled_from(["csv", "parquet"]))
def test_ids_come_back_exactly_as_written(tmp_path, ids, kind):
    if any("." in text for text in ids):
        ids = [*ids, "a text"]  # among texts 1.0 is not a number
    features = pd.DataFrame({"id": ids, "f": 1.0})
    edges = pd.DataFrame({"source": ids[:-1], "target": ids[1:]})
    for name, table in (("x", features), ("e", edges)):
        path = tmp_path / f"{name}.{kind}"
        table.to_csv(path, index=False) if kind == "csv" else table.to_parquet(path, index=False)
    data = read_graph(tmp_path / f"e.{kind}", tmp_path / f"x.{kind}")
    assert [str(key) for key in data.node_ids] == ids
    assert data.edge_index.shape == (2, 2 * (len(ids) - 1))


@pytest.mark.parametrize(
    ("edges", "features", "labels", "message"),
    [
        (EDGES + "b,z\n", FEATURES, None, r"e.csv line 4: id 'z' is not in .*x.csv; add its row"),
        ("source,target\n\na,b\n\nb,z\n", FEATURES, None, r"e.csv line 5: id 'z'"),
        (EDGES + ",a\n", FEATURES, None, r"e.csv line 4: the id is empty"),
        (EDGES + "b\n", None, None, r"e.csv line 4: 1 columns where the first row has 2"),
        (EDGES + "b,c,d\n", None, None, r"e.csv line 4: 3 columns where the first row has 2"),
        ("", None, None, r"e.csv: the file is empty"),
        ("source,target\n", None, None, r"e.csv: the graph has no nodes"),
        (EDGES, "id,f\n", None, r"id 'a' is not in .*x.csv"),
        ("source,target\n", "id,f\n", None, r"the graph has no nodes"),
        (b"source,target\na,b\n\xff,c\n", None, None, r"e.csv line 3: not UTF-8 text"),
        (b"\xff,t\na,b\n", None, None, r"e.csv line 1: not UTF-8 text"),
        (
            "source,target,weight\na,b,0\n",
            None,
            None,
            r"e.csv line 2, column 'weight': weight 0 is not above",
        ),
        (
            "source,target,weight\na,b,1\nb,c,\n",
            None,
            None,
            r"e.csv line 3, column 'weight': .* missing or NaN",
        ),
        (
            "source,target,weight\na,b,much\n",
            None,
            None,
            r"line 2, column 'weight': 'much' is not a number",
        ),
        (EDGES, "id,f,g\na,1,2\nb,3,nan\n", None, r"x.csv line 3, column 'g': .* missing or NaN"),
        (EDGES, "id,f,g\na,1,2\nb,inf,1\n", None, r"x.csv line 3, column 'f': the value is inf"),
        (EDGES, "id,f\na,1e300\nb,1\n", None, r"is 1e\+300, which is too large for a 32-bit"),
        (
            EDGES,
            "id,f,g\na,1,2\nb,1,red\n",
            None,
            r"x.csv line 3, column 'g': 'red' is not a number",
        ),
        ("0,1\n", "id,f\n1,0\n0,0\n1.0,0\n", None, r"x.csv line 4: id '1' is duplicated; keep"),
        (EDGES, FEATURES + "b,1,1\n", None, r"x.csv line 5: id 'b' is duplicated; keep one row"),
        (EDGES, "0,1.5\n1,2.5\n", None, r"x.csv: the first row holds only numbers, so it is no"),
        (EDGES, None, "id,y\na,u\nq,v\n", r"y.csv line 3: id 'q' is not in .*e.csv"),
        (
            EDGES,
            None,
            "id,y\na,u\na,v\n",
            r"y.csv line 2: id 'a' has label 'u' here and 'v' further",
        ),
    ],
)
def test_bad_table_is_refused_with_its_line(write, edges, features, labels, message):
    files = [write("e.csv", edges), None, None]
    if features is not None:
        files[1] = write("x.csv", features)
    if labels is not None:
        files[2] = write("y.csv", labels)
    with pytest.raises(InputError, match=message):
        read_graph(*files)


def test_missing_and_unknown_files(write, tmp_path):
    edges = write("e.csv", EDGES)
    with pytest.raises(InputError, match=r"nowhere.csv: no such file"):
        read_graph(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match=r"x.npy: no such file"):
        read_graph(edges, tmp_path / "x.npy")
    with pytest.raises(InputError, match=r"'.xlsx'; accepted: .csv, .tsv, .txt, .edgelist"):
        read_graph(write("e.xlsx", EDGES))
    with pytest.raises(
        InputError, match=r"'.json'; accepted: .csv, .tsv, .txt, .edgelist, .parquet, .npy, .npz"
    ):
        read_graph(edges, write("x.json", "{}"))


@pytest.mark.parametrize("thing", [None, 3, pd.DataFrame({"source": ["a"], "target": ["b"]})])
def test_what_is_no_path_is_refused(write, thing):
    """Defect 29: `read_graph(None)` and `read_graph(DataFrame)` raised a TypeError."""
    with pytest.raises(InputError, match=rf"edges must be the path .*, got {type(thing).__name__}"):
        read_graph(thing)
    if thing is not None:
        with pytest.raises(InputError, match="features must be the path of a file"):
            read_graph(write("e.csv", EDGES), thing)
        with pytest.raises(InputError, match="labels must be the path of a file"):
            read_graph(write("e.csv", EDGES), None, thing)


def test_pickled_arrays_are_not_opened(write, tmp_path):
    np.save(tmp_path / "x.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match=r"x.npy: cannot be read as a matrix of numbers"):
        read_graph(write("e.csv", EDGES), tmp_path / "x.npy")


@pytest.mark.parametrize("sparse", [False, True])
def test_matrix_with_a_bad_cell_names_it(write, tmp_path, sparse):
    matrix = np.eye(3)
    matrix[1, 2] = np.nan
    edges = write("e.csv", "source,target\n0,1\n")
    if sparse:
        scipy.sparse.save_npz(tmp_path / "x.npz", scipy.sparse.csr_array(matrix))
    else:
        np.save(tmp_path / "x.npy", matrix)
    with pytest.raises(InputError, match=r"row 1, column 2: the value is not finite"):
        read_graph(edges, tmp_path / ("x.npz" if sparse else "x.npy"))


def test_matrix_of_wrong_kind_is_refused(write, tmp_path):
    np.save(tmp_path / "x.npy", np.ones(3))
    with pytest.raises(InputError, match=r"x.npy must be a matrix of numbers .* shape \(3,\)"):
        read_graph(write("e.csv", "source,target\n0,1\n"), tmp_path / "x.npy")
