"""Predicted trees, with the true ones beside them and samples of their distribution."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from regard.data import Trees
from regard.data.columns import TreeColumn
from regard.nn.decoders import BatchView, ParsedTrees, TreeDecoder
from regard.structures import ProjectiveTree

LENGTHS = torch.tensor([3, 2])
HEADS = torch.tensor([[2, 0, 2], [0, 1, 0]])


def column() -> TreeColumn:
    made = TreeColumn("tree", of="words")
    made.learn(["2:nsubj 0:root 2:obj"])
    return made  # nsubj 0, obj 1, root 2


def decoder() -> TreeDecoder:
    source = SimpleNamespace(value_size=4, summary_size=4)
    return TreeDecoder(3, {"words": source}, size=4, relation_size=4)


def found() -> ParsedTrees:
    arcs = torch.arange(32.0).sin().view(2, 4, 4)
    trees = ProjectiveTree(arcs, lengths=LENGTHS)
    relations = torch.tensor([[0, 2, 1], [2, 0, 0]])
    return ParsedTrees(HEADS, relations, torch.zeros(2), torch.arange(3) < LENGTHS[:, None], trees)


def view(target: Trees | None) -> BatchView:
    return BatchView({"words": [["we", "saw", "it"], ["go", "on"]]}, {}, target=target)


def test_the_true_tree_stands_beside_the_one_found():
    target = Trees(torch.tensor([[2, 0, 1], [0, 1, 0]]), torch.tensor([[0, 2, -1], [2, 1, 0]]), LENGTHS)
    first, second = decoder().predictions(found(), column(), view(target))
    tree = first.trace.structures["words"]
    assert tree.heads.tolist() == [2, 0, 2] and tree.true_heads.tolist() == [2, 0, 1]
    assert tree.relations == ("nsubj", "root", "obj") and tree.true_relations == ("nsubj", "root", "?")
    assert second.trace.structures["words"].true_relations == ("root", "obj")
    assert "2 of 3 heads are true" in first.trace.plot().description


def test_without_targets_there_is_no_truth():
    (first, _) = decoder().predictions(found(), column(), view(None))
    assert first.trace.structures["words"].true_heads is None


def test_samples_are_trees_of_the_distribution():
    trees, parser = found(), decoder()
    answers = parser.predictions(trees, column(), view(None))
    answers = parser.with_structures(answers, trees, dict, samples=400, seed=1)
    for row, answer in enumerate(answers):
        drawn = answer.trace.structures["words"].samples
        length = int(LENGTHS[row])
        assert drawn.shape == (400, length) and (drawn >= 0).all()
        share = torch.tensor((drawn == 0).mean(0))  # how often each word was the root
        assert torch.allclose(share, trees.distribution.marginals[row, 0, 1 : length + 1].double(), atol=0.1)
