"""PositionChain against every ordered choice."""

from __future__ import annotations

import itertools
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from regard.structures import position_chain
from regard.structures.position_chain import PositionChain
from tests.structures.suite import StructureSuite, close, seeded
from tests.structures.truth import Case, Support, log_sum, one_hot, total

pytestmark = pytest.mark.thinned(5)

K, S, R = 3, 4, 2
SCORES = torch.randn(3, K, S, dtype=torch.float64, generator=seeded(0))
TRANSITIONS = torch.randn(3, S, S, dtype=torch.float64, generator=seeded(1))
LEFT = torch.rand(3, S, R, dtype=torch.float64, generator=seeded(2))
RIGHT = torch.rand(3, R, S, dtype=torch.float64, generator=seeded(3))
LENGTHS = torch.tensor([3, 1, 0])
MASK = torch.tensor([[[1, 1, 0, 1]], [[0, 1, 0, 0]], [[0, 0, 0, 0]]]).bool().expand(3, K, S)
NO_STEP = torch.zeros(3, S, S, dtype=torch.bool)
NO_STEP[0] = ~torch.ones(S, S).triu(1).bool()
NO_STEP[1] = True


def choices(length: int) -> Support:
    listed = [one_hot(choice, S, K) for choice in itertools.product(range(S), repeat=length)]
    return [(value, value) for value in listed]


def score(b: int, potentials: list[np.ndarray], value: np.ndarray, parts: np.ndarray) -> float:
    scores, *given = potentials
    chosen = value[value.any(-1)].argmax(-1)
    if len(given) == 2:
        given = [np.log(given[0] @ given[1])]
    return total(scores, value) + sum(given[0][pair] for pair in itertools.pairwise(chosen) if given)


BOTH = (SCORES, TRANSITIONS)


class TestPositionChain(StructureSuite):
    backends: ClassVar = ["reference", "auto"]
    cases: ClassVar = {
        "independent": Case(
            PositionChain, (SCORES,), lambda b: choices(int(LENGTHS[b])), score, [64, 4, 1], LENGTHS
        ),
        "ragged": Case(PositionChain, BOTH, lambda b: choices(int(LENGTHS[b])), score, [64, 4, 1], LENGTHS),
        "masked": Case(PositionChain, BOTH, lambda b: choices(K), score, [27, 1, 0], mask=MASK),
        # Always forward: (4 choose 3). No transition allowed: none.
        "infinite": Case(
            PositionChain, BOTH, lambda b: choices(K), score, [4, 0, 64], excluded=[None, NO_STEP]
        ),
    }


@pytest.mark.parametrize("backend", ["reference", "auto"])
def test_factors_are_the_product_multiplied_out(backend: str) -> None:
    left, right = LEFT.clone().requires_grad_(), RIGHT.clone().requires_grad_()
    low_rank = PositionChain(SCORES, (left, right), lengths=LENGTHS, backend=backend)
    full = PositionChain(SCORES, (left @ right).log(), lengths=LENGTHS, backend="reference")
    for query in ("log_partition", "marginals", "mode", "mode_score"):
        torch.testing.assert_close(getattr(low_rank, query), getattr(full, query))
    torch.testing.assert_close(low_rank.entropy(), full.entropy())
    gradients = [
        torch.autograd.grad(chain.marginals.square().sum(), (left, right)) for chain in (low_rank, full)
    ]
    torch.testing.assert_close(*gradients)
    zero = PositionChain(SCORES, (LEFT * 0, RIGHT), backend=backend)
    assert (zero.log_partition == -torch.inf).all() and not zero.marginals.any() and zero.count() == [0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_overflows_when_scaled_is_done_in_the_log_domain(dtype: torch.dtype) -> None:
    scores = 50 * torch.randn(2, 80, 6, dtype=dtype, generator=seeded(4))
    transitions = 300 * torch.randn(6, 6, dtype=dtype, generator=seeded(5))
    chain = PositionChain(scores, transitions)
    tolerance = 1e-9 if dtype == torch.float64 else 1e-5
    expected = []
    for example in scores.double().numpy():
        prefix = example[0]
        for step in example[1:]:
            prefix = step + [log_sum(prefix + column) for column in transitions.double().numpy().T]
        expected.append(log_sum(prefix))
    close(chain.log_partition, expected, tolerance)
    close(chain.marginals.sum(-1), np.ones((2, 80)), 100 * tolerance)


class LargestTensor(TorchDispatchMode):
    """The largest number of elements of any result that is not a view."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(
        self, function: object, types: object, arguments: tuple = (), options: dict | None = None
    ):
        result = function(*arguments, **(options or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, Tensor):
                self.elements = max(self.elements, tensor.untyped_storage().nbytes() // tensor.element_size())
        return result


@pytest.mark.parametrize("backend", ["reference", "auto"])
def test_pairs_of_positions_are_never_materialised_for_each_example(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(position_chain, "TILE", 16 * 64 * 8)
    scores = torch.randn(16, 3, 64, requires_grad=True, generator=seeded(6))
    transitions = torch.randn(64, 64, requires_grad=True, generator=seeded(7))
    whole = PositionChain(scores.double(), transitions.double().expand(16, 64, 64), backend="auto")
    with LargestTensor() as largest:
        chain = PositionChain(scores, transitions, backend=backend)
        marginals = chain.marginals
        first = torch.autograd.grad(
            marginals.square().sum() + chain.log_partition.sum(), (scores, transitions)
        )
        chain.mode, chain.sample(), chain.entropy()
    assert largest.elements < 16 * 64 * 64 / 2
    torch.testing.assert_close(marginals, whole.marginals.float())
    second = torch.autograd.grad(
        whole.marginals.square().sum() + whole.log_partition.sum(), (scores, transitions)
    )
    torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-4)


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match=r"transitions must have shape \(\.\.\., S=4, S=4\)"):
        PositionChain(SCORES, torch.zeros(3, 3))
    with pytest.raises(ValueError, match=r"transitions\[1\] must have shape \(\.\.\., R=2, S=4\)"):
        PositionChain(SCORES, (LEFT, LEFT))
    with pytest.raises(ValueError, match="at least one position"):
        PositionChain(torch.zeros(3, 0))
    with pytest.raises(ValueError, match="options"):
        PositionChain(SCORES).cross_entropy(PositionChain(SCORES, TRANSITIONS))
