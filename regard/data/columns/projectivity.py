"""Projectivity of dependency trees: detect crossing arcs, and lift arcs until none cross.

`heads[m - 1]` is the head of word m, counted from 1; 0 is the root symbol, which precedes the first word.
"""

from __future__ import annotations

from collections.abc import Sequence


def crossing(heads: Sequence[int]) -> tuple[int, int] | None:
    """Two words whose arcs cross, or None: the head of an arc does not dominate a word between its ends."""
    for word, head in enumerate(heads, start=1):
        low, high = min(word, head), max(word, head)
        for between in range(low + 1, high):
            if not low <= heads[between - 1] <= high:
                return word, between
    return None


def projectivize(heads: Sequence[int]) -> list[int]:
    """Lift non-projective arcs, one step at a time, until the tree is projective.

    Among the arcs whose head does not dominate every word between its ends, the shortest is lifted first: its word is
    attached to the head of its head (Nivre and Nilsson 2005, Pseudo-projective dependency parsing). A projective tree
    is returned unchanged. Lifting never makes a second root, because the root symbol dominates every word.
    """
    lifted = list(heads)
    while crossing(lifted):
        ruled = _ancestors(lifted)
        wrong = [
            (abs(word - head), word)
            for word, head in enumerate(lifted, start=1)
            if head and any(head not in ruled[between] for between in _between(word, head))
        ]
        _, word = min(wrong)
        lifted[word - 1] = lifted[lifted[word - 1] - 1]
    return lifted


def _between(word: int, head: int) -> range:
    return range(min(word, head) + 1, max(word, head))


def _ancestors(heads: Sequence[int]) -> dict[int, set[int]]:
    """All ancestors of each word, including 0."""
    found: dict[int, set[int]] = {}
    for word in range(1, len(heads) + 1):
        above, node = set[int](), word
        while node:
            node = heads[node - 1]
            above.add(node)
        found[word] = above
    return found


def fault(heads: Sequence[int], *, single_root: bool = True) -> str | None:
    """Why these heads are not a tree, to follow its name in a message ("has a cycle: …"); None if they are one."""
    count = len(heads)
    for word, head in enumerate(heads, start=1):
        if not 0 <= head <= count:
            return f"gives word {word} the head {head}, but there are {count} words"
        if head == word:
            return f"gives word {word} itself as its head"
    roots = [word for word, head in enumerate(heads, start=1) if head == 0]
    if not roots:
        return "has no root: no word has the head 0"
    if single_root and len(roots) > 1:
        return f"has {len(roots)} roots, words {', '.join(map(str, roots))}, expected one (single_root)"
    for word in range(1, count + 1):
        seen, node = [word], heads[word - 1]
        while node and node not in seen:
            seen.append(node)
            node = heads[node - 1]
        if node:
            return f"has a cycle: {' ← '.join(map(str, [*seen[seen.index(node) :], node]))}"
    return None
