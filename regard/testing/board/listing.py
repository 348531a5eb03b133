"""Enumerates every structure of a kind, for sums over structures at small sizes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

from regard.notation.tokens import NotationError

MOST = 20_000
"""Maximum number of structures in one sum."""


class Configuration(tuple[Any, ...]):
    """One structure: `y_j` is its j-th part, from 1."""


def sequences(values: Sequence[Any], length: int) -> list[Configuration]:
    """All sequences of that length."""
    if len(values) ** length > MOST:
        raise NotationError(f"{len(values)}^{length} sequences are too many to list: take a smaller case")
    return [Configuration(one) for one in product(values, repeat=length)]


@cache
def trees(kind: str, words: int) -> list[Configuration]:
    """All trees with one root: entry j is the head of word j, 0 the root symbol.

    spanning     every word is a descendant of the root symbol, and exactly one is its child
    projective   in addition, no two arcs cross
    binary       over spans instead: entry i, j is 1 if the words from i to j are a node of a binary tree, else 0
    """
    if kind == "binary":
        return [_chart(spans, words) for spans in _bracketings(1, words)]
    if kind not in ("spanning", "projective"):
        raise NotationError(f"there are no {kind} trees; there are spanning, projective and binary ones")
    if (words + 1) ** words > MOST:
        raise NotationError(f"trees of {words} words are too many to list: take a smaller case")
    found = product(range(words + 1), repeat=words)
    return [
        Configuration(heads) for heads in found if _is_tree(heads) and (kind == "spanning" or _is_flat(heads))
    ]


def _bracketings(first: int, last: int) -> list[list[tuple[int, int]]]:
    """The spans of every binary tree over the words from `first` to `last`."""
    if first == last:
        return [[(first, last)]]
    return [
        [(first, last), *left, *right]
        for end in range(first, last)
        for left in _bracketings(first, end)
        for right in _bracketings(end + 1, last)
    ]


def _chart(spans: Sequence[tuple[int, int]], words: int) -> Configuration:
    every = range(1, words + 1)
    return Configuration(Configuration(int((i, j) in spans) for j in every) for i in every)


def _is_tree(heads: Sequence[int]) -> bool:
    if sum(head == 0 for head in heads) != 1:
        return False
    for word in range(1, len(heads) + 1):
        seen = set()
        while word:
            if word in seen:
                return False
            seen.add(word)
            word = heads[word - 1]
    return True


def _is_flat(heads: Sequence[int]) -> bool:
    """No two arcs cross: any two spans are nested or disjoint."""
    spans = [(min(word, head), max(word, head)) for word, head in enumerate(heads, start=1)]
    return not any(low < start < high < end for low, high in spans for start, end in spans)
