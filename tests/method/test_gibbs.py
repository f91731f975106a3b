"""DP-means is the limit of the mixture of the paper: shown with a slow collapsed Gibbs sampler.

Eq. (3): G ~ DP(N(0, rho I), alpha), phi_i ~ G, h_i ~ N(phi_i, sigma I). The sampler visits one
point at a time and draws its cluster given all the others, the means integrated out. alpha follows
from the price that is held fixed, xi = 2 sigma log((1 + rho/sigma)^(D/2) / alpha).
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch

from brgcl.method.dpmeans import dp_means, pseudo_labels

RHO = 30.0


def log_alpha(xi, sigma, rho, D):
    return D / 2 * math.log1p(rho / sigma) - xi / (2 * sigma)


def log_predictive(point, total, count, sigma, rho):
    """Log density of a point given the sum and the number of its cluster's other points."""
    variance = sigma * rho / (sigma + count * rho)  # of the cluster's mean, a posteriori
    mean = rho * total / (sigma + count * rho)
    spread = sigma + variance
    D = len(point)
    return -D / 2 * math.log(2 * math.pi * spread) - ((point - mean) ** 2).sum() / (2 * spread)


def sweep(h, label, sigma, xi, rho, rng):
    """Draw every point's cluster once, in place; labels are any integers."""
    log_concentration = log_alpha(xi, sigma, rho, h.shape[1])
    for i in range(len(h)):
        label[i] = -1
        clusters = sorted(set(label.tolist()) - {-1})
        weights = [
            math.log((label == k).sum())
            + log_predictive(h[i], h[label == k].sum(0), (label == k).sum(), sigma, rho)
            for k in clusters
        ]
        weights.append(log_concentration + log_predictive(h[i], 0.0 * h[i], 0, sigma, rho))
        chances = np.exp(np.array(weights) - max(weights))
        choice = rng.choice(len(chances), p=chances / chances.sum())
        label[i] = clusters[choice] if choice < len(clusters) else max(clusters, default=-1) + 1


def numbered(label):
    """Labels 0..K-1 in order of first appearance."""
    order = list(dict.fromkeys(label.tolist()))
    return torch.tensor([order.index(z) for z in label.tolist()])


def means(h, label):
    return torch.stack([h[label == k].mean(0) for k in range(int(label.max()) + 1)])


def three_blobs(seed, size=10, spread=0.35):
    rng = np.random.default_rng(seed)
    centers = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    return (centers[:, None] + spread * rng.normal(size=(3, size, 2))).reshape(-1, 2), rng


def set_partitions(n):
    """All ways to label n points up to renaming."""
    for label in itertools.product(range(n), repeat=n):
        if list(dict.fromkeys(label)) == list(range(max(label) + 1)):
            yield label


def log_joint(h, label, sigma, xi, rho):
    """Log of the Chinese-restaurant prior times the marginal likelihood, up to a constant."""
    total = 0.0
    for k in set(label):
        total += log_alpha(xi, sigma, rho, h.shape[1])
        members = h[np.array(label) == k]
        for count, point in enumerate(members):
            total += math.log(max(count, 1))
            total += log_predictive(point, members[:count].sum(0), count, sigma, rho)
    return total


def test_the_sampler_draws_partitions_with_their_posterior_probability():
    h = np.array([[0.0, 0.2], [0.7, 0.0], [1.6, 0.9], [1.9, 0.4]])
    settings = {"sigma": 0.4, "xi": 1.2, "rho": 2.0}
    partitions = list(set_partitions(4))
    assert len(partitions) == 15
    weights = np.exp([log_joint(h, label, **settings) for label in partitions])
    expected = weights / weights.sum()
    rng, label = np.random.default_rng(0), np.zeros(4, dtype=int)
    seen, draws = Counter(), 3000
    for _ in range(draws):
        sweep(h, label, rng=rng, **settings)
        seen[tuple(numbered(label).tolist())] += 1
    found = np.array([seen[partition] / draws for partition in partitions])
    assert abs(found - expected).sum() / 2 < 0.04  # total variation
    assert (expected > 0.02).sum() > 5  # the posterior is no single partition


@pytest.mark.parametrize("seed", range(6))
def test_with_vanishing_variance_the_sampler_rests_at_a_fixed_point_of_eq_4(seed):
    """From a random start, on points without any cluster structure."""
    rng = np.random.default_rng(seed)
    h, xi, sigma = rng.uniform(-2, 2, size=(24, 2)), 1.5, 1e-7
    label = rng.integers(0, 4, size=len(h))
    for _ in range(15):
        sweep(h, label, sigma, xi, RHO, rng)
    settled = label.copy()
    sweep(h, label, sigma, xi, RHO, rng)
    assert (label == settled).all()  # no randomness is left

    points, assignment = torch.from_numpy(h), numbered(label)
    found, _, distance = pseudo_labels(points, means(points, assignment), xi)
    assert torch.equal(found, assignment)  # nearest to its own mean, and not beyond xi
    assert distance.max() < xi
    assert assignment.max() >= 2


@pytest.mark.parametrize("seed", range(4))
def test_dp_means_changes_nothing_where_the_cooled_sampler_rests(seed):
    h, rng = three_blobs(seed)
    xi = 3.0
    label = rng.integers(0, 5, size=len(h))
    for sigma in (*np.geomspace(0.5, 0.02, 40), 1e-4, 1e-7, 1e-7):
        sweep(h, label, sigma, xi, RHO, rng)
    points, assignment = torch.from_numpy(h), numbered(label)
    centers = means(points, assignment)
    assert len(centers) == 3

    kept = dp_means(points, xi, centers=centers)
    assert torch.equal(kept.assignment, assignment)
    torch.testing.assert_close(kept.centers, centers)
    assert kept.trace == pytest.approx([kept.objective] * len(kept.trace), rel=1e-12)

    cold = dp_means(points, xi)
    assert torch.equal(numbered(cold.assignment), assignment)
