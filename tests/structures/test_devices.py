"""Every structure gives the same answers on an accelerator as on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from regard.structures import (
    Bernoulli,
    BinaryTree,
    Categorical,
    CTCAlignment,
    LinearChain,
    MonotoneAlignment,
    PositionChain,
    ProjectiveTree,
    Segmentation,
    SemiMarkov,
    SpanningTree,
    Structure,
)
from tests.structures.suite import seeded

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")

LENGTHS = torch.tensor([5, 2, 0])
STRUCTURES: dict[str, tuple[Callable[..., Structure], list[tuple[int, ...]]]] = {
    "Categorical": (lambda s, n: Categorical(s, lengths=n), [(3, 5)]),
    "Bernoulli": (lambda s, n: Bernoulli(s, lengths=n), [(3, 5)]),
    "LinearChain": (lambda e, v, n: LinearChain(e, v, lengths=n), [(3, 4, 3, 3), (3, 5, 3)]),
    "Segmentation": (lambda s, t, n: Segmentation(s, t, lengths=n), [(3, 5), (2, 2)]),
    "PositionChain": (lambda s, t, n: PositionChain(s, t, lengths=n), [(3, 5, 4), (4, 4)]),
    "SemiMarkov": (lambda s, t, n: SemiMarkov(s, t, lengths=n), [(3, 5, 2, 3), (3, 3)]),
    "ProjectiveTree": (lambda a, n: ProjectiveTree(a, lengths=n), [(3, 6, 6)]),
    "labeled": (lambda a, n: ProjectiveTree(a, labeled=True, lengths=n), [(3, 6, 6, 2)]),
    "SpanningTree": (lambda a, n: SpanningTree(a, lengths=n), [(3, 6, 6)]),
    "BinaryTree": (lambda s, n: BinaryTree(s, lengths=n), [(3, 5, 5)]),
    "CTCAlignment": (lambda s, n: CTCAlignment(s, lengths=(n, n.clamp(max=2))), [(3, 5, 2)]),
    "MonotoneAlignment": (lambda m, n: MonotoneAlignment(m, lengths=(n, n)), [(3, 5, 5)]),
}


def answers(structure: Structure) -> list[Tensor]:
    values, scores = structure.topk(3)
    return [
        structure.log_partition,
        structure.marginals,
        structure.mean,
        structure.mode,
        structure.mode_score,
        values,
        scores,
        structure.entropy(),
        structure.log_prob(structure.mode),
        structure.log_prob_partial(forbidden=structure.mode),
        structure.max_marginals(),
        structure.expectation(torch.ones_like(structure.marginals)),
        structure.expected_product(torch.full_like(structure.marginals, -0.5)),
    ]


@pytest.mark.parametrize("name", STRUCTURES)
def test_an_accelerator_gives_the_same_answers(name: str) -> None:
    build, shapes = STRUCTURES[name]
    potentials = [torch.randn(shape, dtype=torch.float64, generator=seeded(1)) for shape in shapes]
    here = build(*potentials, LENGTHS)
    there = build(*(potential.cuda() for potential in potentials), LENGTHS.cuda())
    for mine, theirs in zip(answers(here), answers(there), strict=True):
        assert theirs.is_cuda
        torch.testing.assert_close(theirs.cpu(), mine)
    assert here.count() == there.count()
    possible = there.log_prob(there.sample((4,), generator=torch.Generator("cuda").manual_seed(2)))
    assert (possible > -torch.inf).all()
    leaves = [potential.cuda().requires_grad_() for potential in potentials]
    structure = build(*leaves, LENGTHS.cuda())
    (structure.marginals.square().sum() + structure.rsample((2,)).square().sum()).backward()
    assert all(leaf.grad is not None and leaf.grad.isfinite().all() for leaf in leaves)
