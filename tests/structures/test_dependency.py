"""ProjectiveTree against every assignment of heads that is a projective tree."""

from __future__ import annotations

import itertools
from typing import ClassVar

import numpy as np
import pytest
import torch

from regard.structures.dependency import ProjectiveTree
from tests.structures.heads import HeadTrees, score
from tests.structures.suite import StructureSuite, close, seeded
from tests.structures.truth import Case, total

pytestmark = pytest.mark.thinned(5)

N = 4
ARCS = torch.randn(4, N + 1, N + 1, dtype=torch.float64, generator=seeded(0))
LABELLED = torch.randn(2, N, N, 2, dtype=torch.float64, generator=seeded(1))
LENGTHS = torch.tensor([4, 2, 1, 0])
NO_ARC = torch.zeros(4, N + 1, N + 1, dtype=torch.bool)
NO_ARC[0, 1:, 2] = NO_ARC[1, :, 3] = NO_ARC[2, 0, 1:4] = (
    True  # 2 must be a root; 3 has no head; 4 must be the root
)


def is_projective_tree(heads: tuple[int, ...]) -> bool:
    """heads[m − 1] is the head of word m. The assignment is a tree if all words lead to 0, and projective if
    the head of each arc dominates all words below the arc."""

    def ancestors(word: int) -> list[int]:
        chain = [word]
        while chain[-1] != 0 and len(chain) <= len(heads):
            chain.append(heads[chain[-1] - 1])
        return chain

    lines = {word: ancestors(word) for word in range(len(heads) + 1)}
    if any(line[-1] != 0 for line in lines.values()):
        return False
    spans = ((head, word + 1) for word, head in enumerate(heads))
    return all(head in lines[k] for head, word in spans for k in range(min(head, word) + 1, max(head, word)))


TREES = HeadTrees(is_projective_tree)
trees, listed, labeled = TREES.trees, TREES.listed, TREES.labeled


def several_roots(arcs: torch.Tensor, **options: object) -> ProjectiveTree:
    return ProjectiveTree(arcs, single_root=False, **options)


# Half-trees and forests over n words both number t(n) = 1, 1, 3, 12, 55; there are 30 trees with a single
# root over four words. Word 2 is the only root: t(1) t(2) = 3. Word 2 is among the roots: (t(1) + t(1)) (t(2)
# + t(1) t(1) + t(2)) = 14. Word 4: t(3).
class TestProjectiveTree(StructureSuite):
    backends: ClassVar = ["reference", "auto"]
    cases: ClassVar = {
        "single root": Case(
            ProjectiveTree,
            (ARCS,),
            lambda b: listed(int(LENGTHS[b]), N + 1, True),
            score,
            [30, 2, 1, 1],
            LENGTHS,
        ),
        "several roots": Case(
            several_roots,
            (ARCS,),
            lambda b: listed(int(LENGTHS[b]), N + 1, False),
            score,
            [55, 3, 1, 1],
            LENGTHS,
        ),
        "masked": Case(
            ProjectiveTree, (ARCS,), lambda b: listed(N, N + 1, True), score, [3, 0, 12, 30], mask=~NO_ARC
        ),
        "infinite": Case(
            several_roots,
            (ARCS,),
            lambda b: listed(N, N + 1, False),
            score,
            [14, 0, 12, 55],
            excluded=[NO_ARC],
        ),
        "labeled": Case(
            lambda arcs, **options: ProjectiveTree(arcs, labeled=True, **options),
            (LABELLED,),
            lambda b: labeled(N - 1, 2),
            score,
            [7 * 2**3] * 2,
        ),
    }


@pytest.mark.parametrize(
    ("words", "single", "several"), [(0, 1, 1), (1, 1, 1), (5, 143, 273), (6, 728, 1428)]
)
def test_counts_are_the_ternary_numbers(words: int, single: int, several: int) -> None:
    arcs = torch.zeros(words + 1, words + 1)
    assert ProjectiveTree(arcs).count() == single
    assert ProjectiveTree(arcs, single_root=False).count() == several


@pytest.mark.parametrize("backend", ["reference", "auto"])
def test_scores_of_standard_deviation_50_at_length_80(backend: str) -> None:
    arcs = 50 * torch.randn(81, 81, dtype=torch.float64, generator=seeded(2))
    tree = ProjectiveTree(arcs, backend=backend)
    marginals = tree.marginals
    close(marginals.sum(0), [0.0] + [1.0] * 80, 1e-9)
    assert (marginals >= 0).all()
    best = total(arcs.numpy(), tree.mode.numpy())
    close(tree.mode_score, best)
    assert best <= tree.log_partition <= best + 80 * np.log(81)


def test_two_live_instances_do_not_share_options() -> None:
    single, several = ProjectiveTree(ARCS[0]), ProjectiveTree(ARCS[0], single_root=False)
    first = single.log_partition
    assert several.count() == 55 and single.count() == 30
    assert torch.equal(single.log_partition, first) and several.log_partition > first
    with pytest.raises(ValueError, match="options"):
        single.cross_entropy(several)


def test_heads_of_a_value() -> None:
    tree = ProjectiveTree(ARCS, lengths=LENGTHS)
    heads = tree.heads(tree.mode)
    assert heads.shape == (4, N)
    assert is_projective_tree(tuple(heads[0].tolist()))
    assert (heads[1, 2:] == -1).all() and (heads[3] == -1).all()


def test_a_label_axis_must_be_announced() -> None:
    with pytest.raises(ValueError, match=r"arcs must have shape \(\.\.\., N\+1=5, N\+1=5\).*labeled=True"):
        ProjectiveTree(torch.zeros(5, 5, 3))
    with pytest.raises(ValueError, match="root symbol"):
        ProjectiveTree(torch.zeros(0, 0))


@pytest.mark.parametrize("single_root", [True, False])
def test_only_projective_trees_have_a_score(single_root: bool) -> None:
    words = 4
    assignments = list(itertools.product(range(words + 1), repeat=words))
    values = np.zeros((len(assignments), words + 1, words + 1))
    for value, heads in zip(values, assignments, strict=True):
        value[list(heads), range(1, words + 1)] = 1
    scores = ProjectiveTree(ARCS[0], single_root).score(torch.tensor(values))
    expected = [
        total(ARCS[0].numpy(), value) if heads in trees(words, single_root) else -np.inf
        for value, heads in zip(values, assignments, strict=True)
    ]
    close(scores, expected)
