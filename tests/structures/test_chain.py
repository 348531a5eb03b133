"""LinearChain and Segmentation against all state sequences."""

from __future__ import annotations

import itertools
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.structures.chain import LinearChain
from regard.structures.segmentation import Segmentation
from tests.structures.suite import StructureSuite, close, seeded
from tests.structures.truth import Case, Support, log_sum, one_hot, total

pytestmark = pytest.mark.thinned(5)

B, N, C = 4, 4, 3
LENGTHS = torch.tensor([4, 2, 1, 0])
EDGES, NODES = (
    torch.randn(B, *shape, dtype=torch.float64, generator=seeded(0)) for shape in [(N - 1, C, C), (N, C)]
)
START, END = (torch.randn(B, C, dtype=torch.float64, generator=seeded(seed)) for seed in (1, 2))
EDGE_MASK = torch.ones(B, N - 1, C, C, dtype=torch.bool)
EDGE_MASK[0, 1, :, 0] = EDGE_MASK[1, 0, 2] = False
NO_NODE = torch.zeros(B, N, C, dtype=torch.bool)
NO_NODE[0, 0, 0] = NO_NODE[1, 2, 1] = NO_NODE[2] = True


def sequences(lengths: Tensor) -> object:
    def support(b: int) -> Support:
        listed = []
        for states in itertools.product(range(C), repeat=int(lengths[b])):
            pairs = np.zeros((N - 1, C, C))
            for n, pair in enumerate(itertools.pairwise(states)):
                pairs[(n, *pair)] = 1
            listed.append((one_hot(states, C, N), pairs))
        return listed

    return support


def chain_score(b: int, potentials: list[np.ndarray], value: np.ndarray, parts: np.ndarray) -> float:
    edges, nodes, *ends = potentials
    score = total(edges, parts) + total(nodes, value)
    states = value[value.any(-1)].argmax(-1)
    return score + (ends[0][states[0]] + ends[1][states[-1]] if ends and len(states) else 0.0)


FULL = torch.tensor([N] * B)


class TestLinearChain(StructureSuite):
    backends: ClassVar = ["reference", "auto"]
    cases: ClassVar = {
        "full": Case(LinearChain, (EDGES, NODES), sequences(FULL), chain_score, [C**N] * B),
        "ends": Case(
            LinearChain, (EDGES, NODES, START, END), sequences(LENGTHS), chain_score, [81, 9, 3, 1], LENGTHS
        ),
        "masked": Case(
            LinearChain, (EDGES, NODES), sequences(FULL), chain_score, [54, 54, 81, 81], mask=EDGE_MASK
        ),
        "infinite": Case(
            LinearChain,
            (EDGES, NODES),
            sequences(FULL),
            chain_score,
            [54, 54, 0, 81],
            excluded=[None, NO_NODE],
        ),
        "one": Case(
            LinearChain,
            (EDGES[:, :0], NODES[:, :1]),
            lambda b: [(one_hot([c], C), np.zeros((0, C, C))) for c in range(C)],
            chain_score,
            [C] * B,
        ),
    }


def subsets(length: int) -> Support:
    bits = itertools.product([0, 1], repeat=length)
    return [(value, value) for value in (np.array([*bit, *[0] * (5 - length)]) for bit in bits)]


SCORES = torch.randn(B, 5, dtype=torch.float64, generator=seeded(3))
TRANSITIONS = torch.randn(B, 2, 2, dtype=torch.float64, generator=seeded(4))
INSIDE = torch.tensor([[1, 1, 0, 1, 1], [0, 0, 0, 0, 1], [1, 1, 1, 1, 1], [0, 1, 0, 1, 0]]).bool()
APART = torch.zeros(B, 2, 2, dtype=torch.bool)
APART[:2, 1, 1] = True


def segmentation_score(b: int, potentials: list[np.ndarray], value: np.ndarray, parts: np.ndarray) -> float:
    scores, transitions = potentials
    return total(scores, value) + sum(transitions[pair] for pair in itertools.pairwise(value.astype(int)))


def ragged_score(b: int, potentials: list[np.ndarray], value: np.ndarray, parts: np.ndarray) -> float:
    length = int(LENGTHS[b]) + 1
    return segmentation_score(b, [potentials[0][:length], potentials[1]], value[:length], parts)


class TestSegmentation(StructureSuite):
    backends: ClassVar = ["reference", "auto"]
    cases: ClassVar = {
        "ragged": Case(
            Segmentation,
            (SCORES, TRANSITIONS),
            lambda b: subsets(int(LENGTHS[b]) + 1),
            ragged_score,
            [32, 8, 4, 2],
            LENGTHS + 1,
        ),
        "full": Case(Segmentation, (SCORES, TRANSITIONS), lambda b: subsets(5), segmentation_score, [32] * B),
        "masked": Case(
            Segmentation,
            (SCORES, TRANSITIONS),
            lambda b: subsets(5),
            segmentation_score,
            [16, 2, 32, 4],
            mask=INSIDE,
        ),
        # No two adjacent positions inside: Fibonacci numbers.
        "apart": Case(
            Segmentation,
            (SCORES, TRANSITIONS),
            lambda b: subsets(5),
            segmentation_score,
            [13, 13, 32, 32],
            excluded=[None, APART],
        ),
    }


def log_forward(edges: np.ndarray, nodes: np.ndarray) -> float:
    """The forward algorithm on one sequence, in the log domain and extended precision."""
    prefix = nodes[0].astype(np.longdouble)
    for step, node in zip(edges, nodes[1:], strict=True):
        prefix = np.array([log_sum(prefix + step[:, j]) for j in range(len(node))]) + node
    return log_sum(prefix)


@pytest.mark.parametrize("backend", ["reference", "auto"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_scores_of_standard_deviation_50_at_length_80(backend: str, dtype: torch.dtype) -> None:
    edges = 50 * torch.randn(2, 79, 4, 4, dtype=dtype, generator=seeded(5))
    nodes = 50 * torch.randn(2, 80, 4, dtype=dtype, generator=seeded(6))
    chain = LinearChain(edges, nodes, lengths=[80, 61], backend=backend)
    tolerance = 1e-9 if dtype == torch.float64 else 1e-5
    expected = [log_forward(edges[b, : n - 1].numpy(), nodes[b, :n].numpy()) for b, n in enumerate([80, 61])]
    close(chain.log_partition, expected, tolerance)
    close(chain.node_marginals.sum(-1), [[1.0] * 80, [1.0] * 61 + [0.0] * 19], 100 * tolerance)


def test_shared_edges_broadcast_ends_and_gather_gradients() -> None:
    edges = torch.randn(C, C, dtype=torch.float64, requires_grad=True, generator=seeded(7))
    shared = LinearChain(edges, NODES, START[0], END[0], lengths=LENGTHS)
    spread = LinearChain(edges.expand(B, N - 1, C, C), NODES, START[:1], END[:1], lengths=LENGTHS)
    torch.testing.assert_close(shared.log_partition, spread.log_partition)
    assert shared.marginals.shape == (B, N - 1, C, C)
    shared.log_partition.sum().backward()
    torch.testing.assert_close(edges.grad, shared.marginals.sum((0, 1)))


@pytest.mark.parametrize("backend", ["reference", "auto"])
def test_padding_changes_nothing(backend: str) -> None:
    loud = [torch.full_like(EDGES, 1e3), torch.full_like(NODES, -1e3)]
    for b, length in enumerate(LENGTHS.tolist()):
        loud[0][b, : max(length - 1, 0)] = EDGES[b, : max(length - 1, 0)]
        loud[1][b, :length] = NODES[b, :length]
    quiet = LinearChain(EDGES, NODES, START, END, lengths=LENGTHS, backend=backend)
    noisy = LinearChain(*loud, START, END, lengths=LENGTHS, backend=backend)
    for query in ("log_partition", "marginals", "node_marginals", "mode"):
        torch.testing.assert_close(getattr(noisy, query), getattr(quiet, query))
    torch.testing.assert_close(noisy.entropy(), quiet.entropy())


def test_states_and_values_are_two_views_of_one_tagging() -> None:
    chain = LinearChain(EDGES, NODES, lengths=LENGTHS)
    states = chain.states(chain.mode)
    assert (states[1, 2:] == -1).all() and (states[1, :2] >= 0).all()
    assert torch.equal(chain.value_of(states), chain.mode)
    padded = torch.where(states < 0, 0, states)
    torch.testing.assert_close(chain.log_prob(chain.value_of(padded)), chain.mode_score - chain.log_partition)


def test_count_is_exact_beyond_any_float() -> None:
    assert LinearChain(torch.zeros(99, 7, 7)).count() == 7**100
    assert Segmentation(torch.zeros(300), torch.zeros(2, 2)).count() == 2**300


def test_compiled_numbers_are_the_same() -> None:
    def marginals(edges: Tensor, nodes: Tensor) -> Tensor:
        return LinearChain(edges, nodes, lengths=LENGTHS, backend="reference").node_marginals

    torch.testing.assert_close(
        torch.compile(marginals, backend="eager")(EDGES, NODES), marginals(EDGES, NODES)
    )


def test_vmap_over_the_reference() -> None:
    def marginals(edges: Tensor, nodes: Tensor) -> Tensor:
        return LinearChain(edges, nodes, backend="reference").marginals

    torch.testing.assert_close(torch.func.vmap(marginals)(EDGES, NODES), marginals(EDGES, NODES))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((torch.zeros(3, 3),), {}, r"shared by all steps.*give nodes"),
        ((torch.zeros(2, 3, 4),), {}, r"edges must have shape \(\.\.\., C=4, C=4\) but has \(2, 3, 4\)"),
        ((torch.zeros(2, 3, 3), torch.zeros(5, 3)), {}, r"edges must have shape \(\.\.\., N=4, C=3, C=3\)"),
        ((torch.zeros(2, 3, 3).long(),), {}, r"floating-point scores, not torch.int64"),
        ((torch.zeros(2, 3, 3),), {"lengths": [4]}, r"between 0 and 3 but range from 4 to 4"),
        ((torch.zeros(2, 3, 3),), {"lengths": torch.tensor([1.0])}, r"whole numbers"),
        ((torch.zeros(2, 3, 3),), {"mask": torch.zeros(2, 3, 3)}, r"mask must be Boolean"),
        ((torch.zeros(2, 3, 3),), {"mask": torch.zeros(4, 2).bool()}, r"mask must broadcast"),
        ((torch.zeros(5, 2, 3, 3),), {"lengths": [1, 2]}, r"do not broadcast together: .*lengths \(2,\)"),
        ((torch.zeros(2, 3, 3),), {"backend": "fast"}, r'"auto" or "reference", not \'fast\''),
    ],
)
def test_mistakes_are_named(arguments: tuple, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LinearChain(*arguments, **options)


def test_values_of_another_shape_are_named() -> None:
    chain = LinearChain(EDGES, NODES)
    with pytest.raises(ValueError, match=r"value must have shape \(\.\.\., 4, 3\)"):
        chain.log_prob(torch.zeros(B, N - 1, C, C))
    with pytest.raises(ValueError, match="one class, size and options"):
        chain.cross_entropy(LinearChain(EDGES[:, :2]))
    with pytest.raises(ValueError, match="equal lengths"):
        chain.cross_entropy(LinearChain(EDGES, NODES, lengths=LENGTHS))


def test_divergence_from_what_excludes_it_is_infinite() -> None:
    p, q = LinearChain(EDGES, NODES), LinearChain(EDGES, torch.where(NO_NODE, -torch.inf, NODES))
    assert p.cross_entropy(q)[:3].tolist() == [torch.inf] * 3
    assert torch.distributions.kl_divergence(p, q)[:3].tolist() == [torch.inf] * 3
    assert torch.distributions.kl_divergence(q, p)[:2].isfinite().all()
    with pytest.raises(ValueError, match="do not broadcast"):
        p.cross_entropy(LinearChain(EDGES[:3], NODES[:3]))


def test_an_empty_batch() -> None:
    for backend in ("reference", "auto"):
        chain = LinearChain(EDGES[:0], NODES[:0], backend=backend)
        assert chain.log_partition.shape == (0,) and chain.marginals.shape == (0, N - 1, C, C)
        assert chain.count() == [] and chain.sample((2,)).shape == (2, 0, N, C)
