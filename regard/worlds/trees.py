"""Arithmetic expressions in two notations: prefix, with the operator first, and infix, with it between its arguments.

    ( * ( + 15 7 ) 1 )   ↔   ( 15 + 7 ) * 1

The task of Kim et al. (2017), section 4.1, after Grefenstette et al. (2015): expressions over + and *, numbers from 0
to 20, two to four arguments in each pair of brackets. To convert one notation into the other, a model has to find the
symbols that belong to the same pair of brackets, which form a tree over the source.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from regard.data.provider import RowCount, Splits, numbered
from regard.errors import RegardError
from regard.parts import register
from regard.worlds.world import SplitWorld

Expression = str | tuple[str, tuple["Expression", ...]]
"""A number, or an operator and its arguments."""

OPERATORS = ("+", "*")


@register("world", "trees")
class TreesWorld(SplitWorld):
    """Arithmetic expressions in prefix and infix notation. Their depth is the number of brackets around the deepest
    number.

    The published setting is depth 4, beyond 2, train 5000 and test 200.
    """

    train: RowCount = 10_000
    """Number of rows per depth; all expressions are distinct, also across splits."""
    dev: RowCount = 300
    """Rows per depth of the split `dev`."""
    test: RowCount = 500
    """Rows per depth of the split `test`."""
    depth: int = 2
    """Maximum depth in train; each depth from 2 on has the same number of rows."""
    beyond: int = 0
    """Additional test splits of deeper expressions, up to `depth` + `beyond`, each named for its depth (depth3, …)."""
    numbers: int = 21
    """Number of different numbers, from 0 on."""
    arguments: int = 4
    """Maximum number of arguments in a pair of brackets; the minimum is 2."""
    direction: Literal["prefix-infix", "infix-prefix"] = "prefix-infix"
    """Notations of source and target."""

    fields: ClassVar[tuple[str, ...]] = ("source", "target")

    @model_validator(mode="after")
    def _within_bounds(self) -> Self:
        bounds = {"depth": (2, 8), "beyond": (0, 6), "numbers": (2, 1000), "arguments": (2, 8)}
        for option, (low, high) in bounds.items():
            value = getattr(self, option)
            if not low <= value <= high:
                raise RegardError(f"{option} is {value}, expected {low} to {high}.")
        return self

    def splits(self) -> Splits:
        """train, dev and test of all depths up to `depth`, and a test split for each single depth if there are
        several."""
        generator, seen = Random(self.seed), set[str]()
        known = range(2, self.depth + 1)
        # Test splits are drawn first, so that they do not depend on the size of train.
        tests = {
            depth: list(self._rows(generator, self.test, depth, seen))
            for depth in range(2, self.depth + self.beyond + 1)
        }
        dev = [row for depth in known for row in self._rows(generator, self.dev, depth, seen)]
        train = [row for depth in known for row in self._rows(generator, self.train, depth, seen)]
        splits = {"train": train, "dev": dev, "test": [row for depth in known for row in tests[depth]]}
        if len(tests) > 1:
            splits |= {f"depth{depth}": rows for depth, rows in tests.items()}
        return {split: numbered(self.type, split, rows) for split, rows in splits.items()}

    def _rows(self, generator: Random, size: int, depth: int, seen: set[str]) -> Iterator[dict[str, str]]:
        while size:
            expression = self._draw(generator, depth)
            # The outermost brackets of an infix expression are dropped.
            forms = prefix(expression), infix(expression)[2:-2]
            if forms[0] in seen:
                continue
            seen.add(forms[0])
            size -= 1
            source, target = forms if self.direction == "prefix-infix" else forms[::-1]
            yield {"source": source, "target": target}

    def _draw(self, generator: Random, depth: int) -> Expression:
        """A random expression of exactly this depth: at least one argument has depth − 1."""
        if depth == 0:
            return str(generator.randrange(self.numbers))
        count = generator.randint(2, self.arguments)
        deepest = generator.randrange(count)
        depths = [depth - 1 if place == deepest else generator.randrange(depth) for place in range(count)]
        return generator.choice(OPERATORS), tuple(self._draw(generator, below) for below in depths)


def prefix(expression: Expression) -> str:
    """( + 1 ( * 2 3 ) )"""
    if isinstance(expression, str):
        return expression
    operator, arguments = expression
    return f"( {operator} {' '.join(map(prefix, arguments))} )"


def infix(expression: Expression) -> str:
    """( 1 + ( 2 * 3 ) )"""
    if isinstance(expression, str):
        return expression
    operator, arguments = expression
    return f"( {f' {operator} '.join(map(infix, arguments))} )"
