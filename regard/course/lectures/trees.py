"""All trees over a few words, listed: for the Python code of entries."""

from __future__ import annotations

from itertools import product

__all__ = ["projective_trees"]


def projective_trees(words: int, *, single_root: bool = True) -> list[tuple[int, ...]]:
    """The heads of the words from 1 on, 0 being the root, in every tree whose arcs do not cross; with `single_root`
    only those in which one word hangs from the root."""
    every = product(range(words + 1), repeat=words)
    return [heads for heads in every if _is_tree(heads) and not (single_root and heads.count(0) != 1)]


def _is_tree(heads: tuple[int, ...]) -> bool:
    """Whether the heads of all words lead to the root, and no two arcs cross."""
    arcs = [sorted(arc) for arc in enumerate(heads, 1)]

    def rooted(word: int, seen: tuple[int, ...] = ()) -> bool:
        return word == 0 or (word not in seen and rooted(heads[word - 1], (*seen, word)))

    crossing = any(a < c < b < d for a, b in arcs for c, d in arcs)
    return not crossing and all(rooted(word) for word, _ in enumerate(heads, 1))
