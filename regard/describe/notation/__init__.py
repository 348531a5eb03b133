"""The notation of boards, read: a line of text becomes a tree of what it says (see `regard.nn.symbols`)."""

from regard.describe.notation.nodes import (
    Call,
    Concatenation,
    Condition,
    Entry,
    Equation,
    Node,
    Number,
    Operation,
    Over,
    Range,
    Several,
    Single,
    Symbol,
    symbols,
)
from regard.describe.notation.reading import Function, Lines
from regard.describe.notation.tokens import NotationError

__all__ = [
    "Call",
    "Concatenation",
    "Condition",
    "Entry",
    "Equation",
    "Function",
    "Lines",
    "Node",
    "NotationError",
    "Number",
    "Operation",
    "Over",
    "Range",
    "Several",
    "Single",
    "Symbol",
    "symbols",
]
