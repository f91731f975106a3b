import pandas as pd
import pytest

from brgcl.data import read_graph
from brgcl.errors import InputError

PATH = [[0, 1, 1, 2], [1, 0, 2, 1]]
EDGES = "from,to\na,b\nb,c\n"
FEATURES = "id,f1,f2\na,1,2\nb,3,4\nc,5,6\n"


@pytest.mark.parametrize(
    "text", ["ann,bob\nbob,cleo\n", "follower,followed\nann,bob\nbob,cleo\n", "ann,bob,3\n"]
)
def test_edges_of_text_without_known_names_ask_for_the_header(write, text):
    """Defect 4: a file without a header lost its first edge."""
    edges = write("e.csv", text)
    with pytest.raises(
        InputError,
        match=r"first row \(.*\) may hold names .* header=True or header=False",
    ):
        read_graph(edges)
    num_rows = text.count("\n")
    assert read_graph(edges, header=False).num_edges == 2 * num_rows
    if num_rows > 1:
        assert read_graph(edges, header=True).num_edges == 2 * (num_rows - 1)


@pytest.mark.parametrize("text", ["0,1\n1,2\n", "0.0,1.0\n1.0,2.0\n", "0 1\n1 2\n"])
def test_numbers_in_the_first_row_mean_no_header(write, said, text):
    """Defect 4: `1.0,2.0` lost a row. Defect 36: that there is no header was logged at INFO."""
    data = read_graph(write("e.txt", text), labels=write("y.csv", "0,A\n1,B\n2,A\n"))
    assert data.edge_index.tolist() == PATH
    assert data.node_ids.tolist() == [0, 1, 2]
    assert data.y.tolist() == [0, 1, 0]
    assert data.class_names == ["A", "B"]
    assert [m.split("/")[-1] for m in said() if "header" in m] == [
        "e.txt: the first row holds numbers: read without a header",
        "y.csv: the first row holds numbers: read without a header",
    ]


def test_text_above_numbers_is_a_header(write):
    data = read_graph(
        write("e.csv", "follower,followed\n0,1\n1,2\n"),
        labels=write("y.csv", "id,topic\n0,A\n1,B\n2,A\n"),
    )
    assert data.edge_index.tolist() == PATH
    assert data.y.tolist() == [0, 1, 0]


def test_labels_of_text_without_known_names_ask_for_the_header(write):
    edges, labels = write("e.csv", EDGES), write("y.csv", "a,A\nb,B\n")
    with pytest.raises(InputError, match=r"y.csv: the first row \(a, A\) may hold names"):
        read_graph(edges, labels=labels)
    assert read_graph(write("f.csv", "a,b\nb,c\n"), labels=labels, header=False).y.tolist() == [
        0,
        1,
        -1,
    ]


def test_header_that_is_also_a_node_is_asked_for(write):
    with pytest.raises(InputError, match=r"e.csv: the first row \(u, v\) may hold names"):
        read_graph(write("e.csv", "u,v\nv,w\n"))
    assert read_graph(write("e.csv", "u,v\nv,w\n"), header=False).num_nodes == 3
    assert read_graph(write("e.csv", "u,v\nv,w\n"), header=True).num_nodes == 2
    with pytest.raises(InputError, match=r"y.csv: the first row \(id\) may hold names"):
        read_graph(write("e.csv", "u,v\nx,id\n"), labels=write("y.csv", "id,yes\nid,no\n"))


def test_given_column_settles_the_header_of_its_file_alone(write):
    data = read_graph(
        write("e.csv", "a,b\nb,c\n"),
        labels=write("y.csv", "who,what\na,A\n"),
        id="who",
        label="what",
        header=False,
    )
    assert data.edge_index.tolist() == PATH
    assert data.y.tolist() == [0, -1, -1]


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("id,source,target", "9,{},{}"),
        ("kind,source,target", "x,{},{}"),
        (",source,target", "0,{},{}"),
        ("Unnamed: 0,from,to", "0,{},{}"),
        ("year,dst,src", "0,{},{}"),
        ("when,Id 1,ID-2", "0,{},{}"),
        ("v,u", "{},{}"),
    ],
)
def test_ends_are_found_by_their_names(write, said, header, rows):
    """Defect 6: with an index, id or kind in front, edges joined the wrong columns."""
    text = "\n".join([header, rows.format("a", "b"), rows.format("b", "c")])
    assert read_graph(write("e.csv", text)).node_ids.tolist() == ["a", "b", "c"]
    if "," in rows.replace("{},{}", ""):
        first = header.split(",")[0]
        rule = "the pandas index 'Unnamed: 0' is not read"
        if first not in ("", "Unnamed: 0"):
            rule = f"columns not read: {first}; if one holds weights, name it with weight="
        assert said()[0].endswith(f"e.csv: {rule}")


@pytest.mark.parametrize(
    "header", ["kind,a,b", "source,from,to", "u,v,source,target", "id,target,x"]
)
def test_ends_that_cannot_be_told_are_asked_for(write, header):
    """Defect 6: where the ends are is asked for, with the columns there are."""
    cells = ",".join("xyzw"[: header.count(",") + 1])
    with pytest.raises(
        InputError,
        match=r"cannot tell which two columns hold the ends .* say so with source= and target=; "
        rf"columns: {header.replace(',', ', ')}",
    ):
        read_graph(write("e.csv", f"{header}\n{cells}\n"), header=True)


def test_one_column_is_no_edge(write):
    with pytest.raises(InputError, match=r"has 1 column but needs 2; .* separated by ','"):
        read_graph(write("e.csv", "a|b\nx|y\n"))


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


def test_one_given_end_leaves_the_other(write):
    """Defect 39: `source="t"` alone made self-loops."""
    edges = write("e.csv", "s,t\na,b\nb,c\n")
    assert read_graph(edges, source="t").edge_index.tolist() == PATH
    assert read_graph(edges, target="s").edge_index.tolist() == PATH
    with pytest.raises(InputError, match=r"must be different columns, got \['t', 't'\]"):
        read_graph(edges, source="t", target="t")


def test_columns_without_a_header_have_numbers(write):
    edges = write("e.txt", "a b 2 x\nb c 3 y\n")
    data = read_graph(edges, header=False, weight="column 3")
    assert data.edge_weight.tolist() == [2, 2, 3, 3]
    assert read_graph(edges, source="column 4", target="column 1", header=False).num_nodes == 4


def test_unknown_column_lists_the_known_ones(write):
    with pytest.raises(InputError, match=r"no column 'src'; set source= to one of: from, to"):
        read_graph(write("e.csv", EDGES), source="src")


@pytest.mark.parametrize(
    ("features", "x"),
    [
        (",id,f\n0,a,1\n1,b,2\n2,c,3\n", [[1], [2], [3]]),
        ("Unnamed: 0,id,f\n0,a,1\n1,b,2\n2,c,3\n", [[1], [2], [3]]),
        ("age,ID\n1,a\n2,b\n3,c\n", [[1], [2], [3]]),
        ("f,Node ID,g\n1,a,4\n2,b,5\n3,c,6\n", [[1, 4], [2, 5], [3, 6]]),
    ],
)
def test_ids_are_found_by_their_name(write, said, features, x):
    """Defect 7: a pandas index or an age in front became the ids, `id` an attribute."""
    data = read_graph(write("e.csv", EDGES), write("x.csv", features))
    assert data.node_ids.tolist() == ["a", "b", "c"]
    assert data.x.tolist() == x
    index = "x.csv: the pandas index 'Unnamed: 0' is not read"
    assert any(index in message for message in said()) == (features[0] in ",U")


@pytest.mark.parametrize(
    "features", ["a,b\n0,1\n1,2\n2,3\n", ",a\n0,1\n1,2\n2,3\n", "id,node\n0,1\n"]
)
def test_features_without_a_known_id_ask_for_it(write, features):
    """Defect 8: column `a` was taken as ids if its integers fitted."""
    with pytest.raises(
        InputError,
        match=r"cannot tell which column holds the ids; say so with id=; columns: ",
    ):
        read_graph(write("e.csv", "0,1\n1,2\n"), write("x.csv", features))


def test_index_of_a_data_frame_in_parquet_holds_the_ids(tmp_path, write):
    table = pd.DataFrame({"f": [1, 2, 3]}, index=pd.Index(["a", "b", "c"], name="who"))
    table.to_parquet(tmp_path / "x.parquet")
    edges = write("e.csv", EDGES)
    assert read_graph(edges, tmp_path / "x.parquet").node_ids.tolist() == ["a", "b", "c"]
    table.assign(id=["c", "b", "a"]).to_parquet(tmp_path / "x.parquet")
    assert read_graph(edges, tmp_path / "x.parquet").node_ids.tolist() == ["c", "b", "a"]


@pytest.mark.parametrize("name", ["label", "Class", "y", "target"])
def test_labels_among_the_attributes_are_refused_or_read_as_labels(write, name):
    """Defect 9: a label in the features file became an attribute and gave the answer away."""
    edges, features = write("e.csv", EDGES), write("x.csv", f"id,f,{name}\na,1,0\nb,2,1\nc,3,1\n")
    with pytest.raises(InputError, match=rf"column '{name}' looks like labels.*label='{name}'"):
        read_graph(edges, features)
    with pytest.raises(InputError, match="looks like labels"):
        read_graph(edges, features, write("y.csv", "id,kind\na,u\n"))
    for labels in (None, features):
        data = read_graph(edges, features, labels, label=name)
        assert data.x.tolist() == [[1], [2], [3]]
        assert data.y.tolist() == [0, 1, 1]


def test_y_beside_x_is_a_coordinate(write):
    features = write("x.csv", "id,x,y\na,1,0\nb,2,1\nc,3,1\n")
    assert read_graph(write("e.csv", EDGES), features).x.shape == (3, 2)


def test_labels_are_found_by_their_name_or_asked_for(write):
    """Defect 10: in `id,name,topic` the names became the classes."""
    edges = write("e.csv", EDGES)
    labels = write("y.csv", "id,name,topic\na,Ann,x\nb,Bob,z\n")
    with pytest.raises(
        InputError, match=r"cannot tell which column holds the labels; .* columns: id, name, topic"
    ):
        read_graph(edges, labels=labels)
    assert read_graph(edges, labels=labels, label="topic").class_names == ["x", "z"]
    labels = write("y.csv", "id,name,class\na,Ann,x\nb,Bob,z\n")
    assert read_graph(edges, labels=labels).class_names == ["x", "z"]


def test_id_may_be_a_column_of_one_file_only(write):
    """Defect 39: `id=` had to be a column of features and of labels."""
    edges, features = write("e.csv", EDGES), write("x.csv", "who,f\na,1\nb,2\nc,3\n")
    data = read_graph(edges, features, write("y.csv", "node,kind\na,u\n"), id="who")
    assert data.y.tolist() == [0, -1, -1]
    with pytest.raises(InputError, match=r"id= is 'what', but neither .*x.csv has who, f"):
        read_graph(edges, features, id="what")
    with pytest.raises(InputError, match=r"label= is 'what', but there is neither a table"):
        read_graph(edges, label="what")


def test_labels_with_known_names_have_a_header_whatever_holds_for_the_edges(write):
    edges, labels = write("e.csv", "ann,bob\nbob,cy\n"), write("l.csv", "id,label\nann,x\ncy,y\n")
    data = read_graph(edges, labels=labels, header=False)
    assert (list(data.node_ids), list(data.class_names)) == (["ann", "bob", "cy"], ["x", "y"])
