"""How many clusters are there? A number, and what it rests on.

Representations are clustered at a decade and a half of prices (`method/coarsened.py`): at each
price a cluster has to explain that share of the scatter. Three rules turn the path into an answer:

    plateau     A number that stays the same while the price falls threefold is the answer: groups
                that are apart are found at any price in between. Of many clusters a twentieth more
                or less makes no difference.
    price       Without such a plateau, groups are nested, and the answer is the number at the price
                that was asked for (0.03 unless told otherwise).
    structure   The clusters have to explain at least a fifth more of the scatter than as many
                clusters of Gaussian rows with the same mean and covariance do, the null of SigClust
                (Liu, Hayes, Nobel & Marron 2008). If they do not, the answer is 1.

The number is a statement about a price per cluster, not a posterior: the posterior of a
Dirichlet-process mixture is inconsistent for the number of components (Miller & Harrison 2014).
"""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from brgcl.machine import one_thread
from brgcl.method.centering import smooth_rows
from brgcl.method.coarsened import cluster_path, coarsened_dp_means
from brgcl.method.dpmeans import Clustering, cluster_sums, k_means
from brgcl.method.sparse import Matrix
from brgcl.method.train import MANY_ROWS
from brgcl.tasks.metrics import ari

PRICE = 0.03
PRICES = tuple(0.1 * 0.85**step for step in range(25))  # 0.1 down to 0.002
PLATEAU = 3.0  # a plateau spans at least this factor in price
TOLERANCE = 0.05  # within which numbers of a plateau differ, as a share: 39 and 40, not 7 and 8
STRUCTURE = 1.2  # clusters explain at least so many times what Gaussian rows do
NULL_DRAWS = 3
MAX_ROWS = 5000  # rows on which the number is found


@dataclass(frozen=True)
class ClusterNumber(Clustering):
    """Clusters, their number, and what it rests on; one cluster if no structure was found.

    Attributes:
        rule: "plateau", "price" or "no structure".
        price: Price at which the clusters were found.
        prices: All prices, from the highest.
        numbers: Number of clusters at each price.
        null_numbers: Number of clusters at each price after every column was permuted.
        stability: Mean adjusted Rand index between clusters of random halves, at each price.
        plateau: Highest and lowest price of the longest plateau of two clusters or more.
        explained: Share of the scatter that the clusters explain.
        explained_null: The same for as many clusters of Gaussian rows.
    """

    rule: str
    price: float
    prices: tuple[float, ...]
    numbers: tuple[int, ...]
    null_numbers: tuple[int, ...]
    stability: tuple[float, ...]
    plateau: tuple[float, float] | None
    explained: float
    explained_null: float

    @property
    def num_clusters_null(self) -> int:
        """Clusters found at the same price after every column was permuted."""
        return self.null_numbers[self.prices.index(self.price)]

    def __str__(self) -> str:
        if self.rule == "no structure":
            return "no structure found: the nodes form one group"
        if self.rule == "plateau" and self.plateau is not None:
            high, low = self.plateau
            span = f"from {low:.3f} to {high:.3f}"
            return f"{self.num_clusters} clusters, the same at every price {span}"
        return (
            f"{self.num_clusters} clusters at a price of {self.price:g} of the scatter "
            "(groups are nested: another price gives another number)"
        )


def number_of_clusters(
    h: Tensor,
    *,
    transition: Matrix | None = None,
    price: float | None = None,
    prices: Sequence[float] = PRICES,
    stability: bool = False,
    seed: int = 0,
) -> ClusterNumber:
    """Find clusters and their number.

    Args:
        h: Representations, centred and of unit length, `(N, D)`. Of more than `MAX_ROWS` rows a
            random sample is looked at; then all rows, or `MANY_ROWS` of them, move the clusters
            that were found, and all rows join them.
        transition: Row-stochastic adjacency, `(N, N)`. Where there is no plateau, rows are averaged
            over it and looked at again; where no structure was found, only a plateau counts then.
        price: Price per cluster, a share of the scatter; None looks for a plateau first.
        prices: Prices of the path.
        stability: Whether to compare the clusters of random halves, which costs five more paths.
        seed: Seed of the null and of the halves.

    Example:
        >>> h = torch.eye(3).repeat_interleave(20, 0)
        >>> number_of_clusters(h).num_clusters
        3
    """
    options = {"price": price, "prices": prices, "stability": stability, "seed": seed}
    with one_thread():
        found = _look(h, **options)  # type: ignore[arg-type]
    if transition is not None and found.rule != "plateau":
        smooth = smooth_rows(h, transition)
        with one_thread():
            again = _look(smooth, **options)  # type: ignore[arg-type]
        if found.rule == "price" or again.rule == "plateau":
            h, found = smooth, again
    step = -(-len(h) // MANY_ROWS)
    settled = k_means(h[::step], found.centers)  # rows that are not centred
    if step > 1:
        settled = k_means(h, settled.centers, max_rounds=1)
    return dataclasses.replace(
        found,
        assignment=settled.assignment,
        centers=settled.centers,
        objective=settled.objective,
        trace=settled.trace,
    )


def _look(
    h: Tensor, *, price: float | None, prices: Sequence[float], stability: bool, seed: int
) -> ClusterNumber:
    """Find the number of clusters on a sample of rows, and the centres of the sample's clusters.

    With one thread: products of so few rows take less time than threads that wait for each other.
    """
    generator = torch.Generator().manual_seed(seed)
    ordered = tuple(sorted({*prices, price or PRICE}, reverse=True))
    if len(h) > MAX_ROWS:
        h = h[torch.randperm(len(h), generator=generator)[:MAX_ROWS]]
    path = cluster_path(h, ordered)
    numbers = tuple(found.num_clusters for found in path)
    span = longest_plateau(ordered, numbers)
    rule, at = "price", ordered.index(price or PRICE)
    if price is None and span is not None and _is_long(ordered, span):
        rule, at = "plateau", first_of_main_number(ordered, numbers, span)
    chosen = path[at]
    explained = explained_share(h, chosen.assignment)
    null = explained_by_null(h, chosen.num_clusters, generator)
    if chosen.num_clusters > 1 and explained < STRUCTURE * null:
        rule, chosen = "no structure", coarsened_dp_means(h, 1.0)
    elif chosen.num_clusters == 1:
        rule = "no structure"
    permuted = cluster_path(permuted_columns(h, generator), ordered)
    return ClusterNumber(
        chosen.assignment,
        chosen.centers + h.mean(0),
        chosen.objective,
        chosen.trace,
        chosen.capped,
        rule=rule,
        price=ordered[at],
        prices=ordered,
        numbers=numbers,
        null_numbers=tuple(found.num_clusters for found in permuted),
        stability=stability_of_path(h, ordered, generator) if stability else (),
        plateau=None if span is None else (ordered[span[0]], ordered[span[1]]),
        explained=explained,
        explained_null=null,
    )


def has_plateau(h: Tensor, prices: Sequence[float] = PRICES) -> bool:
    """Whether rows form groups that are apart: a number that a threefold price does not change.

    Example:
        >>> has_plateau(torch.eye(3).repeat_interleave(20, 0))
        True
    """
    rows = h[:: max(1, -(-len(h) // MAX_ROWS))]
    path = cluster_path(rows, prices)
    span = longest_plateau(prices, [found.num_clusters for found in path])
    return span is not None and _is_long(prices, span)


def _is_long(prices: Sequence[float], span: tuple[int, int]) -> bool:
    return prices[span[0]] / prices[span[1]] >= PLATEAU


def longest_plateau(
    prices: Sequence[float], numbers: Sequence[int], *, tolerance: float = TOLERANCE
) -> tuple[int, int] | None:
    """First and last index of the longest run of about one number above 1, in log price.

    Args:
        prices: Prices, from the highest.
        numbers: Number of clusters at each price.
        tolerance: Difference within a run, as a share of its largest number.

    Example:
        >>> longest_plateau([0.1, 0.05, 0.02, 0.01], [1, 3, 3, 4])
        (1, 2)
        >>> longest_plateau([0.1, 0.05, 0.02, 0.01], [30, 39, 39, 40])
        (1, 3)
    """
    best, length, start = None, -1.0, 0
    for at in range(len(numbers)):
        run = numbers[start : at + 1]
        while max(run) - min(run) > tolerance * max(run):
            start, run = start + 1, run[1:]
        span = math.log(prices[start] / prices[at])
        if min(run) > 1 and span > length:
            best, length = (start, at), span
    return best


def first_of_main_number(
    prices: Sequence[float], numbers: Sequence[int], span: tuple[int, int]
) -> int:
    """Index at which the number that a plateau has for longest begins.

    Example:
        >>> first_of_main_number([0.05, 0.02, 0.01, 0.001], [39, 39, 40, 40], (0, 3))
        2
    """
    first, last = span
    run = slice(first, last + 1)
    main = longest_plateau(prices[run], numbers[run], tolerance=0)
    assert main is not None, "a plateau is of numbers above 1"
    return first + main[0]


def explained_share(h: Tensor, assignment: Tensor) -> float:
    """Share of the scatter that lies between the clusters."""
    h = (h - h.mean(0)).double()
    sums, counts = cluster_sums(h, assignment, int(assignment.max()) + 1)
    return float(
        (sums.square().sum(1) / counts.clamp_min(1)).sum() / h.square().sum().clamp_min(1e-300)
    )


def explained_by_null(h: Tensor, num_clusters: int, generator: torch.Generator) -> float:
    """Share that as many clusters explain on Gaussian rows of the same mean and covariance."""
    shares = []
    for _ in range(NULL_DRAWS):
        rows = gaussian_rows(h, generator)
        # a price of nearly nothing: clusters are opened up to the cap
        found = coarsened_dp_means(rows, 1e-9, max_clusters=num_clusters)
        shares.append(explained_share(rows, found.assignment))
    return sum(shares) / len(shares)


def gaussian_rows(h: Tensor, generator: torch.Generator) -> Tensor:
    """Random rows with the mean and covariance of `h`, scaled to unit length, `(N, D)`."""
    mean = h.mean(0)
    centred = (h - mean).double()
    values, vectors = torch.linalg.eigh(centred.T @ centred / len(h))
    normal = torch.randn(h.shape, generator=generator, dtype=torch.float64)
    rows = (normal * values.clamp_min(0).sqrt()) @ vectors.T + mean
    return F.normalize(rows, dim=1).to(h.dtype)


def permuted_columns(h: Tensor, generator: torch.Generator) -> Tensor:
    """Every column in an order of its own: what remains has no groups, `(N, D)`."""
    order = torch.rand(h.shape, generator=generator).argsort(0)
    return h.gather(0, order)


def stability_of_path(
    h: Tensor, prices: Sequence[float], generator: torch.Generator, num_halves: int = 5
) -> tuple[float, ...]:
    """Mean adjusted Rand index between clusters that were found on random halves, at each price.

    The clusters of a half are extended to all nodes by the nearest centre.
    """
    labels: list[list[Tensor]] = []
    for _ in range(num_halves):
        half = torch.randperm(len(h), generator=generator)[: max(2, len(h) // 2)]
        mean = h[half].mean(0)  # centres are relative to the mean of the rows they were found on
        path = cluster_path(h[half], prices)
        labels.append([torch.cdist(h - mean, found.centers).argmin(1) for found in path])
    pairs = [(a, b) for a in range(num_halves) for b in range(a)]
    return tuple(
        sum(ari(labels[a][at], labels[b][at]) for a, b in pairs) / len(pairs)
        for at in range(len(prices))
    )
