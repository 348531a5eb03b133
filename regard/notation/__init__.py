"""The notation of the equations (see `regard.nn.symbols`): lines of text as syntax trees, and their symbols renamed."""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.notation.nodes import (
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
    from regard.notation.reading import BoardLines, Function
    from regard.notation.renaming import functions_of, marked, names_in, primed
    from regard.notation.tokens import NotationError
else:
    __getattr__ = at_first_use(__name__)

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
    "functions_of",
    "marked",
    "names_in",
    "primed",
    "symbols",
]
