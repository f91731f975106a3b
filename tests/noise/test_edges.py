from itertools import combinations

import pytest
import torch

from brgcl.errors import InputError
from brgcl.noise import EDGE_NOISE, corrupt_edges


def both(pairs) -> torch.Tensor:
    """Edges given once, as a canonical edge_index."""
    listed = sorted({(i, j) for i, j in pairs} | {(j, i) for i, j in pairs})
    return torch.tensor(listed, dtype=torch.long).reshape(-1, 2).T


def pairs_of(edge_index) -> set[tuple[int, int]]:
    return {(i, j) for i, j in edge_index.T.tolist() if i < j}


def corrupt(edge_index, kind, level, num_nodes, seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    return corrupt_edges(
        edge_index, kind, level, num_nodes=num_nodes, generator=generator, **options
    )


RING = both([(i, (i + 1) % 20) for i in range(20)])


@pytest.mark.parametrize(("kind", "common", "total"), [("add", 20, 26), ("remove", 14, 14)])
def test_add_and_remove_change_the_rounded_share(kind, common, total):
    noisy = corrupt(RING, kind, 0.29, 20)
    assert len(pairs_of(noisy.edge_index)) == total
    assert len(pairs_of(noisy.edge_index) & pairs_of(RING)) == common
    assert noisy.realised == 6 / 20


def test_rewire_keeps_the_number_of_edges_and_brings_new_ones():
    noisy = corrupt(RING, "rewire", 0.29, 20)
    assert len(pairs_of(noisy.edge_index)) == 20
    assert len(pairs_of(noisy.edge_index) & pairs_of(RING)) == 14
    assert noisy.realised == 0.3


@pytest.mark.parametrize("kind", EDGE_NOISE)
def test_output_is_canonical_and_input_unmodified(kind):
    before = RING.clone()
    noisy = corrupt(RING, kind, 0.5, 20).edge_index
    assert torch.equal(RING, before)
    assert torch.equal(noisy, both(pairs_of(noisy)))  # both directions, sorted, once, no loops
    shuffled = RING[:, torch.randperm(40, generator=torch.Generator().manual_seed(1))]
    assert torch.equal(corrupt(shuffled, kind, 0.5, 20).edge_index, noisy)


@pytest.mark.parametrize("kind", EDGE_NOISE)
def test_level_zero_changes_nothing(kind):
    noisy = corrupt(RING, kind, 0.0, 20)
    assert torch.equal(noisy.edge_index, RING)
    assert noisy.edge_weight is None
    assert noisy.realised == 0


@pytest.mark.parametrize("kind", EDGE_NOISE)
def test_the_same_seed_gives_the_same_draw_and_another_seed_another(kind):
    first = corrupt(RING, kind, 0.5, 20).edge_index
    assert torch.equal(first, corrupt(RING, kind, 0.5, 20).edge_index)
    assert not torch.equal(first, corrupt(RING, kind, 0.5, 20, seed=1).edge_index)


@pytest.mark.parametrize("kind", EDGE_NOISE)
def test_a_graph_without_edges_stays_without(kind):
    empty = torch.empty(2, 0, dtype=torch.long)
    noisy = corrupt(empty, kind, 0.9, 5)
    assert noisy.edge_index.shape == (2, 0)
    assert noisy.realised == 0


@pytest.mark.parametrize("num_nodes", [6, 12])  # listing the free pairs, and rejection
def test_every_free_pair_is_drawn_equally_often(num_nodes):
    path = both([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])
    free = set(combinations(range(num_nodes), 2)) - pairs_of(path)
    count = dict.fromkeys(free, 0)
    rounds = 2000
    for seed in range(rounds):
        new = pairs_of(corrupt(path, "add", 0.6, num_nodes, seed=seed).edge_index) - pairs_of(path)
        assert len(new) == 3
        for pair in new:
            count[pair] += 1
    share = 3 / len(free)
    spread = 5 * (rounds * share * (1 - share)) ** 0.5
    assert all(abs(c - rounds * share) < spread for c in count.values())


def test_the_last_free_pairs_are_found():
    pairs = list(combinations(range(5), 2))
    noisy = corrupt(both(pairs[:6]), "add", 0.67, 5)
    assert pairs_of(noisy.edge_index) == set(pairs)


@pytest.mark.parametrize("kind", ["add", "rewire"])
def test_too_few_free_pairs_are_an_error(kind):
    nearly_complete = both(list(combinations(range(5), 2))[:-1])
    with pytest.raises(InputError, match=f"{kind} noise needs 4 pairs .* has only 1"):
        corrupt(nearly_complete, kind, 0.5, 5)


def test_added_edges_weigh_the_median():
    path = both([(0, 1), (1, 2), (2, 3)])
    weight = torch.tensor([1.0, 1.0, 5.0, 5.0, 9.0, 9.0])
    noisy = corrupt(path, "add", 0.34, 8, edge_weight=weight)
    found = dict(zip(map(tuple, noisy.edge_index.T.tolist()), noisy.edge_weight, strict=True))
    old = dict(zip(map(tuple, path.T.tolist()), weight, strict=True))
    new = {pair: w for pair, w in found.items() if pair not in old}
    assert [w.item() for w in new.values()] == [5.0, 5.0]
    assert all(found[pair] == w for pair, w in old.items())


def test_removed_edges_take_their_weight_along_and_rewired_ones_keep_it():
    weight_of = {pair: float(k) for k, pair in enumerate(sorted(pairs_of(RING)))}
    weight = torch.tensor([weight_of[min(i, j), max(i, j)] for i, j in RING.T.tolist()])
    less = corrupt(RING, "remove", 0.5, 20, edge_weight=weight)
    for (i, j), w in zip(less.edge_index.T.tolist(), less.edge_weight, strict=True):
        assert w == weight_of[min(i, j), max(i, j)]
    moved = corrupt(RING, "rewire", 0.5, 20, edge_weight=weight)
    assert torch.equal(moved.edge_weight.sort().values, weight.sort().values)
    found = dict(zip(map(tuple, moved.edge_index.T.tolist()), moved.edge_weight, strict=True))
    assert all(w == found[j, i] for (i, j), w in found.items())


@pytest.mark.parametrize(
    ("edge_index", "options", "message"),
    [
        (RING, {"kind": "delete"}, "unknown edge noise 'delete'"),
        (RING, {"level": 1.4}, r"noise level must be in \[0, 1\), got 1.4"),
        (RING[0], {}, r"shape \(2, E\), got \(40,\)"),
        (RING, {"num_nodes": 19}, r"nodes in 0\.\.18, got 19"),
        (torch.tensor([[0, 1, 2], [1, 0, 2]]), {}, "self-loop at node 2"),
        (torch.tensor([[0, 1], [1, 2]]), {}, "both directions of every edge"),
        (torch.tensor([[0, 0, 1, 1], [1, 1, 0, 0]]), {}, "each once"),
        (RING, {"edge_weight": torch.ones(3)}, r"shape \(3,\) but there are 40 edges"),
        (RING, {"edge_weight": torch.arange(40.0)}, "same in both directions"),
    ],
)
def test_wrong_input_is_named(edge_index, options, message):
    with pytest.raises(InputError, match=message):
        corrupt(edge_index, **({"kind": "remove", "level": 0.5, "num_nodes": 20} | options))
