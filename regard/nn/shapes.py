"""Shapes of binary trees over a sequence: a chain, a balanced tree, or the tree of given spans.

A shape lists the 2 n − 1 nodes over n words in post-order as (parents, heights, leaves), as `Growth` needs
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Span = tuple[int, int]
Shape = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""parents (N), heights (N), and the word of each node (N), −1 for inner nodes."""


@lru_cache(1024)
def chain(words: int) -> Shape:
    """((w_1 w_2) w_3) …: each word joins all words to its left, as in a recurrent network."""
    return shape([(0, end) for end in range(1, words)], words)


@lru_cache(1024)
def balanced(words: int) -> Shape:
    """Every span is split in the middle; with an odd number of words, the left part has one more."""
    spans, waiting = [], [(0, words - 1)]
    while waiting:
        start, end = waiting.pop()
        if end > start:
            spans.append((start, end))
            middle = (start + end) // 2
            waiting += [(start, middle), (middle + 1, end)]
    return shape(spans, words)


def shape(spans: Sequence[Span], words: int) -> Shape:
    """The tree over n words whose inner nodes cover these spans (first and last word)."""
    nodes = sorted([*spans, *((word, word) for word in range(words))], key=lambda one: (one[1], -one[0]))
    parents = np.full(len(nodes), -1, dtype=np.int64)
    heights = np.zeros(len(nodes), dtype=np.int64)
    open_nodes: list[int] = []  # nodes whose parent has not come yet
    for place, (start, _) in enumerate(nodes):
        while open_nodes and nodes[open_nodes[-1]][0] >= start:
            child = open_nodes.pop()
            parents[child] = place
            heights[place] = max(heights[place], heights[child] + 1)
        open_nodes.append(place)
    leaves = np.array([start if start == end else -1 for start, end in nodes], dtype=np.int64)
    return parents, heights, leaves
