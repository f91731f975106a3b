import gzip

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from brgcl.data import read_graph
from brgcl.data.table_files import read_table
from brgcl.errors import InputError

PATH = [[0, 1, 1, 2], [1, 0, 2, 1]]
EDGES = "from,to\na,b\nb,c\n"
FEATURES = "id,f1,f2\na,1,2\nb,3,4\nc,5,6\n"


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
        ("e.csv", EDGES.replace(",", ";")),
        ("e.csv", EDGES.replace(",", "\t")),
        ("e.csv", EDGES.replace("\n", "\r")),
        ("e.csv", " from , to\n a ,b\xa0\nb, c\n"),
        ("e.txt", "from  to \n  a   b\nb \t c\n"),
        ("e.txt", EDGES.replace(",", ";")),
        ("e.edgelist", EDGES.replace(",", " ")),
        ("e.edgelist", "from to\na b {}\nb c {}\n"),
    ],
)
def test_every_text_form_gives_the_same_graph(write, name, content):
    data = read_graph(write(name, content), write("x.csv", FEATURES))
    assert data.edge_index.tolist() == PATH


def test_blanks_around_a_cell_are_no_part_of_it(write):
    """Defect 11: `x, y` made two nodes, ' y' and 'y'; so did a trailing or no-break space."""
    data = read_graph(
        write("e.csv", "source, target\nx, y\ny\xa0,z\n"),
        write("x.csv", "id ,f\nx ,1\n y,2\n\xa0z,3\n"),
        write("y.csv", "id,label\nx,A \ny,A\nz,\xa0A\n"),
    )
    assert data.node_ids.tolist() == ["x", "y", "z"]
    assert data.edge_index.tolist() == PATH
    assert data.class_names == ["A"]


def test_comments_inside_a_text_file_are_skipped(write, said):
    """Defect 12: `# more` in the middle of a .txt file made the nodes '#' and 'more'."""
    edges = write("e.txt", "# SNAP\n# from to\n0 1\n# more\n1 2\n  # and more\n2 x 9\n")
    table = read_table(edges)
    with pytest.raises(InputError, match=r"e.txt line 7: 3 columns where the first row has 2"):
        table.texts("column 1")
    edges = write("e.txt", "# SNAP\n# from to\n0 1\n# more\n1 2\n")
    assert read_graph(edges).node_ids.tolist() == [0, 1, 2]
    assert "e.txt: 1 lines that begin with # are skipped inside the table" in said()[-3]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_numbers_count_quoted_newlines_and_blank_lines(write, ending):
    """Defect 37: after a quoted newline the number of the line was wrong."""
    text = 'source,target,note\na,b,"two\nlines"\n\nb,z,\n'
    edges = write("e.csv", text.replace("\n", ending))
    with pytest.raises(InputError, match=r"e.csv line 5: id 'z' is not in"):
        read_graph(edges, write("x.csv", FEATURES))


def test_data_of_networkx_edge_lists_are_refused_with_the_remedy(write):
    """Defect 58: `.edgelist` files were refused."""
    with pytest.raises(InputError, match=r"dictionary of edge data; write plain columns instead"):
        read_graph(write("e.edgelist", "a b {'weight': 3}\nb c {'weight': 1}\n"))


def test_parquet_problems_name_the_row_and_column(write, tmp_path):
    edges = write("e.csv", EDGES)
    pd.DataFrame({"id": ["a", "b"], "f": ["1", "2"]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"x.parquet: column 'f' holds .*string, not numbers"):
        read_graph(edges, tmp_path / "x.parquet")
    pd.DataFrame({"id": ["a", "b"], "f": [1, None]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"x.parquet row 1, column 'f': the value is missing"):
        read_graph(edges, tmp_path / "x.parquet")


@pytest.mark.parametrize("values", [[[1], [2]], [b"\xff", b"a"], [{"a": 1}, {"a": 2}]])
def test_parquet_labels_of_other_kinds_are_refused(write, tmp_path, values):
    """Defect 23: lists or bytes as labels raised ArrowInvalid."""
    pd.DataFrame({"id": ["a", "b"], "label": values}).to_parquet(tmp_path / "y.parquet")
    with pytest.raises(InputError, match=r"y.parquet: column 'label' holds .*; an id or a label"):
        read_graph(write("e.csv", EDGES), labels=tmp_path / "y.parquet")


def test_parquet_ids_beyond_integers_stay_text(tmp_path):
    """Defect 23: an id of 1e300 raised ArrowInvalid."""
    pd.DataFrame({"source": [1e300, 2.0], "target": [2.0, 3.0]}).to_parquet(tmp_path / "e.parquet")
    assert read_graph(tmp_path / "e.parquet").node_ids.tolist() == ["1e+300", "2", "3"]


def test_csv_with_carriage_returns_alone(write):
    """Defect 23: a file with the line ends of old Macs raised an error of csv."""
    assert read_graph(write("e.csv", "source,target\ra,b\rb,c\r")).edge_index.tolist() == PATH
    with pytest.raises(InputError, match=r"e.csv line 1: not a row of a table \(field larger"):
        read_graph(write("e.csv", "a" * 200_000 + ",b\n"))


def test_vectors_in_a_parquet_column_become_attributes(write, tmp_path):
    """Defect 58: columns of lists were refused."""
    table = pd.DataFrame({"id": list("abc"), "age": [7, 8, 9], "v": [[1.0, 2], [3, 4], [5, 6]]})
    table.to_parquet(tmp_path / "x.parquet")
    data = read_graph(write("e.csv", EDGES), tmp_path / "x.parquet")
    assert data.x.tolist() == [[7, 1, 2], [8, 3, 4], [9, 5, 6]]
    table["v"] = [[1.0, 2], [3, np.nan], [5, 6]]
    table.to_parquet(tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"x.parquet row 1, column 'v\[1\]': the value is missing"):
        read_graph(write("e.csv", EDGES), tmp_path / "x.parquet")
    for bad in ([[1.0, 2], [3], [5, 6]], [[1.0, 2], None, [5, 6]]):
        table["v"] = bad
        table.to_parquet(tmp_path / "x.parquet")
        with pytest.raises(InputError, match=r"column 'v' holds vectors of different lengths"):
            read_graph(write("e.csv", EDGES), tmp_path / "x.parquet")


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
    with pytest.raises(InputError, match=r"cut.npy: cannot be read as a matrix of numbers"):
        read_graph(edges, write("cut.npy", (tmp_path / "x.npy").read_bytes()[:-5]))
    scipy.sparse.save_npz(tmp_path / "x.npz", scipy.sparse.eye_array(9).tocsr())
    with pytest.raises(InputError, match=r"cut.npz: cannot be read as a matrix of numbers"):
        read_graph(edges, write("cut.npz", (tmp_path / "x.npz").read_bytes()[:-5]))
