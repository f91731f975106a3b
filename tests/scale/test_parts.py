import numpy as np
import torch

from brgcl.data.graph_folder import map_array
from brgcl.method.attributes import learn_preparation
from brgcl.method.inputs import prepare
from brgcl.scale.parts import PartGraph, split_graph


def test_the_transition_is_that_of_the_graph_in_another_order(data, parts):
    expected = prepare(data).adjacency.transition.data.to_dense()
    given = parts.given
    torch.testing.assert_close(parts.transition.data.to_dense(), expected[given][:, given])


def test_the_beginning_is_the_first_parts_without_edges_that_leave_them(data, parts):
    n = int(parts.starts[3])
    whole = parts.transition.data.to_dense()[:n, :n]
    x, transition = parts.beginning(3)
    torch.testing.assert_close(transition.data.to_dense(), whole / whole.sum(1, keepdim=True))
    torch.testing.assert_close(x.dense, parts.attributes(torch.arange(n)).dense)
    x, transition = parts.beginning(parts.num_parts)
    torch.testing.assert_close(transition.data.to_dense(), parts.transition.data.to_dense())


def test_degrees_count_weights_and_the_loop(data, parts):
    adjacency = prepare(data).adjacency
    weight = torch.ones(len(adjacency.row)) if adjacency.weight is None else None
    weight = adjacency.weight[adjacency.edge] if weight is None else weight
    expected = torch.zeros(300).index_add_(0, adjacency.row, weight)
    torch.testing.assert_close(parts.as_given(parts.degree), expected)


def test_attributes_are_scaled_rows(data, parts):
    nodes = torch.tensor([5, 0, 299])
    expected = prepare(data).x.dense[parts.given[nodes]]
    torch.testing.assert_close(parts.attributes(nodes).dense, expected)


def test_blocks_cover_all_nodes_once(parts):
    for entries in (1, 50, 10**9):
        nodes = [n for rows in parts.blocks(entries) for n in range(rows.start, rows.stop)]
        assert nodes == list(range(300))


def test_one_part_leaves_everything_where_it_is(data):
    whole = split_graph(data, learn_preparation(data.x), 1)
    assert whole.given is None
    assert whole.col.data_ptr() == data.edge_index[1].data_ptr()
    assert whole.x is data.x


def test_arrays_on_disk_are_not_copied(data, parts, tmp_path):
    def stored(name, tensor):
        np.save(tmp_path / name, tensor.numpy())
        return map_array(tmp_path / f"{name}.npy")

    x = stored("x", data.x.to_dense()[parts.given])
    weight = None if parts.weight is None else stored("weight", parts.weight)
    disk = PartGraph(
        stored("crow", parts.crow),
        stored("col", parts.col),
        weight,
        parts.starts,
        x,
        parts.preparation,
    )
    nodes = torch.tensor([7, 150])
    torch.testing.assert_close(disk.attributes(nodes).dense, parts.attributes(nodes).dense)
    assert torch.equal(disk.transition.data.to_dense(), parts.transition.data.to_dense())
    assert disk.x.data_ptr() == x.data_ptr()
