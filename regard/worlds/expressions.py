"""Nested expressions over lists of digits, with their trees: the task ListOps of Nangia and Bowman (2018).

    [MAX 2 9 [MIN 4 7 ] 0 ]  →  9

The operators are the published ones: MIN and MAX; MED, the median, rounded down; SM, the sum modulo 10. As published,
operators and brackets are words, and an argument is a list with a probability of 0.25. The published lists have two to
five arguments and are nested up to 20 deep, in 90,000 rows, most of which are shallow. Here they have two or three
arguments, and every depth from 1 to 4 has equally many rows, so that training takes minutes. Options make it harder.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import ClassVar, Self

from pydantic import model_validator

from regard.data.provider import RowCount, Splits
from regard.errors import RegardError
from regard.parts import register
from regard.worlds.world import SplitWorld

Expression = int | tuple[str, tuple["Expression", ...]]
"""A digit, or an operator and its arguments."""

OPERATORS = ("MIN", "MAX", "MED", "SM")
SIGNS = {"MIN": "[MIN", "MAX": "[MAX", "MED": "[MED", "SM": "[SM"}


@register("world", "expressions")
class ExpressionsWorld(SplitWorld):
    """Expressions such as [MAX 2 9 [MIN 4 7 ] 0 ], with their tree in brackets and their value from 0 to 9.

    `tree` has the same words with a bracket around each list; in `values`, each node of the tree is labeled with the
    value of its list.
    """

    train: RowCount = 30_000
    """Number of rows, equally many per depth. None is in another split; short expressions may be repeated in train."""
    dev: RowCount = 1_000
    """Rows of the split `dev`."""
    test: RowCount = 2_000
    """Rows of the split `test`."""
    depth: int = 4
    """Maximum nesting depth; the outermost list counts as 1."""
    arguments: int = 3
    """Maximum number of arguments of an operator; the minimum is 2."""
    nesting: float = 0.25
    """Probability that an argument is a list, for all arguments but the one that reaches the required depth."""

    fields: ClassVar[tuple[str, ...]] = ("expression", "tree", "values", "value")

    @model_validator(mode="after")
    def _within_bounds(self) -> Self:
        for option, (low, high) in {"depth": (1, 20), "arguments": (2, 10)}.items():
            value = getattr(self, option)
            if not low <= value <= high:
                raise RegardError(f"{option} is {value}, expected {low} to {high}.")
        if not 0.0 <= self.nesting <= 1.0:
            raise RegardError(f"nesting is {self.nesting}, expected a probability.")
        return self

    def splits(self) -> Splits:
        generator, held = Random(self.seed), set[str]()
        return self.tests_first(lambda split, size: self._rows(generator, size, held, split != "train"))

    def _rows(self, generator: Random, size: int, held: set[str], hold: bool) -> Iterator[dict[str, str]]:
        """Equally many rows per depth, none of those in `held`; with `hold`, add them to it."""
        number = tries = 0
        while number < size:
            expression, tries = self._draw(generator, 1 + number % self.depth), tries + 1
            text = written(expression)
            if text in held:
                if tries > 1000:
                    fix = "Ask for fewer rows of dev and test."
                    raise RegardError("there are too few different expressions.", fix=fix)
                continue
            held |= {text} if hold else set()
            number, tries = number + 1, 0
            yield {
                "expression": text,
                "tree": bracketed(expression),
                "values": bracketed(expression, labels=True),
                "value": str(value(expression)),
            }

    def _draw(self, generator: Random, depth: int) -> Expression:
        """A random expression of exactly this depth: at least one argument has depth − 1."""
        if depth == 0:
            return generator.randrange(10)
        count = generator.randint(2, self.arguments)
        deepest = generator.randrange(count)
        arguments = []
        for place in range(count):
            nested = generator.random() < self.nesting
            below = depth - 1 if place == deepest else generator.randint(0, depth - 1) if nested else 0
            arguments.append(self._draw(generator, below))
        return generator.choice(OPERATORS), tuple(arguments)


def value(expression: Expression) -> int:
    """[MED 1 2 ] is 1, [SM 7 8 ] is 5."""
    if isinstance(expression, int):
        return expression
    operator, arguments = expression
    values = sorted(map(value, arguments))
    if operator == "MED":
        middle = len(values) // 2
        return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) // 2
    return {"MIN": values[0], "MAX": values[-1], "SM": sum(values) % 10}[operator]


def written(expression: Expression) -> str:
    """[MAX 2 9 [MIN 4 7 ] 0 ]"""
    if isinstance(expression, int):
        return str(expression)
    operator, arguments = expression
    return f"{SIGNS[operator]} {' '.join(map(written, arguments))} ]"


def bracketed(expression: Expression, *, labels: bool = False) -> str:
    """([MAX 2 9 ([MIN 4 7 ]) 0 ]), with labels (9 [MAX 2 9 (4 [MIN 4 7 ]) 0 ])"""
    if isinstance(expression, int):
        return str(expression)
    operator, arguments = expression
    inside = " ".join(bracketed(one, labels=labels) for one in arguments)
    label = f"{value(expression)} " if labels else ""
    return f"({label}{SIGNS[operator]} {inside} ])"
