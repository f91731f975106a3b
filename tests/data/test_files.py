import gzip
import logging
from pathlib import Path

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


@pytest.fixture
def write(tmp_path: Path):
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


def said(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(r.getMessage() for r in caplog.records if r.name == "brgcl")


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


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.csv", EDGES),
        ("e.csv", "\ufeff" + EDGES.replace("\n", "\r\n")),
        ("e.csv", 'from,to\n"a",b\n\nb,c\n\n'),
        ("e.tsv", EDGES.replace(",", "\t")),
        ("e.txt", "# a comment\n# another\n" + EDGES.replace(",", " ")),
        ("e.txt", EDGES.replace(",", "\t")),
        ("e.CSV", EDGES.rstrip("\n")),
        ("e.csv.gz", EDGES),
    ],
)
def test_every_text_form_gives_the_same_graph(write, name, content):
    data = read_graph(write(name, content), write("x.csv", FEATURES))
    assert data.edge_index.tolist() == PATH


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


def test_columns_are_chosen_by_name(write):
    data = read_graph(
        write("e.csv", "when,head,tail,n\n1,b,a,3\n2,c,b,5\n"),
        write("x.csv", "f,key\n1,a\n2,b\n3,c\n"),
        write("y.csv", "kind,key\nu,a\n"),
        source="tail",
        target="head",
        weight="n",
        id="key",
        label="kind",
    )
    assert data.edge_index.tolist() == PATH
    assert data.edge_weight.tolist() == [3, 3, 5, 5]
    assert data.x.tolist() == [[1], [2], [3]]
    assert data.y.tolist() == [0, -1, -1]


def test_integers_in_the_first_row_mean_no_header(write, caplog):
    caplog.set_level(logging.INFO, "brgcl")
    data = read_graph(write("e.csv", "0,1\n1,2\n"), labels=write("y.csv", "0,5\n1,10\n2,5\n"))
    assert data.edge_index.tolist() == PATH
    assert data.y.tolist() == [0, 1, 0]
    assert data.class_names == ["5", "10"]
    assert "e.csv: the first row holds integers, so the file is read without a header" in said(
        caplog
    )


def test_unread_column_is_said(write, caplog):
    read_graph(write("e.csv", "a,b,year\nx,y,1999\n"))
    assert "column 'year' is not read; set weight= to it if it holds weights" in said(caplog)


def test_without_features_nodes_are_sorted_and_get_a_column_each(write):
    data = read_graph(write("e.csv", "s,t\n10,9\n9,100\n"))
    assert data.node_ids.tolist() == [9, 10, 100]
    assert data.node_ids.dtype == np.int64
    assert data.x.to_dense().tolist() == np.eye(3).tolist()
    assert read_graph(write("f.csv", "s,t\n10,9\n9,x\n")).node_ids.tolist() == ["10", "9", "x"]


def test_matrix_files_number_the_nodes(write, tmp_path):
    edges = write("e.csv", "s,t\n0,1\n1,2\n")
    np.save(tmp_path / "x.npy", np.arange(6).reshape(3, 2))
    dense = read_graph(edges, tmp_path / "x.npy")
    assert dense.x.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert not is_sparse(dense.x)
    scipy.sparse.save_npz(tmp_path / "x.npz", scipy.sparse.csc_array(np.eye(3)))
    sparse = read_graph(edges, tmp_path / "x.npz")
    assert is_sparse(sparse.x)
    assert sparse.node_ids.tolist() == [0, 1, 2]
    assert sparse.edge_index.tolist() == PATH


@pytest.mark.parametrize("bad", ["-1", "1.5", "3", "01", "x"])
def test_matrix_files_need_ids_in_range(write, tmp_path, bad):
    np.save(tmp_path / "x.npy", np.eye(3))
    edges = write("e.csv", f"s,t\n0,1\n1,{bad}\n")
    with pytest.raises(InputError, match=rf"e.csv line 3: id '{bad}' is not in .*x.npy; .* 0\.\.2"):
        read_graph(edges, tmp_path / "x.npy")


def test_table_with_few_nonzeros_is_kept_sparse(write):
    rows = "\n".join(
        f"{i}," + ",".join("1" if j == i else "0" for j in range(20)) for i in range(20)
    )
    header = "id," + ",".join(f"w{j}" for j in range(20))
    data = read_graph(write("e.csv", "s,t\n0,1\n"), write("x.csv", f"{header}\n{rows}\n"))
    assert is_sparse(data.x)
    assert data.x.to_dense().tolist() == np.eye(20).tolist()


def test_isolated_nodes_and_no_edges_work(write, caplog):
    data = read_graph(write("e.csv", "s,t\n"), write("x.csv", FEATURES))
    assert data.edge_index.shape == (2, 0)
    assert "the graph has no edges" in said(caplog)
    assert read_graph(write("e.csv", "s,t\na,b\n"), write("x.csv", FEATURES)).num_nodes == 3


def test_mended_edges_are_said_once_with_counts(write, caplog):
    read_graph(write("e.csv", "s,t\na,a\na,b\na,b\na,b\n"), write("x.csv", FEATURES))
    assert said(caplog).splitlines() == ["1 self-loops removed", "2 repeated edges merged"]


def test_minus_one_is_a_class_and_said_to_be(write, caplog):
    data = read_graph(write("e.csv", EDGES), labels=write("y.csv", "id,y\na,-1\nb,1\n"))
    assert data.class_names == ["-1", "1"]
    assert "'-1' is read as a class" in said(caplog)


def test_same_label_twice_is_no_contradiction(write):
    data = read_graph(write("e.csv", EDGES), labels=write("y.csv", "id,y\na,u\na,u\n"))
    assert data.y.tolist() == [0, -1, -1]


ids = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=6)
    | st.sampled_from(["007", "7", "1e5", "NA", "nan", "null", "-0", "3.0", " x", "9" * 30])
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
    features = pd.DataFrame({"id": ids, "f": 1.0})
    edges = pd.DataFrame({"s": ids[:-1], "t": ids[1:]})
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
        ("s,t\n\na,b\n\nb,z\n", FEATURES, None, r"e.csv line 5: id 'z'"),
        (EDGES + ",a\n", FEATURES, None, r"e.csv line 4: the id is empty"),
        (EDGES + "b\n", None, None, r"e.csv line 4: 1 columns where the header has 2"),
        (EDGES + "b,c,d\n", None, None, r"e.csv line 4: 3 columns where the header has 2"),
        ("s;t\na;b\n", None, None, r"e.csv has 1 column\(s\) but needs 2; .* separated by ','"),
        ("s,s\na,b\n", None, None, r"e.csv: two columns are called 's'; rename one"),
        ("", None, None, r"e.csv: the file is empty"),
        ("s,t\n", None, None, r"e.csv: the graph has no nodes"),
        (EDGES, "id,f\n", None, r"id 'a' is not in .*x.csv"),
        ("s,t\n", "id,f\n", None, r"the graph has no nodes"),
        (b"s,t\na,b\n\xff,c\n", None, None, r"e.csv line 3: not UTF-8 text"),
        (b"\xff,t\na,b\n", None, None, r"e.csv line 1: not UTF-8 text"),
        (
            "s,t,weight\na,b,0\n",
            None,
            None,
            r"e.csv line 2, column 'weight': weight 0 is not above",
        ),
        (
            "s,t,weight\na,b,1\nb,c,\n",
            None,
            None,
            r"e.csv line 3, column 'weight': .* missing or NaN",
        ),
        ("s,t,weight\na,b,much\n", None, None, r"line 2, column 'weight': 'much' is not a number"),
        (EDGES, "id,f,g\na,1,2\nb,3,nan\n", None, r"x.csv line 3, column 'g': .* missing or NaN"),
        (EDGES, "id,f,g\na,1,2\nb,inf,1\n", None, r"x.csv line 3, column 'f': the value is inf"),
        (
            EDGES,
            "id,f,g\na,1,2\nb,1,red\n",
            None,
            r"x.csv line 3, column 'g': 'red' is not a number",
        ),
        (EDGES, FEATURES + "b,1,1\n", None, r"x.csv line 5: id 'b' stands twice; keep one row"),
        (EDGES, "id\na\nb\nc\n", None, r"x.csv: no column beside the id 'id'"),
        (EDGES, "0,1.5\n1,2.5\n", None, r"x.csv: the first row holds only numbers, so it is no"),
        (EDGES, None, "id,y\na,u\nq,v\n", r"y.csv line 3: id 'q' is not in .*e.csv"),
        (
            EDGES,
            None,
            "id,y\na,u\na,v\n",
            r"y.csv line 2: id 'a' has label 'u' here and 'v' further",
        ),
        (EDGES, None, "id\na\n", r"y.csv has 1 column\(s\) but needs 2"),
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


def test_unknown_column_lists_the_known_ones(write):
    with pytest.raises(InputError, match=r"no column 'src'; set source= to one of: from, to"):
        read_graph(write("e.csv", EDGES), source="src")


def test_missing_and_unknown_files(write, tmp_path):
    edges = write("e.csv", EDGES)
    with pytest.raises(InputError, match=r"nowhere.csv: no such file"):
        read_graph(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match=r"x.npy: no such file"):
        read_graph(edges, tmp_path / "x.npy")
    with pytest.raises(InputError, match=r"'.xlsx'; accepted: .csv, .tsv, .txt, .parquet"):
        read_graph(write("e.xlsx", EDGES))
    with pytest.raises(
        InputError, match=r"'.json'; accepted: .csv, .tsv, .txt, .parquet, .npy, .npz"
    ):
        read_graph(edges, write("x.json", "{}"))


def test_truncated_files(write, tmp_path):
    edges = write("e.csv", EDGES)
    packed = gzip.compress(EDGES.encode() * 50)
    (tmp_path / "cut.csv.gz").write_bytes(packed[:-9])
    with pytest.raises(InputError, match=r"cut.csv.gz: cannot be read, is it complete"):
        read_graph(tmp_path / "cut.csv.gz")
    pd.DataFrame({"id": ["a"], "f": [1]}).to_parquet(tmp_path / "x.parquet")
    content = (tmp_path / "x.parquet").read_bytes()
    with pytest.raises(InputError, match=r"cut.parquet: not a complete Parquet file"):
        read_graph(edges, write("cut.parquet", content[:-20]))
    np.save(tmp_path / "x.npy", np.eye(9))
    with pytest.raises(InputError, match=r"cut.npy: cannot be read as an array of numbers"):
        read_graph(edges, write("cut.npy", (tmp_path / "x.npy").read_bytes()[:-5]))
    scipy.sparse.save_npz(tmp_path / "x.npz", scipy.sparse.eye_array(9).tocsr())
    with pytest.raises(InputError, match=r"cut.npz: cannot be read as a scipy sparse matrix"):
        read_graph(edges, write("cut.npz", (tmp_path / "x.npz").read_bytes()[:-5]))


def test_pickled_arrays_are_not_opened(write, tmp_path):
    np.save(tmp_path / "x.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match=r"x.npy: cannot be read as an array of numbers"):
        read_graph(write("e.csv", EDGES), tmp_path / "x.npy")


@pytest.mark.parametrize("sparse", [False, True])
def test_matrix_with_a_bad_cell_names_it(write, tmp_path, sparse):
    matrix = np.eye(3)
    matrix[1, 2] = np.nan
    edges = write("e.csv", "s,t\n0,1\n")
    if sparse:
        scipy.sparse.save_npz(tmp_path / "x.npz", scipy.sparse.csr_array(matrix))
    else:
        np.save(tmp_path / "x.npy", matrix)
    with pytest.raises(InputError, match=r"row 1, column 2: the value is not finite"):
        read_graph(edges, tmp_path / ("x.npz" if sparse else "x.npy"))


def test_matrix_of_wrong_kind_is_refused(write, tmp_path):
    np.save(tmp_path / "x.npy", np.ones(3))
    with pytest.raises(InputError, match=r"x.npy must be a matrix of numbers .* shape \(3,\)"):
        read_graph(write("e.csv", "s,t\n0,1\n"), tmp_path / "x.npy")


def test_parquet_problems_name_the_row_and_column(write, tmp_path):
    edges = write("e.csv", EDGES)
    pd.DataFrame({"id": ["a", "b"], "f": ["1", "2"]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"x.parquet: column 'f' holds .*string, not numbers"):
        read_graph(edges, tmp_path / "x.parquet")
    pd.DataFrame({"id": ["a", "b"], "f": [1, None]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"x.parquet row 1, column 'f': the value is missing"):
        read_graph(edges, tmp_path / "x.parquet")
