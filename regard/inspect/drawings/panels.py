"""Panels of a comparison in rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from regard.inspect.layout import WIDEST, Block, below, beside


def in_rows(shown: Sequence[Any], draw: Callable[[Any, Any], Block], across: int | None) -> Block:
    """Panels in rows; the panels of a row share the labels of the first if they are equal."""

    def rows(count: int) -> Block:
        lines = [shown[i : i + count] for i in range(0, len(shown), count)]
        drawn = [[draw(one, line[0] if i else None) for i, one in enumerate(line)] for line in lines]
        return below([beside(blocks, gap=30) for blocks in drawn])

    if across is not None:
        return rows(max(1, across))
    choices = [len(shown), *range((len(shown) + 1) // 2, 0, -1)]
    return next((block for block in map(rows, choices) if block.width <= WIDEST), rows(1))
