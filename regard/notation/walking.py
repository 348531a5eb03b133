"""Traverse the nodes of an equation, and write symbols as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from regard.notation.nodes import Call, Item, Node, Number, Operation, Reduction, Symbol, parts_of


def parts_below(node: Node) -> tuple[Node, ...]:
    if isinstance(node, tuple):
        return node
    if isinstance(node, str | int | float) or node is None or isinstance(node, Number):
        return ()
    return parts_of(node)


def walk(node: Node) -> Iterator[Node]:
    yield node
    for part in parts_below(node):
        yield from walk(part)


def said_symbols(node: Node) -> Iterator[Symbol]:
    """The symbols of a tree. Among their subscripts, only those with subscripts of their own (z_t of h_{z_t})."""
    if isinstance(node, Symbol):
        yield node
        for item in node.items:
            yield from (one for one in said_symbols(item) if one.items)
        return
    if isinstance(node, Reduction):
        yield from said_symbols(node.body)
        return
    if isinstance(node, Call):
        yield from said_symbols(node.arguments)
        return
    for part in parts_below(node):
        yield from said_symbols(part)


def calls_in(node: Node) -> Iterator[Call]:
    return (one for one in walk(node) if isinstance(one, Call))


def items_in(node: Node) -> Iterator[Item]:
    return (one for one in walk(node) if isinstance(one, Item))


def reductions_in(node: Node) -> Iterator[Reduction]:
    return (one for one in walk(node) if isinstance(one, Reduction))


def operations_in(node: Node) -> Iterator[Operation]:
    return (one for one in walk(node) if isinstance(one, Operation))


def bind(node: Node, bound: Mapping[str, Node]) -> Node:
    """Substitute the values of indices in the subscripts of a symbol."""
    if isinstance(node, Symbol) and not node.items and node.base in bound:
        return bound[node.base]
    if isinstance(node, Symbol):
        return replace(node, items=tuple(bind(item, bound) for item in node.items))
    return node


def same_symbol(target: Symbol | Call, symbol: Symbol) -> bool:
    return target.base == symbol.base and target.items == symbol.items


def node_text(node: Node) -> str:
    """A symbol, an index or a lookup in the notation of the board."""
    match node:
        case Number():
            return str(node.value)
        case Symbol():
            return written_symbol(node)
        case Operation():
            sign = f" {node.sign} " if node.sign == "/" else node.sign
            return f"{node_text(node.left)}{sign}{node_text(node.right)}"
        case Item():
            return f"{node_text(node.of)}[{', '.join(map(node_text, node.items))}]"
    return "…"


def written_symbol(node: Symbol | Call) -> str:
    """`s_{t−1}`, `h_lj`."""
    items = [node_text(item) for item in node.items]
    if not items:
        return node.base
    plain = all(len(re.sub(r"[′\u0300-\u036f]", "", item)) == 1 for item in items)
    below = "".join(items) if plain else "{" + ",".join(items) + "}"
    if node.base.startswith("p("):
        return f"{node.base[:-1]}_{below})"
    return f"{node.base}_{below}"
