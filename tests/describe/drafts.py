"""Reads `equations.md`: the equations of parts, the tensors they are bound to, and which parts make up a system."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.describe.grammar import Parser, Symbol
from tests.describe.notation import Board
from tests.describe.tokens import NOTE, NotationError, tokens

DRAFT = Path(__file__).with_name("equations.md")
BLOCK = re.compile(r"^```(\w+) (.+)\n((?:.*\n)*?)```$", re.MULTILINE)
CELLS = re.compile(r"\w+_[^ =]+: ")
"""`gru_d: …`"""
FAMILY = re.compile(r"\s{3,}for ")
CELL = re.compile(r"(?<=_)(\w?)a(?![\w′])")
"""The letters of a cell in the subscripts of its own block."""


@dataclass(frozen=True)
class Part:
    """The parts named, with some letters changed: for the column, its lines and its binding."""

    column: str
    names: tuple[str, ...]
    letters: dict[str, str]


@dataclass(frozen=True)
class System:
    name: str
    overrides: tuple[str, ...]
    parts: tuple[Part, ...]


class Drafts:
    def __init__(self, text: str) -> None:
        self.equations: dict[str, list[str]] = {}
        self.bindings: dict[str, list[str]] = {}
        self.systems: list[System] = []
        for kind, title, body in BLOCK.findall(text):
            lines = [line for line in body.splitlines() if line.strip()]
            if kind == "equations":
                self.equations[title] = lines
            elif kind == "binding":
                self.bindings[title] = lines
            else:
                parts = tuple(map(_part, lines))
                name, *rest = title.split()
                if kind == "variant":
                    self.systems.append(System(name, tuple(rest), parts))
                else:
                    self.systems += [System(one, (), parts) for one in (name, *rest)]

    def board(self, system: System, around: Mapping[str, Mapping[str, Any]]) -> Board:
        """The board of a system; `around` has, for each column, the names that the Python of its bindings knows."""
        lines: list[str] = []
        found: dict[str, Any] = {}
        families = []
        for part in system.parts:
            for name in part.names:
                lines += [renamed(line, part.letters) for line in self.equations[name]]
                for line in self.bindings.get(name, []):
                    if FAMILY.search(line) or CELLS.match(line):
                        families.append((line, part))
                    else:
                        symbol, python = line.split(" = ", 1)
                        value = eval(python, dict(around[part.column]))
                        _bind(found, renamed(symbol, part.letters), value)
                    if CELLS.match(line):
                        lines += [renamed(one, part.letters) for one in self._cell_lines(line)]
        sized = Board(lines, found)  # knows what the indices of the families go over
        for line, part in families:
            for symbol, value in self._expanded(line, part, around[part.column], sized).items():
                _bind(found, symbol, value)
        return Board(lines, found)

    def _cell_lines(self, line: str) -> list[str]:
        cell, letters = line.split(":")[0].split("_")
        return [CELL.sub(rf"\g<1>{letters}", one) for one in self.equations[cell]]

    def _expanded(self, line: str, part: Part, around: Mapping[str, Any], sized: Board) -> dict[str, Any]:
        """One entry for each value of the indices after `for`."""
        line, *rest = FAMILY.split(line)
        letters = [letter.strip() for letter in rest[0].split(",")] if rest else []
        found = {}
        for values in itertools.product(*(list(enumerate(sized.over(letter, {}))) for letter in letters)):
            places = {letter: place for letter, (place, _) in zip(letters, values, strict=True)}
            below = {letter: str(value) for letter, (_, value) in zip(letters, values, strict=True)}
            if not CELLS.match(line):
                symbol, python = line.split(" = ", 1)
                found[_key(renamed(symbol, part.letters), below)] = eval(python, {**around, **places})
            else:
                function, python = line.split(":", 1)
                cell, suffix = function.split("_")
                module = eval(python, {**around, **places})
                for one in self.bindings[cell]:
                    symbol, weight = one.split(" = ", 1)
                    key = _key(CELL.sub(rf"\g<1>{suffix}", symbol), below)
                    found[key] = eval(weight, {"cell": module, "H": module.size})
        return found


def _part(line: str) -> Part:
    column, rest = line.split(":", 1)
    names, _, letters = rest.partition("{")
    pairs = [pair.split(":") for pair in letters.strip("} ").split(",")] if letters else []
    return Part(column, tuple(names.split()), {old.strip(): new.strip() for old, new in pairs})


def renamed(line: str, letters: Mapping[str, str]) -> str:
    """The line with other letters, in names and below them; the note stays."""
    if not letters:
        return line
    found, place = "", 0
    for token in tokens(line):
        text = token.text
        if token.kind == "name":
            base = text.strip("→←′")
            text = text.replace(base, letters.get(base, base))
        elif token.kind == "subscript":
            text = "".join(letters.get(letter, letter) for letter in text)
        elif token.kind == "end":
            break
        found += line[place : token.place] + text
        place = token.place + len(token.text)
    return found + line[place:] if NOTE in line else found


def _bind(found: dict[str, Any], symbol: str, value: Any) -> None:
    """A size may be given by several parts; a tensor by one."""
    if symbol in found and not (isinstance(value, int) and found[symbol] == value):
        raise NotationError(f"{symbol} is bound twice")
    found[symbol] = value


def _key(symbol: str, below: Mapping[str, str]) -> str:
    """`W_rd` with d = → is `W_{r,→}`."""
    node = Parser(symbol).factor()
    assert isinstance(node, Symbol)
    items = [
        below.get(item.base, item.base) if isinstance(item, Symbol) else str(item.value)
        for item in node.items
    ]
    return f"{node.base}_{{{','.join(items)}}}"
