"""The expected values of the decks, written as arithmetic: `[1.1 ** t for t in range(50)]`.

Numbers, texts, lists, + − × ÷, powers, comparisons, `x if … else y`, one `for`, f'…', and the functions below. There is
no access to anything else, so that a truth cannot come from the code that it judges.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "int": int,
    "range": range,
    "sorted": sorted,
    "str": str,
    "sum": sum,
    **{f"math.{name}": getattr(math, name) for name in ("comb", "cos", "exp", "log", "log2", "sqrt")},
}


def computed(text: str) -> Any:
    """The value of an expression; a ValueError names what is no arithmetic."""
    return _value(ast.parse(text.strip(), mode="eval").body, {})


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, known) for item in items]
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
            return OPERATORS[type(sign)](_value(left, known), _value(right, known))
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in OPERATORS:
            return OPERATORS[type(sign)](_value(operand, known))
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in OPERATORS:
            return OPERATORS[type(sign)](_value(left, known), _value(right, known))
        case ast.IfExp(test=test, body=body, orelse=other):
            return _value(body if _value(test, known) else other, known)
        case ast.Call(func=function, args=given, keywords=[]) if ast.unparse(function) in FUNCTIONS:
            return FUNCTIONS[ast.unparse(function)](*(_value(one, known) for one in given))
        case ast.ListComp(elt=item, generators=[each]) | ast.GeneratorExp(elt=item, generators=[each]) if (
            not each.ifs
        ):
            return [_value(item, {**known, **bound}) for bound in _bound(each, known)]
        case ast.JoinedStr(values=pieces):
            return "".join(_written(piece, known) for piece in pieces)
    raise ValueError(f"{ast.unparse(node)!r} is no arithmetic; the functions are {', '.join(FUNCTIONS)}")


def _bound(each: ast.comprehension, known: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The variables of a `for`, once for each item."""
    items = _value(each.iter, known)
    match each.target:
        case ast.Name(id=name):
            return [{name: item} for item in items]
        case ast.Tuple(elts=parts):
            names = [ast.unparse(part) for part in parts]
            return [dict(zip(names, item, strict=True)) for item in items]
    raise ValueError(f"{ast.unparse(each.target)!r} is no variable")


def _written(piece: ast.expr, known: Mapping[str, Any]) -> str:
    if isinstance(piece, ast.FormattedValue):
        form = "" if piece.format_spec is None else str(_value(piece.format_spec, known))
        return format(_value(piece.value, known), form)
    return str(_value(piece, known))
