"""The notation of boards, read: a line of text becomes a tree of what it says (see `regard.nn.symbols`)."""

from regard.describe.notation.nodes import (
    Call,
    Concatenation,
    Condition,
    Equation,
    Item,
    Node,
    Number,
    Operation,
    Range,
    Reduction,
    Several,
    Single,
    Symbol,
    symbols,
)
from regard.describe.notation.reading import BoardLines, Function
from regard.describe.notation.tokens import NotationError

__all__ = [
    "BoardLines",
    "Call",
    "Concatenation",
    "Condition",
    "Equation",
    "Function",
    "Item",
    "Node",
    "NotationError",
    "Number",
    "Operation",
    "Range",
    "Reduction",
    "Several",
    "Single",
    "Symbol",
    "symbols",
]
