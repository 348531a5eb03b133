"""Rename the symbols of a part's lines: primes for a second input or output, a sign for a second network.

The lines are read token by token. A symbol is a name that is not a function of the notation, not a parameter or a
local value of a function, and not one of the symbols of other parts, which the caller names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from regard.notation.grammar import Parser
from regard.notation.nodes import Equation, Range, Reduction, Symbol, symbols
from regard.notation.tokens import NOTE, NotationError, Token, items_of, scan

PROBABILITY = "p"
"""p(y) is the probability of y, never a function of a part."""
KEYWORD = "for"


def primed(lines: Sequence[str], times: int, kept: Iterable[str] = (), sign: str = "′") -> list[str]:
    """The lines with `times` primes after their symbols.

    kept   symbols of other parts that stay as they are, by letter (`h`) or in full (`E_x`)
    sign   a sign to use instead of a prime, such as a combining one
    """
    return Renaming(lines, sign * times, kept).lines() if times else list(lines)


def marked(symbol: str, sign: str, indices: Iterable[str]) -> str:
    """One symbol, renamed; `indices` are renamed in its subscript too."""
    return _line(symbol, sign, _Scope(frozenset(indices), frozenset(), frozenset()))


def names_in(text: str) -> list[str]:
    """The names in a text of the notation: `→h`, `S` of `→h_{1,S}`."""
    return [token.text for token in scan(text) if token.kind == "name"]


def functions_of(lines: Iterable[str]) -> frozenset[str]:
    """The names of the functions that the lines define: gru of `gru_x(h, x) = …`."""
    return frozenset(found[0] for line in lines if (found := _function(line)) is not None)


@dataclass(frozen=True)
class _Scope:
    """What a name means on a line.

    indices     indices and sizes, which are renamed in subscripts too
    kept        names that stay: those of other parts, parameters, local values, labels
    functions   the functions that the lines define
    given       the functions of the notation that the lines call
    """

    indices: frozenset[str]
    kept: frozenset[str]
    functions: frozenset[str]
    given: frozenset[str] = frozenset()


class Renaming:
    """The lines of a part, with a sign after each of its symbols."""

    def __init__(self, lines: Sequence[str], sign: str, kept: Iterable[str] = ()) -> None:
        self.written, self.sign, self.kept = list(lines), sign, frozenset(kept)
        self.functions = functions_of(lines)
        said = [_said(line) for line in lines]
        called = {token.text for text in said for token, _, calls in _names(list(scan(text))) if calls}
        self.given = frozenset(called - self.functions - {PROBABILITY})
        read = [_read(line) for line in lines]
        self.labels = [_labels(one) for one in read]
        self.indices = frozenset(name for one in read for name in _indices(one)) - self.kept

    def lines(self) -> list[str]:
        found, inside = [], frozenset[str]()
        for place, line in enumerate(self.written):
            if not line[:1].isspace():
                inside = self._inside(place) | self.labels[place]
            scope = _Scope(self.indices, inside | self.kept, self.functions, self.given)
            found.append(_line(line, self.sign, scope))
        return found

    def _inside(self, place: int) -> frozenset[str]:
        """The parameters and the local values of the function that a line defines."""
        function = _function(self.written[place])
        if function is None:
            return frozenset()
        found = set(function[1])
        for line in self.written[place + 1 :]:
            if not line[:1].isspace():
                break
            found.add(line.split()[0])
        return frozenset(found)


def _said(line: str) -> str:
    return line.partition(NOTE)[0]


def _read(line: str) -> list[Range] | Equation | None:
    """A parsed line; None for a note and for a line that is not of the notation."""
    try:
        return Parser(line).line_of_text() if _said(line).strip() else None
    except NotationError:
        return None


def _indices(line: list[Range] | Equation | None) -> Iterator[str]:
    """The indices and sizes that a line introduces: j and S of `j = 1 … S`, and what argmax finds."""
    if isinstance(line, list):
        for one in line:
            sized = (() if one.listed else one.values, one.power, one.trees)
            yield from (one.letter, *(symbol.base for symbol in symbols(sized)))
    elif line is not None and isinstance(line.body, Reduction) and line.body.kind in ("argmin", "argmax"):
        yield from (one.base for one in line.targets if isinstance(one, Symbol) and not one.items)


def _labels(line: list[Range] | Equation | None) -> frozenset[str]:
    """The labels of a range: A and C of `l ∈ {A, C}`."""
    if not isinstance(line, list):
        return frozenset()
    return frozenset(symbol.base for one in line if one.listed for symbol in symbols(one.values))


def _function(line: str) -> tuple[str, list[str]] | None:
    """The name and the parameters of the function that a line defines; None for other lines."""
    found = list(scan(_said(line)))
    if not found or line[:1].isspace() or found[0].kind != "name" or found[0].text == PROBABILITY:
        return None
    opened = _after(found, 0)
    kinds = [token.kind for token in found]
    if kinds[opened : opened + 1] != ["("] or ")" not in kinds:
        return None
    closed = kinds.index(")")
    if kinds[closed + 1 : closed + 2] != ["="]:
        return None
    return found[0].text, [token.text for token in found[opened + 1 : closed] if token.kind == "name"]


def _after(found: Sequence[Token], place: int) -> int:
    """The place after a name and its subscript."""
    following = place + 1
    if following < len(found) and found[following].kind == "subscript":
        return following + 1
    if following < len(found) and found[following].kind == "_{":
        depth = 1
        while depth and (following := following + 1) < len(found):
            depth += {"_{": 1, "{": 1, "}": -1}.get(found[following].kind, 0)
        return following + 1
    return following


def _names(found: Sequence[Token]) -> Iterator[tuple[Token, str, bool]]:
    """The names, each with its subscript and whether it is called."""
    for place, token in enumerate(found):
        if token.kind != "name":
            continue
        after = _after(found, place)
        below = found[place + 1].text if found[place + 1 : place + 2] and after > place + 1 else ""
        calls = after < len(found) and found[after].kind == "(" and not found[after].spaced
        yield token, below, calls


def _line(line: str, sign: str, scope: _Scope) -> str:
    said, dash, note = line.partition(NOTE)
    return _text(said, sign, scope, prose=False) + dash + _text(note, sign, scope, prose=True)


def _text(text: str, sign: str, scope: _Scope, *, prose: bool) -> str:
    found = list(scan(text))
    labels = _in_subscripts(found)
    known = {id(token): (below, calls) for token, below, calls in _names(found)}
    made, done = [], 0
    for place, token in enumerate(found):
        made.append(text[done : token.place])
        done = token.place + len(token.text)
        before = found[place - 1] if place else None
        if token.kind == "name":
            below, calls = known[id(token)]
            label = id(token) in labels and not below and token.text not in scope.indices
            word = prose and not below and token.text not in scope.indices
            stays = label or word or _stays(token.text, below, calls, prose, scope)
            made.append(token.text if stays else token.text + sign)
        elif token.kind == "subscript":
            owner = before.text if before is not None and before.kind == "name" else ""
            made.append(_subscript(token.text, owner, sign, scope))
        else:
            made.append(token.text)
    return "".join(made) + text[done:]


def _stays(name: str, below: str, calls: bool, prose: bool, scope: _Scope) -> bool:
    """Whether a name is not a symbol of this part."""
    of_the_notation = calls and name not in scope.functions
    said = prose and name in scope.given
    return name in scope.kept or name + below in scope.kept or of_the_notation or said or name == KEYWORD


def _subscript(text: str, owner: str, sign: str, scope: _Scope) -> str:
    if owner + text in scope.kept:
        return text
    every = not owner  # 0_D, a vector of D zeros: D is a name of its own
    return "_" + "".join(
        item + sign
        if item in scope.indices or (every and not item.isdigit() and item not in scope.kept)
        else item
        for item in items_of(text)
    )


def _in_subscripts(found: Sequence[Token]) -> set[int]:
    """The tokens between the braces of a subscript, before a condition."""
    inside: set[int] = set()
    opened: list[bool] = []
    for token in found:
        if token.kind in ("_{", "{"):
            opened.append(token.kind == "_{")
        elif token.kind == "}" and opened:
            opened.pop()
        elif token.kind == ":" and opened:
            opened[-1] = False
        elif opened and opened[-1]:
            inside.add(id(token))
    return inside
