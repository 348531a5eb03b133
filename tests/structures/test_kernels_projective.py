"""The projective kernels against enumeration of every projective tree, and against plain recursions at larger sizes."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from regard.structures import kernels

INF = float("inf")


def random_arcs(B, N, *, seed=0, holes=0.0, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    arcs = scale * torch.randn(B, N + 1, N + 1, generator=generator, dtype=torch.float64)
    arcs[torch.rand(arcs.shape, generator=generator) < holes] = -INF
    return arcs


def is_projective_tree(heads):
    """heads[m − 1] of words 1..n: every word reaches the root, and no arc crosses another."""
    for word in range(1, len(heads) + 1):
        seen, at = set(), word
        while at != 0:
            if at in seen:
                return False
            seen.add(at)
            at = heads[at - 1]
    spans = [(min(h, m), max(h, m)) for m, h in enumerate(heads, start=1)]
    return not any(a < c < b < d for (a, b), (c, d) in itertools.permutations(spans, 2))


def projective_trees(n, single_root):
    for heads in itertools.product(range(n + 1), repeat=n):
        if (not single_root or heads.count(0) == 1) and is_projective_tree(heads):
            yield heads


def truth(arcs, lengths, single_root):
    log_z, marginals = torch.zeros(len(lengths), dtype=torch.float64), torch.zeros_like(arcs)
    for b, n in enumerate(lengths.tolist()):
        if n == 0:
            continue
        scored = [
            (sum(float(arcs[b, h, m]) for m, h in enumerate(heads, 1)), heads)
            for heads in projective_trees(n, single_root)
        ]
        top = max(score for score, _ in scored)
        if top == -INF:
            log_z[b] = -INF
            continue
        total = sum(math.exp(score - top) for score, _ in scored)
        log_z[b] = top + math.log(total)
        for score, heads in scored:
            for m, h in enumerate(heads, 1):
                marginals[b, h, m] += math.exp(score - top) / total
    return log_z, marginals


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("holes", [0.0, 0.4])
def test_equal_to_enumeration(single_root, holes):
    arcs = random_arcs(14, 5, holes=holes, seed=5)
    lengths = torch.arange(14) % 6
    log_z, marginals = truth(arcs, lengths, single_root)
    got = kernels.projective_marginals(arcs, lengths, single_root)
    torch.testing.assert_close(
        kernels.projective_log_partition(arcs, lengths, single_root), log_z, rtol=0, atol=1e-9
    )
    torch.testing.assert_close(got, marginals, rtol=0, atol=1e-9)
    assert (got[arcs == -INF] == 0).all()


@pytest.mark.parametrize("single_root", [True, False])
def test_number_of_trees(single_root):
    """Projective trees of n words: 1, 3, 12, 55, 273 with any number of roots; 1, 2, 7, 30, 143 with one."""
    counts = [1, 2, 7, 30, 143] if single_root else [1, 3, 12, 55, 273]
    lengths = torch.arange(1, 6)
    got = kernels.projective_log_partition(torch.zeros(5, 6, 6, dtype=torch.float64), lengths, single_root)
    torch.testing.assert_close(got.exp(), torch.tensor(counts, dtype=torch.float64))


@pytest.mark.parametrize("single_root", [True, False])
def test_mode_is_the_best_tree(single_root):
    arcs = random_arcs(12, 5, holes=0.3, seed=2)
    lengths = torch.arange(12) % 6
    scores, heads = kernels.projective_mode(arcs, lengths, single_root)
    for b, n in enumerate(lengths.tolist()):
        best = max(
            (sum(float(arcs[b, h, m]) for m, h in enumerate(tree, 1)), tree)
            for tree in projective_trees(n, single_root or n == 0) or [(0.0, ())]
        ) if n else (0.0, ())  # fmt: skip
        assert float(scores[b]) == pytest.approx(best[0], abs=1e-9)
        expected = list(best[1]) if best[0] > -INF else [-1] * n
        assert heads[b].tolist() == [-1, *expected, *[-1] * (5 - n)]


@pytest.mark.parametrize("single_root", [True, False])
def test_gradients(single_root):
    arcs = random_arcs(3, 3, seed=4).requires_grad_()
    lengths = torch.tensor([3, 1, 2])
    assert torch.autograd.gradcheck(
        lambda a: kernels.projective_log_partition(a, lengths, single_root), (arcs,)
    )
    assert torch.autograd.gradcheck(lambda a: kernels.projective_marginals(a, lengths, single_root), (arcs,))
    assert torch.autograd.gradgradcheck(
        lambda a: kernels.projective_log_partition(a, lengths, single_root), (arcs,)
    )


def test_backward_of_marginals_with_impossible_arcs():
    arcs = random_arcs(10, 5, holes=0.3, seed=8)
    arcs[0] = -INF
    lengths = torch.tensor([5, 5, 5, 5, 4, 4, 3, 2, 1, 0])
    weight = torch.randn(arcs.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def gradient(floor):
        leaf = torch.where(arcs == -INF, floor, arcs).requires_grad_()
        (kernels.projective_marginals(leaf, lengths, True) * weight).sum().backward()
        return leaf.grad

    possible = truth(arcs, lengths, True)[0] > -INF
    exact, near = gradient(-INF), gradient(-300.0)
    assert possible[1:].any() and exact.isfinite().all()
    assert (exact[arcs == -INF] == 0).all() and (exact[~possible] == 0).all()
    torch.testing.assert_close(exact[possible], near[possible], rtol=0, atol=1e-9)


def plain_log_partition(arcs):
    """Eisner's algorithm for one sentence with one root, by logsumexp over stacked scores."""
    n = arcs.shape[0] - 1
    complete = {(h, h): arcs.new_zeros(()) for h in range(1, n + 1)}
    arc = {}
    for width in range(1, n):
        for s in range(1, n + 1 - width):
            t = s + width
            split = torch.logsumexp(
                torch.stack([complete[s, r] + complete[t, r + 1] for r in range(s, t)]), 0
            )
            arc[s, t], arc[t, s] = split + arcs[s, t], split + arcs[t, s]
            complete[s, t] = torch.logsumexp(
                torch.stack([arc[s, r] + complete[r, t] for r in range(s + 1, t + 1)]), 0
            )
            complete[t, s] = torch.logsumexp(
                torch.stack([arc[t, r] + complete[r, s] for r in range(s, t)]), 0
            )
    roots = [complete[r, 1] + arcs[0, r] + complete[r, n] for r in range(1, n + 1)]
    return torch.logsumexp(torch.stack(roots), 0)


@pytest.mark.parametrize(("scale", "shift"), [(50.0, 0.0), (1.0, 1e4), (1.0, -1e4), (300.0, 0.0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_wide_scores_and_shifts(scale, shift, dtype):
    arcs = (random_arcs(2, 12, scale=scale, seed=6) + shift).to(dtype)
    lengths = torch.tensor([12, 12])
    exact = arcs.double().requires_grad_()
    log_z = torch.stack([plain_log_partition(sentence) for sentence in exact])
    (marginals,) = torch.autograd.grad(log_z.sum(), exact, create_graph=True)
    weight = torch.randn(arcs.shape, dtype=dtype, generator=torch.Generator().manual_seed(1))
    (second,) = torch.autograd.grad((marginals * weight).sum(), exact)
    leaf = arcs.clone().requires_grad_()
    tolerance = 1e-9 if dtype == torch.float64 else 1e-5
    torch.testing.assert_close(
        kernels.projective_log_partition(leaf, lengths, True).double(), log_z, rtol=tolerance, atol=tolerance
    )
    got = kernels.projective_marginals(leaf, lengths, True)
    torch.testing.assert_close(got.double(), marginals, rtol=0, atol=tolerance)
    (mine,) = torch.autograd.grad((got * weight).sum(), leaf)
    torch.testing.assert_close(mine.double(), second, rtol=0, atol=20 * tolerance)


def test_sharp_scores_at_length_80():
    arcs = random_arcs(3, 80, scale=50.0, seed=1).requires_grad_()
    lengths = torch.tensor([80, 79, 2])
    marginals = kernels.projective_marginals(arcs, lengths, True)
    torch.testing.assert_close(marginals.sum((1, 2)), lengths.double(), rtol=0, atol=1e-9)
    scores, heads = kernels.projective_mode(arcs, lengths, True)
    log_z = kernels.projective_log_partition(arcs, lengths, True)
    assert (log_z >= scores - 1e-9).all() and (log_z < scores + 10).all()
    (marginals * torch.randn(arcs.shape, dtype=torch.float64)).sum().backward()
    assert arcs.grad.isfinite().all()
    assert (arcs.grad[2, 3:] == 0).all() and (heads[2, 3:] == -1).all()


def test_nan_in_nan_out():
    arcs = random_arcs(2, 4)
    arcs[0, 1, 2] = float("nan")
    got = kernels.projective_log_partition(arcs, torch.tensor([4, 4]), True)
    assert got[0].isnan() and got[1].isfinite()


@pytest.mark.parametrize("single_root", [True, False])
def test_each_sentence_of_a_batch_is_computed_alone(single_root):
    """Sharp, impossible, NaN and padded sentences side by side with plain ones."""
    arcs = random_arcs(19, 11, seed=3)
    arcs[3] *= 200.0
    arcs[5, :, 2] = -INF
    arcs[8, 1, 2] = float("nan")
    arcs[12, 7:, :], arcs[12, :, 7:] = float("nan"), float("nan")
    lengths = torch.tensor([11] * 12 + [6, 0, 1, 2, 11, 11, 5])
    weight = torch.randn(arcs.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def answers(arcs, lengths, weight):
        leaf = arcs.clone().requires_grad_()
        marginals = kernels.projective_marginals(leaf, lengths, single_root)
        (gradient,) = torch.autograd.grad((marginals * weight).sum(), leaf)
        return kernels.projective_log_partition(leaf, lengths, single_root), marginals, gradient

    together = answers(arcs, lengths, weight)
    for b in range(len(arcs)):
        alone = answers(arcs[b : b + 1], lengths[b : b + 1], weight[b : b + 1])
        for one, other in zip(together, alone, strict=True):
            torch.testing.assert_close(one[b], other[0], rtol=1e-9, atol=1e-9, equal_nan=True)
    assert together[0][8].isnan() and together[0][5] == -INF
    assert (together[1][5] == 0).all() and (together[2][5] == 0).all()
    assert together[0][[*range(5), *range(9, 19)]].isfinite().all()
