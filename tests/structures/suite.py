"""The suite of all structures. A subclass lists `cases`, each an instance with its support and its count.

class TestCategorical(StructureSuite):
    cases = {"ragged": Case(...), "masked": Case(...)}
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
import pytest
import torch
from scipy.stats import power_divergence
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.distributions import kl_divergence

from regard.structures.base import Structure
from tests.structures.truth import Case


def close(actual: Tensor, expected: object, tolerance: float = 1e-9) -> None:
    wanted = torch.as_tensor(np.array(expected, dtype=np.float64))
    torch.testing.assert_close(actual.detach().double(), wanted, rtol=tolerance, atol=tolerance)


def rows(values: Tensor) -> list[tuple[int, ...]]:
    """Values (M, ...) as hashable tuples."""
    return [tuple(value.flatten().int().tolist()) for value in values]


class StructureSuite:
    cases: ClassVar[dict[str, Case]]
    backends: ClassVar[list[str]] = ["reference"]  # and "auto" for a structure with fast paths

    def test_log_partition(self, case: Case, backend: str) -> None:
        close(case.make(backend=backend).log_partition, [truth.log_partition for truth in case.truth()])

    def test_marginals(self, case: Case, backend: str) -> None:
        structure = case.make(backend=backend)
        close(structure.marginals, [truth.marginals for truth in case.truth()])
        close(structure.mean, [truth.mean for truth in case.truth()])

    def test_mode(self, case: Case, backend: str) -> None:
        structure = case.make(backend=backend)
        truths = case.truth()
        close(structure.mode_score, [truth.scores.max() for truth in truths])
        expected = [
            truth.values[truth.scores.argmax()] if len(truth.best) else np.zeros(structure.event_shape)
            for truth in truths
        ]
        close(structure.mode, expected)

    def test_topk_lists_everything_then_nothing(self, case: Case) -> None:
        values, scores = case.make().topk(max(case.counts) + 2)
        for b, truth in enumerate(case.truth()):
            count = len(truth.best)
            close(scores[:count, b], truth.best)
            assert (scores[count:, b] == -torch.inf).all()
            assert not values[count:, b].any()
            score_of = dict(zip(rows(torch.tensor(truth.values)), truth.scores, strict=True))
            found = rows(values[:count, b])
            assert len(set(found)) == count
            close(scores[:count, b], [score_of[row] for row in found])

    def test_count(self, case: Case) -> None:
        counts = case.make().count()
        assert counts == list(case.counts) == [len(truth.best) for truth in case.truth()]
        assert all(type(count) is int for count in counts)

    def test_enumerate_support(self, case: Case) -> None:
        support = case.make().enumerate_support()
        for b, truth in enumerate(case.truth()):
            possible = torch.tensor(truth.values[truth.scores > -np.inf])
            assert sorted(rows(support[: len(possible), b])) == sorted(rows(possible))
            assert not support[len(possible) :, b].any()
        with pytest.raises(ValueError, match="limit"):
            case.make().enumerate_support(limit=max(case.counts) - 1)

    def test_entropy(self, case: Case, backend: str) -> None:
        close(case.make(backend=backend).entropy(), [truth.cross_entropy(truth) for truth in case.truth()])

    def test_cross_entropy_and_divergence(self, case: Case) -> None:
        torch.manual_seed(3)
        others = [potential + torch.randn_like(potential) for potential in case.potentials]
        p, q = case.make(), case.make(others)
        pairs = list(zip(case.truth(), case.truth(others), strict=True))
        close(p.cross_entropy(q), [truth.cross_entropy(other) for truth, other in pairs])
        close(kl_divergence(p, q), [truth.divergence(other) for truth, other in pairs])

    def test_log_prob(self, case: Case) -> None:
        structure = case.make()
        for b, truth in enumerate(case.truth()):
            entry = case.entry(b)
            values = torch.tensor(truth.values)
            if truth.log_partition > -np.inf:
                close(entry.log_prob(values), truth.scores - truth.log_partition)
            support = set(rows(values))
            corrupted = values.clone().reshape(len(values), -1)
            place = torch.arange(len(values)) % max(corrupted.shape[1], 1)
            corrupted[torch.arange(len(values)), place] = 1 - corrupted[torch.arange(len(values)), place]
            outside = torch.tensor([row not in support for row in rows(corrupted)], dtype=torch.bool)
            impossible = entry.log_prob(corrupted.reshape(values.shape)[outside])
            assert (impossible == -torch.inf).all()
        batch = torch.stack([torch.tensor(truth.values[0]) for truth in case.truth()])
        alone = [case.entry(b).log_prob(value) for b, value in enumerate(batch)]
        close(structure.log_prob(batch.bool()), [float(one) for one in alone])

    def test_log_prob_partial(self, case: Case) -> None:
        structure, truths = case.make(), case.truth()
        generator = np.random.default_rng(5)
        for _ in range(6):
            required = [truth.values[generator.integers(len(truth.values))] for truth in truths]
            required = [value * (generator.random(value.shape) < 0.4) for value in required]
            forbidden = [(generator.random(value.shape) < 0.2) for value in required]
            got = structure.log_prob_partial(
                torch.tensor(np.array(required)), torch.tensor(np.array(forbidden))
            )
            wanted = zip(truths, required, forbidden, strict=True)
            close(got, [truth.partial(needed.astype(bool), excluded) for truth, needed, excluded in wanted])
        close(structure.log_prob_partial(), [0.0 if len(truth.best) else -np.inf for truth in truths])

    def test_max_marginals(self, case: Case) -> None:
        close(case.make().max_marginals(), [truth.max_marginals() for truth in case.truth()])

    def test_expectations(self, case: Case) -> None:
        structure, truths = case.make(), case.truth()
        weights = torch.randn(structure.marginals.shape[1:], dtype=torch.float64, generator=seeded(6))
        close(structure.expectation(weights), [(truth.marginals * weights.numpy()).sum() for truth in truths])
        close(
            structure.expected_product(weights), [truth.expected_product(weights.numpy()) for truth in truths]
        )

    def test_samples_follow_the_distribution(self, case: Case, backend: str) -> None:
        b = int(np.argmax(case.counts))
        truth = case.truth()[b]
        draws = case.entry(b, backend).sample((3000,), generator=seeded(7))
        expected = dict(zip(rows(torch.tensor(truth.values)), truth.probabilities, strict=True))
        observed = dict.fromkeys(expected, 0)
        for row in rows(draws):
            observed[row] += 1
            assert expected[row] > 0
        if len(truth.best) > 1:
            assert g_test(list(observed.values()), list(expected.values())) > 1e-3

    def test_samples_are_reproducible_and_in_the_support(self, case: Case, backend: str) -> None:
        structure = case.make(backend=backend)
        torch.manual_seed(1)
        first = structure.sample((2, 3))
        torch.manual_seed(1)
        assert torch.equal(first, structure.sample((2, 3)))
        assert first.shape == (2, 3, *structure.batch_shape, *structure.event_shape)
        supported = structure.log_prob(first) > -torch.inf
        assert torch.equal(supported, torch.tensor([c > 0 for c in case.counts]).expand_as(supported))

    def test_rsample_is_a_structure_with_a_gradient(self, case: Case) -> None:
        potentials = [potential.clone().requires_grad_() for potential in case.potentials]
        structure = case.make(potentials)
        draws = structure.rsample((4,), temperature=0.7, generator=seeded(2))
        close(draws, draws.detach().round().numpy())
        supported = structure.log_prob(draws.detach().round()) > -torch.inf
        assert torch.equal(supported, torch.tensor([c > 0 for c in case.counts]).expand_as(supported))
        draws.square().sum().backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in potentials if p.numel())
        if max(case.counts) > 1:
            assert any(p.grad.any() for p in potentials if p.numel())

    def test_first_derivatives(self, case: Case, backend: str) -> None:
        self.check(case, lambda structure: structure.log_partition, gradcheck, backend)
        self.check(case, lambda structure: structure.marginals, gradcheck, backend)
        self.check(case, lambda structure: structure.entropy(), gradcheck, backend)

    def test_second_derivatives_of_log_partition(self, case: Case, backend: str) -> None:
        self.check(case, lambda structure: structure.log_partition, gradgradcheck, backend)

    def test_second_derivatives_of_marginals(self, case: Case) -> None:
        if case.make().marginals.numel():
            self.check(case, lambda structure: structure.marginals, gradgradcheck)
        self.check(case, lambda structure: structure.mean, gradgradcheck)

    def test_derivatives_of_the_other_queries(self, case: Case) -> None:
        values = torch.stack([torch.tensor(truth.values[0]) for truth in case.truth()])
        others = case.make([potential.sin() for potential in case.potentials])
        queries: list[Callable[[Structure], Tensor]] = [
            lambda structure: structure.cross_entropy(others),
            lambda structure: others.cross_entropy(structure),
            lambda structure: kl_divergence(structure, others),
            lambda structure: structure.expectation(torch.ones_like(structure.marginals).cumsum(-1)),
            lambda structure: torch.where(
                structure.log_prob(values).isfinite(), structure.log_prob(values), 0.0
            ),
            lambda structure: structure.mode_score,
            lambda structure: structure.topk(2)[1],
            lambda structure: structure.max_marginals(),
            lambda structure: structure.log_prob_partial(forbidden=values),
            lambda structure: structure.expected_product(torch.full_like(structure.marginals, -0.7)),
        ]
        for query in queries:
            self.check(case, query, gradcheck)

    @staticmethod
    def check(
        case: Case, query: Callable[[Structure], Tensor], method: Callable, backend: str = "reference"
    ) -> None:
        def function(*potentials: Tensor) -> Tensor:
            result = query(case.make(potentials, backend))
            return torch.where(result == -torch.inf, 0.0, result)

        inputs = [potential.clone().requires_grad_() for potential in case.potentials]
        assert method(function, inputs, fast_mode=True, atol=1e-6)

    @pytest.mark.parametrize("shift", [1e4, -1e4])
    def test_shifted_potentials(self, case: Case, backend: str, shift: float) -> None:
        shifted = [case.potentials[0] + shift, *case.potentials[1:]]
        structure, truths = case.make(shifted, backend), case.truth(shifted)
        close(structure.log_partition, [truth.log_partition for truth in truths])
        close(structure.marginals, [truth.marginals for truth in truths], 1e-7)
        close(structure.entropy(), [truth.cross_entropy(truth) for truth in truths], 1e-7)

    def test_empty_support(self, case: Case, backend: str) -> None:
        leaves = [potential.clone().requires_grad_() for potential in case.potentials]
        structure = case.build(*(leaf - torch.inf for leaf in leaves), lengths=case.lengths, backend=backend)
        some = structure.log_partition > -torch.inf
        # An empty structure, of length 0 or without parts, needs no potential.
        assert (structure.log_partition[some] == 0).all()
        assert (structure.marginals == 0).all()
        (torch.where(some, structure.log_partition, 0.0).sum() + structure.marginals.sum()).backward()
        assert all(leaf.grad is None or (leaf.grad == 0).all() for leaf in leaves)
        assert (structure.mode == 0).all()
        assert (structure.sample() == 0).all()
        assert (structure.entropy() == 0).all()

    def test_a_score_of_nan_reaches_every_answer(self, case: Case, backend: str) -> None:
        """Of a part that some structure has; the other entries of the batch answer as before."""
        given = [potential.clone().requires_grad_() for potential in case.potentials]
        whole = case.make(given, backend=backend).log_partition
        weights = torch.autograd.grad(whole[whole.isfinite()].sum(), given, allow_unused=True)
        for number, weight in enumerate(weights):
            for b in range(len(case.counts)):
                places = [] if weight is None else (weight[b] > 1e-9).nonzero().tolist()
                for place in places[:: max(1, len(places) - 1)]:
                    poisoned = [potential.clone() for potential in case.potentials]
                    poisoned[number][(b, *place)] = torch.nan
                    structure = case.make(poisoned, backend=backend)
                    others = [other for other in range(len(case.counts)) if other != b]
                    assert structure.log_partition[b].isnan()
                    assert number or not structure.marginals[b].isfinite().all()
                    assert not structure.mode_score[b].isfinite()
                    close(structure.log_partition[others], whole[others].detach())

    def test_any_batch_shape(self, case: Case, backend: str) -> None:
        whole = case.make(backend=backend)
        for b in range(len(case.counts)):
            entry = case.entry(b, backend)
            assert entry.log_partition.shape == ()
            torch.testing.assert_close(entry.log_partition, whole.log_partition[b])
            torch.testing.assert_close(entry.marginals, whole.marginals[b])
            torch.testing.assert_close(entry.mode, whole.mode[b])
            assert type(entry.count()) is int
        potentials = [potential[None, :, None] for potential in case.with_infinities(case.potentials)]
        lengths = case.lengths
        if lengths is not None:
            lengths = (
                tuple(x[None, :, None] for x in lengths)
                if isinstance(lengths, tuple)
                else lengths[None, :, None]
            )
        mask = None if case.mask is None else case.mask[None, :, None]
        deep = case.build(*potentials, lengths=lengths, mask=mask, backend=backend)
        assert deep.batch_shape == (1, len(case.counts), 1)
        torch.testing.assert_close(deep.log_partition[0, :, 0], whole.log_partition)
        torch.testing.assert_close(deep.marginals[0, :, 0], whole.marginals)
        torch.testing.assert_close(deep.topk(2)[1][:, 0, :, 0], whole.topk(2)[1])

    def test_layout_modes_and_mutation(self, case: Case, backend: str) -> None:
        whole = case.make(backend=backend)
        before = [potential.clone() for potential in case.potentials]
        strided = [potential.movedim(0, -1).contiguous().movedim(-1, 0) for potential in case.potentials]
        same_answers(case.make(strided, backend), whole)
        with torch.inference_mode():
            same_answers(case.make([potential.clone() for potential in case.potentials], backend), whole)
        with torch.no_grad():
            same_answers(case.make(backend=backend), whole)
        whole.sample((2,)), whole.rsample((2,)), whole.topk(2), whole.max_marginals()
        for potential, copy in zip(case.potentials, before, strict=True):
            assert torch.equal(potential, copy)

    def test_precisions(self, case: Case, backend: str) -> None:
        single = case.make([potential.float() for potential in case.potentials], backend)
        assert single.log_partition.dtype == single.marginals.dtype == torch.float32
        close(single.log_partition, [truth.log_partition for truth in case.truth()], 1e-4)
        close(single.marginals, [truth.marginals for truth in case.truth()], 1e-4)
        half = [potential.bfloat16() for potential in case.potentials]
        exact = case.make([potential.float() for potential in half], backend)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rounded = case.make(half, backend)
            assert rounded.log_partition.dtype == rounded.marginals.dtype == torch.float32
            torch.testing.assert_close(rounded.log_partition, exact.log_partition)
            torch.testing.assert_close(rounded.marginals, exact.marginals)

    def test_threads(self, case: Case) -> None:
        whole = case.make(backend="auto")
        with ThreadPoolExecutor(4) as pool:
            for structure in pool.map(lambda _: case.make(backend="auto"), range(8)):
                torch.testing.assert_close(structure.marginals, whole.marginals)
            for marginals in pool.map(lambda _: whole.marginals, range(8)):
                torch.testing.assert_close(marginals, whole.marginals)

    def test_transforms(self, case: Case) -> None:
        first, *rest = case.potentials
        total = torch.func.grad(
            lambda x: torch.where((z := case.make([x, *rest]).log_partition) > -torch.inf, z, 0.0).sum()
        )
        torch.testing.assert_close(total(first), case.make().marginals)


def same_answers(actual: Structure, expected: Structure) -> None:
    torch.testing.assert_close(actual.log_partition, expected.log_partition)
    torch.testing.assert_close(actual.marginals, expected.marginals)
    torch.testing.assert_close(actual.mode, expected.mode)
    torch.testing.assert_close(actual.entropy(), expected.entropy())
    torch.testing.assert_close(actual.topk(2)[0], expected.topk(2)[0])
    assert actual.count() == expected.count()
    assert actual.sample((2,)).shape == expected.sample((2,)).shape


def g_test(observed: list[int], probabilities: list[float]) -> float:
    """The p-value of the log-likelihood-ratio test; cells with an expected count below five are pooled."""
    draws = sum(observed)
    cells = sorted(zip(probabilities, observed, strict=True), reverse=True)
    large = [(p * draws, seen) for p, seen in cells if p * draws >= 5]
    pooled = [(p * draws, seen) for p, seen in cells if p * draws < 5]
    if sum(expected for expected, _ in pooled) > 0.5:
        large.append((sum(expected for expected, _ in pooled), sum(seen for _, seen in pooled)))
    wanted, seen = (np.array(column) for column in zip(*large, strict=True))
    return float(power_divergence(seen, wanted * seen.sum() / wanted.sum(), lambda_="log-likelihood").pvalue)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
