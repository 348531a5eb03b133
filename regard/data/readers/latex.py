"""LaTeX cut into tokens, in one way of the several that a formula can be written.

    ds^2={a\\over b}\\label{eq}   →   d s ^ { 2 } = \\frac { a } { b }

A token is a command, a character, or a backslash with a character. What does not show goes (labels, numbers off,
comments, spaces of the source); arguments of scripts and fractions are in braces; a subscript comes before its
superscript; a group with \\over in it is a fraction. Braces that are there stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

TOKEN = re.compile(r"\\[a-zA-Z]+\*?|\\.|[^\s]", re.DOTALL)
UNSEEN = re.compile(r"\\label\s*\{[^{}]*\}|(?<!\\)%.*|\\(?:nonumber|notag)(?![a-zA-Z])")
FRACTIONS = ("\\frac", "\\dfrac", "\\tfrac")
Node = str | list["Node"]
"""A token, or what stands between two braces."""


def latex_tokens(formula: str) -> str:
    """The tokens, separated by spaces. Braces that do not match are left as they stand."""
    # sources whose lines were joined have the signs of comments left over before a formula; later ones end it
    pieces = TOKEN.findall(UNSEEN.sub(" ", formula.strip().lstrip("%")))
    try:
        nodes = _group(iter(pieces), closed=False)
    except ValueError:
        return " ".join(pieces)
    return " ".join(_written(nodes))


def _group(pieces: Iterator[str], *, closed: bool) -> list[Node]:
    """What comes before the next closing brace, or before the end."""
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
            # a group that is a fraction needs no braces of its own
            tokens += _written(node) if "\\over" in node else _braced(node)
        else:
            tokens.append("\\frac" if node in FRACTIONS else node)
            if node in FRACTIONS:
                for _ in range(min(2, len(nodes) - place)):
                    tokens += _argument(nodes[place])
                    place += 1
    return tokens


def _scripts(nodes: list[Node], place: int) -> tuple[list[str], int]:
    """One script or two, the lower first, and where what follows them begins."""
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
