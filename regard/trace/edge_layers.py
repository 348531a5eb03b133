"""The layers of a graph without cycles, for figures and checks."""

from __future__ import annotations

from collections.abc import Sequence

Edge = tuple[int, int, str]
"""The places of its two nodes, from 0, and the name of its relation, which may be empty."""


def edge_layers(count: int, edges: Sequence[Edge]) -> list[int] | None:
    """The length of the longest path to each of `count` nodes; None if there is a cycle."""
    waiting = [0] * count
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target, _ in edges:
        waiting[target] += 1
        after[source].append(target)
    found, ready, done = [0] * count, [node for node in range(count) if not waiting[node]], 0
    while ready:
        node, done = ready.pop(), done + 1
        for target in after[node]:
            found[target] = max(found[target], found[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return found if done == count else None
