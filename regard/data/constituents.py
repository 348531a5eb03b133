"""Constituency trees as labeled spans, and back.

    (S (NP (PRON it)) (VP (VERB runs)))   ↔   0–0: NP PRON,  1–1: VP VERB,  0–1: S

The label of a span is the names of all nodes over exactly these words, outermost first; the last name of a single word
is its tag. A tree with nodes of any number of children is one set of spans, and every binary tree that has these spans
stands for it: the spans that it has beyond them have no label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from regard.data.brackets import BracketTree

Spans = dict[tuple[int, int], str]
"""First and last word of a constituent, from 0, both inclusive → its names, separated by spaces."""


def labeled_spans(tree: BracketTree) -> Spans:
    """The labels of all spans that have one."""
    found: Spans = {}
    for label, (start, end) in zip(tree.labels, tree.spans, strict=True):
        if label:  # children come first, so that an outer node is written before what is found
            inner = found.get((start, end - 1))
            found[start, end - 1] = f"{label} {inner}" if inner else label
    return found


def tree_of_spans(words: Sequence[str], spans: Mapping[tuple[int, int], str]) -> BracketTree:
    """The tree with these labeled spans, of which no two cross; its root has no label if the whole has none."""
    last = len(words) - 1
    chains = {span: label.split() for span, label in spans.items() if label}
    for place in range(len(words)):
        chains.setdefault((place, place), [""])  # a word without a label
    if last > 0:
        chains.setdefault((0, last), [""])
    nodes: list[str | None] = []
    labels: list[str] = []
    parents: list[int] = []
    open_nodes: list[tuple[int, int]] = []  # nodes without a parent: place, first word

    def add(word: str | None, label: str, first: int) -> None:
        while word is None and open_nodes and open_nodes[-1][1] >= first:
            parents[open_nodes.pop()[0]] = len(nodes)
        open_nodes.append((len(nodes), first))
        nodes.append(word)
        labels.append(label)
        parents.append(-1)

    for first, end in sorted(chains, key=lambda span: (span[1], -span[0])):  # inner spans first
        names = chains[first, end]
        if first == end:
            add(words[first], names[-1], first)
            names = names[:-1]
        for name in reversed(names):
            add(None, name, first)
    return BracketTree(nodes, labels, parents)
