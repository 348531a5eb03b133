"""The equations of one part, with the usual symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from regard.nn.symbols import LookSymbols, MemorySymbols

LOOK = LookSymbols("q_t", MemorySymbols())
MEMORIES = {"source": MemorySymbols()}
EQUATIONS: dict[str, Callable[[Any], list[str]]] = {
    "cell": lambda options: options.part.equations(options, "x"),
    "composer": lambda options: options.part.equations(options, 4),
    "score": lambda options: options.part.equations(options, LOOK),
    "selection": lambda options: options.part.equations(options, LOOK),
    "store": lambda options: options.part.equations(options, "j", "s_j", "S"),
    "network": lambda options: options.part.board(options, "x", "", "h"),
    "encoder": lambda options: options.part.board(options),
    "decoder": lambda options: [
        *options.part.board(options, MEMORIES),
        *options.part.board_loss(options, MEMORIES),
    ],
}
"""Kinds of parts that have equations."""


def equations_of(options: Any) -> list[str]:
    """The equations of a part with these options; empty if it has none, or none without the rest of a model."""
    try:
        return list(EQUATIONS[options.kind](options)) if options.kind in EQUATIONS else []
    except (LookupError, AttributeError, ValueError, StopIteration):
        return []  # a decoder that compares two texts has no equations for one
