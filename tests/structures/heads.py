"""Trees, as those assignments of heads that form a tree."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache

import numpy as np

from tests.structures.truth import Support, total

Heads = tuple[int, ...]
"""heads[m − 1] is the head of word m; 0 is the root symbol."""


class HeadTrees:
    """The trees among all assignments of heads, selected by `is_tree`."""

    def __init__(self, is_tree: Callable[[Heads], bool]) -> None:
        self.is_tree = is_tree
        self.trees = cache(self._trees)

    def _trees(self, words: int, single_root: bool) -> list[Heads]:
        return [
            heads
            for heads in itertools.product(range(words + 1), repeat=words)
            if self.is_tree(heads) and (not single_root or heads.count(0) == 1 or not words)
        ]

    def listed(self, words: int, size: int, single_root: bool) -> Support:
        support = []
        for heads in self.trees(words, single_root):
            value = np.zeros((size, size))
            value[list(heads), range(1, words + 1)] = 1
            support.append((value, value))
        return support

    def labeled(self, words: int, labels: int) -> Support:
        support = []
        for value, _ in self.listed(words, words + 1, True):
            for choice in itertools.product(range(labels), repeat=words):
                full = np.zeros((*value.shape, labels))
                for (head, word), label in zip(np.argwhere(value), choice, strict=True):
                    full[head, word, label] = 1
                support.append((full, full))
        return support


def score(b: int, potentials: list[np.ndarray], value: np.ndarray, parts: np.ndarray) -> float:
    return total(potentials[0], value)
