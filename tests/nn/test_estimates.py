"""Estimates of latent structures, against all structures listed."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.nn.selections import Projective, Segmental, Spanning, make_selection
from regard.parts import find
from regard.testing.board.listing import trees

N = 4
HEADS = torch.ones(3, N + 1, dtype=torch.bool)
SHORT = torch.tensor([5, 4, 2])
RAGGED = torch.arange(N + 1) < SHORT[:, None]


def scores(*shape: int, scale: float = 1.5, seed: int = 0) -> Tensor:
    return scale * torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def listed(kind: str, words: int) -> Tensor:
    """(K, N, N + 1) all trees of that many words: 1 where p is the head of j."""
    found = torch.zeros(len(trees(kind, words)), N, N + 1, dtype=torch.float64)
    for table, heads in zip(found, trees(kind, words), strict=True):
        for word, head in enumerate(heads):
            table[word, head] = 1
    return found


def segments(transitions: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """All segmentations of some positions (K, S), and the scores of their pairs."""
    every = torch.tensor(list(product((0, 1), repeat=length)))
    pairs = sum(
        (transitions[every[:, s], every[:, s + 1]] for s in range(length - 1)), torch.zeros(len(every))
    )
    return every.double(), pairs


def made(kind: str, estimate: str) -> Any:
    return make_selection(find("selection", kind).Options(estimate=estimate), 1)


@pytest.mark.parametrize("kind", ["projective", "spanning"])
@pytest.mark.parametrize("estimate", ["straight-through", "perturbed", "em"])
def test_the_forward_pass_is_the_best_tree(kind: str, estimate: str) -> None:
    given = scores(3, N, N + 1)
    found = made(kind, estimate).eval()(given, RAGGED)
    for row, words in enumerate((4, 3, 1)):
        every = listed(kind, words)
        assert torch.equal(found[row], every[(every * given[row]).sum((1, 2)).argmax()])


@pytest.mark.parametrize("kind", ["projective", "spanning"])
def test_straight_through_has_the_gradient_of_the_marginals(kind: str) -> None:
    given, weights = scores(3, N, N + 1).requires_grad_(), scores(3, N, N + 1, seed=1)
    (found,) = torch.autograd.grad(
        (made(kind, "straight-through").train()(given, HEADS) * weights).sum(), given
    )
    every = listed(kind, N)
    shares = torch.einsum("knp,bnp->bk", every, given).softmax(-1)
    marginals = torch.einsum("bk,knp->bnp", shares, every)
    (true,) = torch.autograd.grad((marginals * weights).sum(), given)
    torch.testing.assert_close(found, true)


def test_perturbed_scores_choose_trees_as_noise_on_the_listed_ones_does() -> None:
    given, selection = scores(1, 2, 3).expand(4000, -1, -1), made("projective", "perturbed").train()
    mask = torch.ones(4000, 3, dtype=torch.bool)
    torch.manual_seed(0)
    found = selection(given, mask)[:, 0, 0].mean()  # how often the root is the head of the first word
    every = torch.zeros(2, 2, 3, dtype=torch.float64)
    every[0, 0, 0] = every[0, 1, 1] = every[1, 1, 0] = every[1, 0, 2] = 1
    noise = -torch.log(-torch.log(torch.rand(4000, 2, 3, dtype=torch.float64)))
    best = torch.einsum("knp,bnp->bk", every, given + noise).argmax(-1)
    assert abs(float(found) - float((best == 0).double().mean())) < 0.04
    assert 0.05 < float(found) < 0.95


def projected(points: Tensor, worth: Tensor) -> Tensor:
    """The mean of listed structures (K, D) by projected gradient: the truth for SparseMAP."""

    def nearest(point: Tensor) -> Tensor:  # on the simplex
        ordered = point.sort(descending=True).values
        levels = (ordered.cumsum(0) - 1) / torch.arange(1, len(point) + 1)
        return (point - levels[int((ordered > levels).sum()) - 1]).clamp(min=0)

    step = 1 / torch.linalg.matrix_norm(points @ points.T, 2)
    q = torch.full((len(points),), 1 / len(points), dtype=torch.float64)
    ahead, pace = q, 1.0
    for _ in range(1500):
        new = nearest(ahead + step * (worth - points @ (points.T @ ahead)))
        faster = (1 + (1 + 4 * pace * pace) ** 0.5) / 2
        q, ahead, pace = new, new + (pace - 1) / faster * (new - q), faster
    return points.T @ q


def test_sparsemap_solves_its_quadratic_program_over_all_trees() -> None:
    given = scores(3, N, N + 1, seed=3)
    found = made("projective", "sparsemap")(given, RAGGED)
    for row, words in enumerate((4, 3, 1)):
        every = listed("projective", words).flatten(1)
        torch.testing.assert_close(
            found[row].flatten(), projected(every, every @ given[row].flatten()), atol=1e-6, rtol=0
        )
    assert (found > 0).sum() < (made("projective", "marginals")(given, RAGGED) > 0).sum()


def test_sparsemap_of_segments_counts_their_pairs() -> None:
    selection = made("segments", "sparsemap").double()
    torch.nn.init.normal_(selection.transitions, generator=torch.Generator().manual_seed(0))
    given, mask = scores(2, 2, N, seed=4), torch.ones(2, N, dtype=torch.bool)
    found = selection(given, mask)
    every, pairs = segments(selection.transitions.detach(), N)
    for row, query in product(range(2), range(2)):
        true = projected(every, every @ given[row, query] + pairs)
        torch.testing.assert_close(found[row, query], true, atol=1e-6, rtol=0)


@pytest.mark.parametrize("kind", ["projective", "segments"])
def test_the_gradient_of_sparsemap_is_exact(kind: str) -> None:
    selection = made(kind, "sparsemap").double()
    if kind == "segments":
        torch.nn.init.normal_(selection.transitions, generator=torch.Generator().manual_seed(1))
    given = scores(1, N, N + 1 if kind == "projective" else N, seed=5).requires_grad_()
    mask = torch.ones(1, given.shape[-1], dtype=torch.bool)
    assert torch.autograd.gradcheck(lambda given: selection(given, mask), (given,))
    if kind == "segments":
        weights = scores(*given.shape, seed=6)
        (found,) = torch.autograd.grad((selection(given, mask) * weights).sum(), selection.transitions)
        for place in ((0, 1), (1, 1)):
            with torch.no_grad():
                sides = []
                for sign in (1, -1):
                    selection.transitions[place] += sign * 1e-5
                    sides.append(float((selection(given, mask) * weights).sum()))
                    selection.transitions[place] -= sign * 1e-5
            assert float(found[place]) == pytest.approx((sides[0] - sides[1]) / 2e-5, abs=1e-5)


@pytest.mark.parametrize("kind", ["projective", "segments"])
def test_em_learns_the_structure_that_the_loss_prefers(kind: str) -> None:
    """With a loss that is linear in z, the E-step is the mode of the exact posterior."""
    selection = made(kind, "em").double().train()
    given = scores(2, N, N + 1 if kind == "projective" else N, seed=7).requires_grad_()
    mask, weights = torch.ones(2, given.shape[-1], dtype=torch.bool), scores(*given.shape, seed=8)
    count = 2 if kind == "projective" else 2 * N  # one tree for each row, one segmentation for each query
    loss = (selection(given, mask) * weights).sum() / count
    wanted = (given,) if kind == "projective" else (given, selection.transitions)
    found = torch.autograd.grad(loss, wanted)
    flat = given.reshape(count, -1)
    if kind == "projective":
        every, pairs = listed("projective", N).flatten(1), torch.zeros(())
    else:
        every, pairs = segments(selection.transitions, N)
    log_p = (flat @ every.T + pairs).log_softmax(-1)  # (n, K)
    preferred = (log_p - weights.reshape(count, -1) @ every.T).argmax(-1)
    true = torch.autograd.grad(-log_p.gather(1, preferred[:, None]).mean(), wanted)
    for mine, theirs in zip(found, true, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_kernels_leave_estimates_alone() -> None:
    selection = made("segments", "straight-through").eval()
    assert isinstance(selection, Segmental)
    found = selection(scores(1, 1, 6).float(), torch.ones(1, 6, dtype=torch.bool))
    assert set(found.unique().tolist()) <= {0.0, 1.0}
    assert isinstance(made("projective", "em"), Projective) and isinstance(made("spanning", "em"), Spanning)


def test_a_warm_up_reads_the_marginals_first_and_remembers_its_count() -> None:
    given, options = scores(3, N, N + 1), find("selection", "projective").Options(estimate="em", warmup=2)
    selection, plain = make_selection(options, 1).train(), made("projective", "marginals")
    best = made("projective", "em").eval()(given, HEADS)
    assert torch.equal(selection(given, HEADS), plain(given, HEADS))
    again = make_selection(options, 1).train()
    again.load_state_dict(selection.state_dict())
    found = [again(given, HEADS) for _ in range(2)]
    assert torch.equal(found[0], plain(given, HEADS)) and torch.equal(found[1], best)
    assert torch.equal(selection.eval()(given, HEADS), best), "an answer reads what the estimate finds"
    with pytest.raises(ValueError, match="warmup has no effect"):
        find("selection", "segments").Options(warmup=5)
