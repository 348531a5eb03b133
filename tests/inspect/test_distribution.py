"""Plots of distributions show the numbers of the structure, for the requested batch element."""

import io
import subprocess
import sys

import numpy as np
import pytest
import torch
from rich.console import Console

from regard.errors import RegardError
from regard.inspect import draw
from regard.inspect.brackets import bracketed
from regard.inspect.drawings.arcs import ArcDiagram
from regard.inspect.drawings.hops import HopTable
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.drawings.segments import SegmentBands
from regard.inspect.drawings.words import WeightedWords
from regard.inspect.scene import Rect, Text
from regard.structures import (
    Bernoulli,
    BinaryTree,
    Categorical,
    LinearChain,
    MonotoneAlignment,
    PositionChain,
    ProjectiveTree,
    Segmentation,
    SemiMarkov,
    SpanningTree,
)

WORDS = ["the", "dog", "saw", "me"]


def waves(*shape, scale=2.0):
    return scale * torch.arange(float(np.prod(shape))).mul(1.7).sin().view(shape)


def texts(scene):
    return [mark.text for mark in scene.walk() if isinstance(mark, Text)]


def one(scene, kind):
    return next(content for content in scene.contents() if isinstance(content, kind))


@pytest.mark.parametrize("kind", [ProjectiveTree, SpanningTree])
def test_trees_are_drawn_as_arcs(kind):
    trees = kind(waves(2, 5, 5), lengths=[4, 3])
    diagram = one(draw(trees, tokens=WORDS), ArcDiagram)
    assert diagram.words == tuple(WORDS)
    assert diagram.arcs.heads.tolist() == trees.heads(trees.mode)[0].tolist()
    assert diagram.arcs.marginals == pytest.approx(trees.marginals[0].numpy())
    shorter = one(draw(trees, tokens=WORDS[:3], index=1), ArcDiagram)
    assert shorter.arcs.marginals == pytest.approx(trees.marginals[1, :4, :4].numpy())


def test_labels_of_arcs_are_those_of_the_best_tree():
    arcs = torch.zeros(3, 3, 2)
    arcs[0, 2, 1] = arcs[2, 1, 0] = 5.0
    tree = ProjectiveTree(arcs, labeled=True)
    diagram = one(draw(tree, tokens=["I", "ran"], labels=["nsubj", "root"]), ArcDiagram)
    assert diagram.arcs.relations == ("nsubj", "root")
    assert diagram.arcs.marginals[1:, 1:].sum(0) + diagram.arcs.marginals[0, 1:] == pytest.approx([1, 1])


def test_samples_are_drawn_and_counted():
    tree = ProjectiveTree(waves(5, 5), single_root=True)
    scene = draw(tree, tokens=WORDS, samples=12, generator=torch.Generator().manual_seed(3))
    shown = [diagram for diagram in scene.contents() if diagram.title]
    counts = [int(diagram.title.split(" of ")[0]) for diagram in shown]
    assert counts == sorted(counts, reverse=True) and sum(counts) <= 12
    again = tree.heads(tree.sample((12,), generator=torch.Generator().manual_seed(3))).tolist()
    assert again.count(shown[0].arcs.heads.tolist()) == counts[0]


def test_rows_of_segmentations_are_the_last_batch_dimension():
    bands = Segmentation(waves(2, 3, 6), torch.eye(2))
    shown = one(draw(bands, index=1, targets=["a", "b", "c"]), SegmentBands)
    assert shown.segments.weights == pytest.approx(bands.marginals[1].numpy())
    assert shown.segments.best.tolist() == bands.mode[1].int().tolist()
    assert shown.sources == ("1", "2", "3", "4", "5", "6")


@pytest.mark.parametrize("kind", [Categorical, Bernoulli])
def test_one_row_needs_no_name(kind):
    positions = kind(waves(4), lengths=3)
    scene = draw(positions, tokens=["a", "b", "c"])
    assert one(scene, SegmentBands).segments.weights[0] == pytest.approx(positions.marginals[:3].numpy())
    assert "∅" not in texts(scene)


def test_chains_show_the_best_path_and_all_marginals():
    chain = LinearChain(waves(3, 3), waves(2, 4, 3), lengths=[4, 2])
    scene = draw(chain, tokens=WORDS, labels=["D", "N", "V"], samples=2)
    best = [["D", "N", "V"][state] for state in chain.states(chain.mode)[0].tolist()]
    assert list(one(scene, WeightedWords).notes) == best
    matrix = one(scene, Matrix)
    assert matrix.values == pytest.approx(chain.node_marginals[0].numpy().T)
    assert matrix.truth.sum(0).tolist() == [1, 1, 1, 1]
    assert len([content for content in scene.contents() if isinstance(content, WeightedWords)]) == 3


def test_a_chart_has_every_span_once_and_the_best_tree_outlined():
    tree = BinaryTree(waves(4, 4))
    scene = draw(tree, tokens=WORDS)
    cells = [mark for mark in scene.walk() if isinstance(mark, Rect) and "value" in dict(mark.tags)]
    found = {
        (int(t["row"]), int(t["column"])): float(t["value"]) for cell in cells for t in [dict(cell.tags)]
    }
    expected = tree.marginals.numpy()
    assert found == {
        (i, j): pytest.approx(expected[i, j], abs=1e-5) for i in range(4) for j in range(i + 1, 4)
    }
    best = {place for cell in cells if "best" in dict(cell.tags)
            for place in [(int(dict(cell.tags)["row"]), int(dict(cell.tags)["column"]))]}  # fmt: skip
    assert best == {(i, j) for i, j in tree.mode.nonzero().tolist() if i < j}


def test_trees_in_brackets():
    best = np.eye(4)
    best[0, 3] = best[0, 1] = best[2, 3] = 1
    assert bracketed(WORDS, best) == "((the dog) (saw me))"
    assert bracketed(["one"], np.eye(1)) == "one" and bracketed([], np.zeros((0, 0))) == ""


def test_alignments_are_matrices_with_the_best_one_outlined():
    match = torch.tensor([[2.0 if s == t else -2.0 for t in "guard"] for s in "regard"])
    alignment = MonotoneAlignment(match, torch.full((6,), -1.0), torch.full((5,), -1.0))
    matrix = one(draw(alignment, tokens=list("regard"), targets=list("guard")), Matrix)
    assert [(matrix.rows[s], matrix.columns[t]) for s, t in np.argwhere(matrix.truth).tolist()] == [
        ("g", "g"), ("a", "a"), ("r", "r"), ("d", "d"),
    ]  # fmt: skip
    assert matrix.values == pytest.approx(alignment.marginals.numpy())


def test_choices_are_hops():
    facts = PositionChain(waves(2, 2, 4), lengths=[2, 1])
    table = one(draw(facts, tokens=["a", "b", "c", "d"]), HopTable)
    assert table.hops.weights == pytest.approx(facts.marginals[0].numpy())
    assert table.hops.best.tolist() == facts.mode[0].argmax(-1).tolist()
    assert len(one(draw(facts, index=1), HopTable).hops.weights) == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: draw(ProjectiveTree(waves(5, 5)), tokens=["a"]), "1 tokens were given for 4"),
        (lambda: draw(ProjectiveTree(waves(2, 5, 5)), index=2), r"index is \(2,\).*shape \(2,\)"),
        (lambda: draw(ProjectiveTree(waves(5, 5)), index=0), r"index is \(0,\).*shape \(\)"),
        (lambda: draw(Segmentation(waves(2, 6), torch.eye(2)), index=0), r"shape \(\)"),
        (lambda: draw(SemiMarkov(waves(4, 2, 2))), "no drawing of SemiMarkov"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make, words):
    with pytest.raises(RegardError, match=words):
        make()


def test_potentials_that_need_gradients_are_no_hindrance():
    scores = waves(5, 5).requires_grad_()
    scene = draw(ProjectiveTree(scores), tokens=WORDS, samples=2)
    console = Console(file=io.StringIO(), width=80)
    console.print(scene)
    assert "root" in console.file.getvalue()


def test_traces_are_drawn_without_torch():
    code = "import sys, regard.inspect; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
