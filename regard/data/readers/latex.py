"""Tokenize LaTeX in a normal form, because the same formula can be written in several ways.

    ds^2={a\\over b}\\label{eq}   →   d s ^ { 2 } = \\frac { a } { b }

A token is a command, a character, or a backslash with a character. Invisible parts are dropped (labels, suppressed
numbers, comments, spaces of the source). Arguments of scripts and fractions get braces, a subscript precedes its
superscript, and a group with \\over becomes a fraction. Existing braces are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

TOKEN = re.compile(r"\\[a-zA-Z]+\*?|\\.|[^\s]", re.DOTALL)
UNSEEN = re.compile(r"\\label\s*\{[^{}]*\}|(?<!\\)%.*|\\(?:nonumber|notag)(?![a-zA-Z])")
FRACTIONS = ("\\frac", "\\dfrac", "\\tfrac")
Node = str | list["Node"]
"""A token, or the content of a pair of braces."""


def latex_tokens(formula: str) -> str:
    """The tokens, separated by spaces. Unmatched braces are left as they are."""
    # Sources with joined lines have comment signs left over before a formula; later ones do end it.
    pieces = TOKEN.findall(UNSEEN.sub(" ", formula.strip().lstrip("%")))
    try:
        nodes = _group(iter(pieces), closed=False)
    except ValueError:
        return " ".join(pieces)
    return " ".join(_written(nodes))


def _group(pieces: Iterator[str], *, closed: bool) -> list[Node]:
    """The nodes up to the next closing brace, or up to the end."""
    nodes: list[Node] = []
    for piece in pieces:
        if piece == "{":
            nodes.append(_group(pieces, closed=True))
        elif piece == "}":
            if closed:
                return nodes
            raise ValueError(piece)
        else:
            nodes.append(piece)
    if closed:
        raise ValueError("{")
    return nodes


def _written(nodes: list[Node]) -> list[str]:
    if "\\over" in nodes:
        place = nodes.index("\\over")
        return ["\\frac", *_braced(nodes[:place]), *_braced(nodes[place + 1 :])]
    tokens: list[str] = []
    place = 0
    while place < len(nodes):
        node = nodes[place]
        if node in ("_", "^"):
            scripts, place = _scripts(nodes, place)
            tokens += scripts
            continue
        place += 1
        if isinstance(node, list):
            # A group that is a fraction needs no braces.
            tokens += _written(node) if "\\over" in node else _braced(node)
        else:
            tokens.append("\\frac" if node in FRACTIONS else node)
            if node in FRACTIONS:
                for _ in range(min(2, len(nodes) - place)):
                    tokens += _argument(nodes[place])
                    place += 1
    return tokens


def _scripts(nodes: list[Node], place: int) -> tuple[list[str], int]:
    """One or two scripts, the lower first, and the position after them."""
    found: dict[str, list[str]] = {}
    while place + 1 < len(nodes) and nodes[place] in ("_", "^") and nodes[place] not in found:
        found[str(nodes[place])] = _argument(nodes[place + 1])
        place += 2
    if not found:  # a script without an argument, at the end
        return [str(nodes[place])], place + 1
    return [token for mark in "_^" if mark in found for token in (mark, *found[mark])], place


def _argument(node: Node) -> list[str]:
    return _braced(node if isinstance(node, list) else [node])


def _braced(nodes: list[Node]) -> list[str]:
    return ["{", *_written(nodes), "}"]
