"""A recursive network is unrolled over a tree, not over a chain."""

from __future__ import annotations

import pytest

from regard import zoo
from regard.describe import draw
from regard.describe.example_tree import BALANCED, CHAIN, ExampleTree
from regard.inspect.scene import Shape, Text


def test_children_are_numbered_before_their_parents() -> None:
    tree = ExampleTree.of(BALANCED)
    assert tree.children == {"3": ("1", "2"), "6": ("4", "5"), "7": ("3", "6")}
    assert tree.leaves == ["1", "2", "4", "5"] and tree.levels == 3
    assert sorted(tree.columns, key=lambda node: tree.columns[node]) == ["1", "3", "2", "7", "4", "6", "5"]
    assert ExampleTree.of(CHAIN).children == {"3": ("1", "2"), "5": ("3", "4"), "7": ("5", "6")}


@pytest.mark.parametrize(
    ("name", "words", "edges"),
    [
        ("tree-rnn", "1 2 4 5", "1-3 2-3 4-6 5-6 3-7 6-7"),
        ("tree-lstm-chain", "1 2 4 6", "1-3 2-3 3-5 4-5 5-7 6-7"),
    ],
)
def test_words_are_read_at_the_leaves_and_each_node_from_its_children(
    name: str, words: str, edges: str
) -> None:
    marks = list(draw(zoo.find(name), name).walk())
    texts = {mark.text for mark in marks if isinstance(mark, Text)}
    assert {text for text in texts if text.startswith("w_")} - {"w_j"} == {
        f"w_{one}" for one in words.split()
    }
    wires = [dict(mark.tags) for mark in marks if isinstance(mark, Shape) and dict(mark.tags)]
    state = "encoder tree/h_j|"
    found = {
        f"{wire['from'].removeprefix(state)}-{wire['to'].removeprefix(state)}"
        for wire in wires
        if wire["from"].startswith(state) and wire["to"].startswith(state)
    }
    assert found == set(edges.split())
    assert {wire["from"] for wire in wires if wire["to"] == "decoder value/p(y)|"} == {f"{state}7"}
