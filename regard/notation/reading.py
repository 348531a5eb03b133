"""The parsed lines of a board: ranges of indices, definitions, and the bodies of functions."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from regard.notation.grammar import Parser
from regard.notation.nodes import Call, Equation, Node, Range, Reduction, Symbol
from regard.notation.renaming import functions_of
from regard.notation.tokens import NotationError, tokens


@dataclass(frozen=True)
class Function:
    """An equation that defines a function, and the lines of its body."""

    equation: Equation
    inside: dict[str, Node] = field(default_factory=dict)


class BoardLines:
    """The equations of a text.

    ranges      range of each index or structure
    equations   each with its position if the right side defines several symbols, else None
    functions   with the lines of their bodies
    places      symbols without index that are numbers, found by argmin and argmax
    """

    def __init__(self, lines: str | Iterable[str]) -> None:
        self.ranges: dict[str, Range] = {}
        self.equations: list[tuple[Equation, int | None]] = []
        self.functions: list[Function] = []
        self.inside: dict[str, Node] | None = None  # body of the function just above
        written = textwrap.dedent(lines).splitlines() if isinstance(lines, str) else list(lines)
        self.defined = functions_of(written)
        for line in written:
            if tokens(line)[0].kind != "end":
                self._read(line)
        self.places = {
            equation.targets[0].base
            for equation, _ in self.equations
            if isinstance(equation.body, Reduction)
            and equation.body.kind in ("argmin", "argmax")
            and not equation.targets[0].items
        }

    def _read(self, line: str) -> None:
        said = Parser(line, self.defined).line_of_text()
        if isinstance(said, list):
            for one in said:
                if self.ranges.setdefault(one.letter, one) != one:
                    raise NotationError(f"the index {one.letter} has two ranges: {line.strip()}")
            return
        if line[0].isspace():
            if self.inside is None:
                raise NotationError(
                    f"an indented line belongs to a function, and there is none above: {line}"
                )
            for target in said.targets:
                self.inside[target.base] = said.body
            return
        self.inside = None
        targets = [self.target(target) for target in said.targets]
        if isinstance(targets[0], Call):
            self.functions.append(Function(replace(said, targets=(targets[0],))))
            self.inside = self.functions[-1].inside
            return
        for place, target in enumerate(targets):
            alone = replace(said, targets=(target,))
            self.equations.append((alone, place if len(targets) > 1 else None))

    def target(self, node: Node) -> Node:
        """p(y_t) is a name, unless y ranges over structures."""
        if isinstance(node, Call) and node.base == "p" and isinstance(node.arguments[0], Symbol):
            of = node.arguments[0]
            if not (of.base in self.ranges and self.is_structure(of.base)):
                return Symbol(f"p({of.base})", of.items)
        return node

    def is_structure(self, letter: str) -> bool:
        kind = self.ranges[letter]
        return kind.power is not None or kind.trees is not None

    def is_index(self, item: Node) -> bool:
        """Whether an item is a single letter that ranges over numbers or labels."""
        lone = isinstance(item, Symbol) and not item.items and item.base in self.ranges
        return lone and not self.is_structure(item.base)
