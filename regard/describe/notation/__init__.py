"""Parser of the notation of boards: from a line of text to a syntax tree (see `regard.nn.symbols`)."""

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
