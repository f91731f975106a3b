import math

import pytest
import torch
import torch.nn.functional as F

from brgcl.method.node_loss import (
    aligned_rows,
    decorrelation_loss,
    node_loss,
    sample_negatives,
    unit_rows,
)

# Direct transcriptions: dense, quadratic, differentiated by autograd.


def slow_one_way(u, v, objective, tau, positive_twice, negatives):
    N = len(u)
    cosine = u @ v.T  # (N, N)
    s = cosine.abs() if objective == "abs" else (cosine / tau).exp()
    column = torch.arange(N) if negatives is None else negatives
    other = (column[None, :] != torch.arange(N)[:, None]).to(s.dtype)  # (N, m)
    others = (s[:, column] * other).sum(1) * (N - 1) / other.sum(1).clamp_min(1)
    denominator = (2 if positive_twice else 1) * s.diagonal() + others
    return -torch.log(s.diagonal() / denominator).mean()


def slow_node_loss(h1, h2, *, objective, tau=0.4, positive_twice=False, negatives=None):
    u = h1 / h1.norm(dim=1, keepdim=True)
    v = h2 / h2.norm(dim=1, keepdim=True)
    loss = slow_one_way(u, v, objective, tau, positive_twice, negatives)
    if objective == "exp":
        loss = (loss + slow_one_way(v, u, objective, tau, positive_twice, negatives)) / 2
    return loss


def two_views(N, D=8, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shared = torch.randn(N, D, generator=generator, dtype=torch.float64)
    return tuple(
        (shared + 0.7 * torch.randn(N, D, generator=generator, dtype=torch.float64))
        .to(dtype)
        .requires_grad_()
        for _ in range(2)
    )


def value_and_gradients(function, h1, h2, **options):
    loss = function(h1, h2, **options)
    return (loss, *torch.autograd.grad(loss, (h1, h2)))


def assert_all_close(found, expected, **tolerance):
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, **tolerance)


EXACT = {"rtol": 1e-10, "atol": 1e-12}


def permutation(N, m, seed=1):
    return torch.randperm(N, generator=torch.Generator().manual_seed(seed))[:m]


@pytest.mark.parametrize("sampled", [False, True], ids=["all", "sampled"])
@pytest.mark.parametrize("positive_twice", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("objective", ["exp", "abs"])
@pytest.mark.parametrize("N", [300, 37])
def test_value_and_gradients_equal_the_formula_for_every_tile_size(
    N, objective, positive_twice, sampled
):
    h1, h2 = two_views(N)
    m = 11 if sampled else N
    options = {
        "objective": objective,
        "positive_twice": positive_twice,
        "negatives": permutation(N, m) if sampled else None,
    }
    expected = value_and_gradients(slow_node_loss, h1, h2, **options)
    for tile_rows in (1, 7, 64, N):
        found = value_and_gradients(node_loss, h1, h2, tile_bytes=tile_rows * m * 8, **options)
        assert_all_close(found, expected, **EXACT)


@pytest.mark.parametrize("positive_twice", [False, True], ids=["once", "twice"])
def test_several_tiles_that_are_kept_equal_the_formula(monkeypatch, positive_twice):
    monkeypatch.setattr("brgcl.method.node_loss.CACHE_BYTES", 7 * 37 * 8)  # seven rows each
    h1, h2 = two_views(37)
    options = {"objective": "exp", "positive_twice": positive_twice}
    expected = value_and_gradients(slow_node_loss, h1, h2, **options)
    products = []
    multiply = torch.mm
    monkeypatch.setattr(torch, "mm", lambda *a, **k: products.append(1) or multiply(*a, **k))
    found = value_and_gradients(node_loss, h1, h2, tile_bytes=37 * 37 * 8, **options)
    assert_all_close(found, expected, **EXACT)
    assert len(products) == 6  # each of six tiles of similarities is computed once


def test_a_tile_smaller_than_one_row_still_holds_one_row():
    h1, h2 = two_views(10)
    expected = value_and_gradients(node_loss, h1, h2)
    assert_all_close(value_and_gradients(node_loss, h1, h2, tile_bytes=1), expected, **EXACT)


@pytest.mark.parametrize("positive_twice", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("objective", ["exp", "abs"])
def test_a_sample_of_all_nodes_is_the_exact_loss(objective, positive_twice):
    h1, h2 = two_views(41)
    options = {"objective": objective, "positive_twice": positive_twice}
    exact = value_and_gradients(node_loss, h1, h2, **options)
    sampled = value_and_gradients(node_loss, h1, h2, negatives=permutation(41, 41), **options)
    assert_all_close(sampled, exact, **EXACT)


def log_sum_exp_loss(h1, h2, tau, positive_twice, negatives):
    """The "exp" form by torch.logsumexp, safe at any temperature."""
    c = F.normalize(h1, dim=1) @ F.normalize(h2, dim=1).T / tau
    N = len(c)

    def one_way(c):
        own = c.diagonal()[:, None]
        columns = torch.arange(N) if negatives is None else negatives
        others = columns[None, :] != torch.arange(N)[:, None]  # (N, m)
        scale = ((N - 1) / others.sum(1).double()).log()[:, None]
        terms = torch.where(others, c[:, columns] + scale, -torch.inf)
        terms = torch.cat([own, own, terms] if positive_twice else [own, terms], dim=1)
        return (terms.logsumexp(1) - own[:, 0]).mean()

    return (one_way(c) + one_way(c.T)) / 2


@pytest.mark.parametrize("sampled", [False, True], ids=["all", "sampled"])
@pytest.mark.parametrize("positive_twice", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("tau", [0.002, 0.01, 0.0249, 0.0251])
def test_a_small_temperature_stays_finite_and_equals_log_sum_exp(tau, positive_twice, sampled):
    negatives = permutation(53, 9) if sampled else None
    h1, h2 = two_views(53)
    expected = value_and_gradients(
        lambda a, b: log_sum_exp_loss(a, b, tau, positive_twice, negatives), h1, h2
    )
    options = {"tau": tau, "positive_twice": positive_twice, "negatives": negatives}
    found = value_and_gradients(node_loss, h1, h2, tile_bytes=7 * 53 * 8, **options)
    assert_all_close(found, expected, **EXACT)

    single = [h.detach().float().requires_grad_() for h in (h1, h2)]
    found = value_and_gradients(node_loss, *single, **options)
    assert all(part.dtype == torch.float32 for part in found)
    assert_all_close([part.double() for part in found], expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("tau", [0.01, 0.4])
def test_opposite_views_give_the_largest_loss_and_finite_gradients(tau):
    h = two_views(20, dtype=torch.float32)[0].detach()
    h1, h2 = h.clone().requires_grad_(), (-h).requires_grad_()
    loss, *gradients = value_and_gradients(node_loss, h1, h2, tau=tau)
    assert loss > 1 / tau
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize(("positive_twice", "count"), [(False, 12), (True, 13)])
@pytest.mark.parametrize("objective", ["exp", "abs"])
@pytest.mark.parametrize("negatives", [None, torch.tensor([3, 0, 7])])
def test_equal_similarities_give_the_log_of_the_count(objective, positive_twice, count, negatives):
    row = torch.tensor([0.3, -2.0, 1.1], dtype=torch.float64)
    h1, h2 = row.repeat(12, 1), 5 * row.repeat(12, 1)
    loss = node_loss(
        h1, h2, objective=objective, positive_twice=positive_twice, negatives=negatives
    )
    assert loss.item() == pytest.approx(math.log(count), abs=1e-12)


def test_three_nodes_by_hand():
    h1 = torch.tensor([[2.0, 0.0], [0.0, 1.0], [3.0, 4.0]], dtype=torch.float64)
    h2 = torch.tensor([[4.0, 3.0], [0.0, -5.0], [1.0, 0.0]], dtype=torch.float64)
    # cosines:  [.8, 0, 1], [.6, -1, 0], [.96, -.8, .6]
    printed = -math.log(0.8 / (0.8 + 1.8)) - math.log(1 / (1 + 1.6)) - math.log(0.6 / (0.6 + 2.36))
    loss = node_loss(h1, h2, objective="abs", positive_twice=True)
    assert loss.item() == pytest.approx(printed / 3, abs=1e-12)


@pytest.mark.parametrize("objective", ["exp", "abs"])
@pytest.mark.parametrize("negatives", [None, torch.tensor([1, 4, 8, 2])])
def test_a_gradient_step_lowers_the_loss(objective, negatives):
    h1, h2 = two_views(25)
    options = {"objective": objective, "negatives": negatives}
    loss, d1, d2 = value_and_gradients(node_loss, h1, h2, **options)
    assert node_loss(h1 - 1e-2 * d1, h2 - 1e-2 * d2, **options) < loss


@pytest.mark.parametrize("objective", ["exp", "abs"])
def test_views_that_agree_are_better_than_views_that_do_not(objective):
    h1, h2 = two_views(30)
    shuffled = h2.roll(1, 0)
    assert node_loss(h1, h2, objective=objective) < node_loss(h1, shuffled, objective=objective)


@pytest.mark.parametrize("objective", ["exp", "abs"])
@pytest.mark.parametrize("tau", [0.01, 0.4])
@pytest.mark.parametrize("negatives", [None, torch.tensor([5, 2])])
def test_without_gradients_the_value_is_the_same(objective, tau, negatives):
    h1, h2 = two_views(15)
    options = {"objective": objective, "tau": tau, "negatives": negatives}
    expected = node_loss(h1, h2, **options).item()
    with torch.no_grad():
        loss = node_loss(h1, h2, **options)
    assert not loss.requires_grad
    assert loss.item() == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("objective", ["exp", "abs"])
def test_the_gradient_reaches_the_only_view_that_asks(objective):
    h1, h2 = two_views(15)
    both = value_and_gradients(node_loss, h1, h2, objective=objective)
    node_loss(h1, h2.detach(), objective=objective).backward()
    torch.testing.assert_close(h1.grad, both[1], **EXACT)
    node_loss(h1.detach(), h2, objective=objective).backward()
    torch.testing.assert_close(h2.grad, both[2], **EXACT)


def test_the_incoming_gradient_scales_the_outgoing_one():
    h1, h2 = two_views(15)
    plain = value_and_gradients(node_loss, h1, h2)
    scaled = value_and_gradients(lambda a, b: 3 * node_loss(a, b), h1, h2)
    assert_all_close(scaled[1:], [3 * part for part in plain[1:]], **EXACT)


@pytest.mark.parametrize("objective", ["exp", "abs"])
def test_the_scale_of_representations_does_not_matter(objective):
    h1, h2 = two_views(15)
    scale = torch.linspace(0.1, 9, 15, dtype=torch.float64)[:, None]
    assert node_loss(h1 * scale, h2 / scale, objective=objective).item() == pytest.approx(
        node_loss(h1, h2, objective=objective).item(), rel=1e-12
    )


@pytest.mark.parametrize(("objective", "tau"), [("abs", 1.0), ("exp", 0.02), ("exp", 0.5)])
@pytest.mark.parametrize("positive_twice", [False, True])
@pytest.mark.parametrize("negatives", [None, torch.tensor([0, 3])])
def test_gradcheck(objective, tau, positive_twice, negatives):
    h1, h2 = two_views(5, D=3)
    assert torch.autograd.gradcheck(
        lambda a, b: node_loss(
            a,
            b,
            objective=objective,
            tau=tau,
            positive_twice=positive_twice,
            negatives=negatives,
            tile_bytes=80,
        ),
        (h1, h2),
    )


@pytest.mark.parametrize("objective", ["exp", "abs"])
def test_a_single_node_has_nobody_to_contrast_with(objective):
    h1, h2 = two_views(1)
    assert node_loss(h1, h2, objective=objective).item() == pytest.approx(0, abs=1e-12)


def test_orthogonal_views_give_a_finite_loss_in_the_abs_form():
    h1 = torch.eye(4, dtype=torch.float64)[:2].requires_grad_()
    h2 = torch.eye(4, dtype=torch.float64)[2:].requires_grad_()
    loss, *gradients = value_and_gradients(node_loss, h1, h2, objective="abs")
    assert loss.isfinite()
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_inputs_are_left_alone():
    h1, h2 = two_views(20)
    copies = h1.detach().clone(), h2.detach().clone()
    node_loss(h1, h2).backward()
    assert torch.equal(h1, copies[0])
    assert torch.equal(h2, copies[1])


# Sampling


def test_sampled_negatives_are_distinct_nodes_and_follow_the_generator():
    def draw(seed):
        return sample_negatives(50, 20, torch.Generator().manual_seed(seed))

    assert draw(0).unique().numel() == 20
    assert draw(0).min() >= 0
    assert draw(0).max() < 50
    assert torch.equal(draw(0), draw(0))
    assert not torch.equal(draw(0), draw(1))


@pytest.mark.parametrize("count", [None, 50, 51])
def test_a_sample_as_large_as_the_graph_means_all_nodes(count):
    assert sample_negatives(50, count, torch.Generator()) is None


def test_the_denominator_of_the_sampled_loss_is_unbiased():
    """Averaged over all pairs of columns, the sampled abs denominator is the exact one."""
    N = 6
    h1, h2 = (h.detach() for h in two_views(N))
    c = (F.normalize(h1, dim=1) @ F.normalize(h2, dim=1).T).abs()
    row_sums = []
    for first in range(N):
        for second in range(first + 1, N):
            loss = node_loss(
                h1, h2, objective="abs", negatives=torch.tensor([first, second])
            ).item()
            sums = [
                c[i, i] + (N - 1) * c[i, [j for j in (first, second) if j != i]].mean()
                for i in range(N)
            ]
            row_sums.append(torch.stack(sums))
            expected = torch.stack(sums).log().mean() - c.diagonal().log().mean()
            assert loss == pytest.approx(expected.item(), rel=1e-12)
    for i in range(N):
        pairs_without_i = [
            s[i]
            for s, pair in zip(row_sums, torch.combinations(torch.arange(N)), strict=True)
            if i not in pair.tolist()
        ]
        assert torch.stack(pairs_without_i).mean().item() == pytest.approx(
            c[i].sum().item(), rel=1e-12
        )


# Decorrelation


def slow_decorrelation(h1, h2, weight):
    N, D = h1.shape
    loss = 0
    codes = []
    for h in (h1, h2):
        columns = [
            (h[:, d] - h[:, d].sum() / N)
            / ((h[:, d] - h[:, d].sum() / N).square().sum() / (N - 1)).sqrt()
            for d in range(D)
        ]
        codes.append(columns)
        for d in range(D):
            for e in range(D):
                product = (columns[d] * columns[e]).sum() / N
                loss = loss + weight * (product - (1 if d == e else 0)) ** 2
    for first, second in zip(*codes, strict=True):
        loss = loss - (first * second).sum() / N
    return loss / D


def test_decorrelation_equals_the_formula_with_its_gradient():
    h1, h2 = two_views(40, D=5)
    for weight in (1e-3, 0.7):
        expected = value_and_gradients(slow_decorrelation, h1, h2, weight=weight)
        found = value_and_gradients(decorrelation_loss, h1, h2, weight=weight)
        assert_all_close(found, expected, **EXACT)


def test_decorrelation_in_blocks_of_rows_is_the_same(monkeypatch):
    h1, h2 = two_views(40, D=5)
    expected = value_and_gradients(slow_decorrelation, h1, h2, weight=0.3)
    for rows in (1, 7, 39):
        monkeypatch.setattr("brgcl.method.node_loss.CACHE_BYTES", rows * 5 * 8)
        found = value_and_gradients(decorrelation_loss, h1, h2, weight=0.3)
        assert_all_close(found, expected, **EXACT)


def test_decorrelation_is_lowest_for_aligned_and_independent_dimensions():
    axes = torch.tensor([[1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=torch.float64).repeat(25, 1)
    best = decorrelation_loss(axes, axes, weight=0.5)
    collapsed = axes[:, :1].repeat(1, 2)
    assert best < decorrelation_loss(collapsed, collapsed, weight=0.5)  # repeated dimension
    assert best < decorrelation_loss(axes, axes.flip(1), weight=0.5)  # views disagree
    assert best.item() == pytest.approx(-1, abs=0.02)


def test_decorrelation_survives_constant_dimensions():
    h1, h2 = two_views(20, D=4)
    still = torch.tensor([1.0, 1.0, 0.0, 1.0], dtype=torch.float64)
    loss, *gradients = value_and_gradients(lambda a, b: decorrelation_loss(a * still, b), h1, h2)
    assert loss.isfinite()
    assert all(gradient.isfinite().all() for gradient in gradients)


# Unit rows


def test_unit_rows_and_their_gradient_are_those_of_normalize():
    h = torch.randn(9, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weight = torch.randn(9, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    ours, theirs = h.clone().requires_grad_(), h.clone().requires_grad_()
    found, expected = unit_rows(ours + 0), torch.nn.functional.normalize(theirs, dim=1)
    torch.testing.assert_close(found, expected)
    (found * weight).sum().backward()
    (expected * weight).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_a_row_of_zeros_stays_and_gets_no_gradient():
    h = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    u = unit_rows(h + 0)
    assert u.tolist() == [[0, 0], [pytest.approx(0.6), pytest.approx(0.8)]]
    u.sum().backward()
    assert h.grad[0].tolist() == [0, 0]
    assert bool(h.grad.isfinite().all())


@pytest.mark.parametrize("factor", [1.0, -2.5])
def test_the_gradient_follows_a_factor_on_the_loss(factor):
    h1, h2 = two_views(20)
    one, many = (h1.detach().clone().requires_grad_() for _ in range(2))
    node_loss(one, h2).backward()
    (factor * node_loss(many, h2)).backward()
    torch.testing.assert_close(many.grad, factor * one.grad)


@pytest.mark.parametrize("columns", [1, 15, 16, 17])
def test_aligned_rows_begin_at_multiples_of_sixteen(columns):
    tile = aligned_rows(3, columns, torch.empty(1, dtype=torch.float64))
    assert tile.shape == (3, columns)
    assert tile.stride() == (32 if columns == 17 else 16, 1)
    assert tile.dtype == torch.float64
