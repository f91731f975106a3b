"""A seeded, citation-like graph of any size: what the demo and the scale tests run on.

Nodes fall into classes. A paper cites within its class with probability `homophily`, prefers papers
that are cited much (degree-corrected blocks), and uses words of which some belong to its class.
"""

from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from brgcl.config import Count, Whole, check_seed, check_value
from brgcl.data.graphs import check_graph
from brgcl.data.splits import citation_split
from brgcl.errors import InputError
from brgcl.method.sparse import csr_from_scipy


def make_graph(
    num_nodes: int = 2000,
    *,
    num_classes: int = 7,
    seed: int = 0,
    avg_degree: float = 4.0,
    homophily: float = 0.8,
    num_features: int = 1000,
    words_per_node: float = 18.0,
    topic_strength: float = 0.3,
    labels_per_class: int = 20,
    num_val: int = 500,
) -> Data:
    """Generate a citation-like graph with known classes.

    Degrees are heavy-tailed (log-normal weights). Class sizes differ by up to a factor of two and a
    half. Attributes are 0/1 bags of words (CSR) whose frequencies follow Zipf's law. Small graphs
    get fewer training and validation nodes (see `citation_split`). A million nodes with ten
    neighbours each take about ten seconds.

    Args:
        num_nodes: `N`, at least two per class.
        num_classes: `C`, at least 2.
        seed: The same seed gives the same graph.
        avg_degree: Mean number of neighbours; nodes with a small weight may have none.
        homophily: Probability that an edge stays within its class, in [0, 1].
        num_features: Size of the vocabulary, at least one word per class.
        words_per_node: Mean number of words drawn per node; repeated words count once.
        topic_strength: Mean share of words that a node draws from its class instead of from the
            vocabulary common to all classes, in [0, 1].
        labels_per_class: Training nodes per class.
        num_val: Validation nodes in all.

    Returns:
        The clean graph, with `y` for all nodes and `train_mask`, `val_mask`, `test_mask`.

    Example:
        >>> graph = make_graph(100, num_classes=3, num_features=50)
        >>> graph.num_nodes, graph.x.shape, graph.class_names
        (100, torch.Size([100, 50]), ['0', '1', '2'])
    """
    counts = {"num_nodes": num_nodes, "num_classes": num_classes, "num_features": num_features}
    num_nodes, C, num_features = (check_value(name, Count, n) for name, n in counts.items())
    labels_per_class = check_value("labels_per_class", Whole, labels_per_class)
    num_val, seed = check_value("num_val", Whole, num_val), check_seed(seed)
    shares = {"avg_degree": avg_degree, "homophily": homophily, "topic_strength": topic_strength}
    for name, value in {**shares, "words_per_node": words_per_node}.items():
        check_value(name, float, value)
    most = (num_nodes - 1) / 2
    rules = {
        f"num_classes must be 2 or more, got {C}": C >= 2,
        f"num_nodes must be at least two per class, {2 * C}, got {num_nodes}": num_nodes >= 2 * C,
        f"num_features must be at least one per class, {C}, got {num_features}": num_features >= C,
        f"avg_degree must be in [0, {most:g}], got {avg_degree}": 0 <= avg_degree <= most,
        f"words_per_node must be 1 or more, got {words_per_node}": not words_per_node < 1,
        f"homophily must be in [0, 1], got {homophily}": 0 <= homophily <= 1,
        f"topic_strength must be in [0, 1], got {topic_strength}": 0 <= topic_strength <= 1,
    }
    for rule, holds in rules.items():
        if not holds:
            raise InputError(rule)
    rng = np.random.default_rng(seed)
    share = np.linspace(2.5, 1.0, C)
    start = np.rint(np.cumsum(share) / share.sum() * (num_nodes - 2 * C)).astype(np.int64)
    start = np.concatenate([[0], start + 2 * np.arange(1, C + 1)])  # class c: start[c:c+2]
    y = np.repeat(np.arange(C), np.diff(start))  # sorted; shuffled at the end
    edges = _draw_edges(rng, y, start, round(num_nodes * avg_degree / 2), homophily)
    words = _draw_words(rng, y, start, num_features, words_per_node, topic_strength)

    place = rng.permutation(num_nodes)  # sorted node -> its final number
    order = np.argsort(place)
    labels, generator = torch.from_numpy(y[order]), torch.Generator().manual_seed(seed)
    split = citation_split(
        labels, num_train_per_class=labels_per_class, num_val=num_val, generator=generator
    )
    data = Data(
        x=csr_from_scipy(words[order]),
        edge_index=torch.from_numpy(place[edges]),
        y=labels,
        train_mask=split.train,
        val_mask=split.val,
        test_mask=split.test,
        name=f"synthetic-{num_nodes}",
    )
    return check_graph(data, announce=False)


def _draw_edges(
    rng: np.random.Generator,
    y: NDArray[np.int64],
    start: NDArray[np.int64],
    num_edges: int,
    homophily: float,
) -> NDArray[np.int64]:
    """Draw different pairs, the first end by weight, the second by weight in its class or outside.

    Nodes are sorted by class, so that a class is an interval of the cumulative weight, and a draw
    is a uniform number looked up in it.
    """
    num_nodes = len(y)
    mass = np.concatenate([[0.0], np.cumsum(rng.lognormal(sigma=1.0, size=num_nodes))])
    low, high = mass[start[:-1]], mass[start[1:]]  # (C,) interval of each class
    keys = np.empty(0, dtype=np.int64)
    for _ in range(20):  # repeats are thrown away, so a few rounds reach the number
        if (missing := num_edges - len(keys)) <= 0:
            break
        first = _look_up(mass, rng.random(missing) * mass[-1])
        if len(keys) == 0:
            first[:num_nodes] = rng.permutation(num_nodes)[:missing]  # everyone cites someone
        lo, hi = low[y[first]], high[y[first]]
        u = rng.random(missing)
        inside = lo + u * (hi - lo)
        outside = u * (mass[-1] - (hi - lo))
        outside += np.where(outside >= lo, hi - lo, 0)
        second = _look_up(mass, np.where(rng.random(missing) < homophily, inside, outside))
        drawn = np.minimum(first, second) * num_nodes + np.maximum(first, second)
        keys = np.sort(np.concatenate([keys, drawn[first != second]]))
        keys = keys[np.diff(keys, prepend=-1) > 0]  # np.unique hashes, which is slower here
    return np.stack(np.divmod(keys, num_nodes))


def _look_up(mass: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.int64]:
    interval = np.searchsorted(mass, at, side="right") - 1
    return np.minimum(interval, len(mass) - 2)  # rounding may touch the upper end


def _draw_words(
    rng: np.random.Generator,
    y: NDArray[np.int64],
    start: NDArray[np.int64],
    num_features: int,
    words_per_node: float,
    topic_strength: float,
) -> Any:
    """Draw a 0/1 bag of words per node, some of them words of its class, `(N, F)` CSR."""
    num_nodes, num_classes = len(y), len(start) - 1
    frequency = 1 / (np.arange(num_features) + 10.0)  # Zipf, flattened at the top
    owner = rng.permutation(num_features) % num_classes  # the class that a word is typical of
    length = 1 + rng.poisson(max(words_per_node - 1, 0), num_nodes)
    purity = np.full(num_nodes, float(topic_strength))
    if 0 < topic_strength < 1:  # some nodes are plainly of their class, others hardly
        purity = rng.beta(4 * topic_strength, 4 * (1 - topic_strength), num_nodes)
    node = np.repeat(np.arange(num_nodes), length)
    word = _choose(rng, frequency, len(node))
    topical = np.flatnonzero(rng.random(len(node)) < purity[node])
    border = np.searchsorted(node[topical], start)  # nodes are sorted by class
    for c in range(num_classes):
        drawn = topical[border[c] : border[c + 1]]
        word[drawn] = _choose(rng, frequency * (owner == c), len(drawn))
    used = np.ones(len(node), dtype=np.float32)
    bags = scipy.sparse.coo_array((used, (node, word)), shape=(num_nodes, num_features)).tocsr()
    bags.data[:] = 1
    return bags


def _choose(
    rng: np.random.Generator, frequency: NDArray[np.float64], size: int
) -> NDArray[np.int64]:
    mass = np.concatenate([[0.0], np.cumsum(frequency)])
    return _look_up(mass, rng.random(size) * frequency.sum())
