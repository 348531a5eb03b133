"""Trees written in two ways: prefix, where the operator comes first, and infix, where it stands between its arguments.

    ( * ( + 15 7 ) 1 )   ↔   ( 15 + 7 ) * 1

The task of Kim et al. (2017), section 4.1, after Grefenstette et al. (2015): expressions over + and *, numbers from 0
to 20, two to four arguments in each pair of brackets. To write one form from the other, a model has to find which
symbols belong to the same pair of brackets: a tree over the source.
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
    """Arithmetic expressions of a given depth: the pairs of brackets around the deepest number.

    The published setting is depth 4, beyond 2, train 5000 and test 200.
    """

    train: RowCount = 10_000
    """Number of rows of each depth; no expression occurs twice, in one split or in two."""
    dev: RowCount = 300
    """Rows of the split `dev`, of each depth."""
    test: RowCount = 500
    """Rows of the split `test`, of each depth."""
    depth: int = 2
    """Depth of the deepest expressions to train on; each depth from 2 on has the same number of rows."""
    beyond: int = 0
    """Additional test splits of deeper expressions, up to `depth` + `beyond`, each named for its depth (depth3, …)."""
    numbers: int = 21
    """How many different numbers there are, from 0 on."""
    arguments: int = 4
    """Most arguments in a pair of brackets; the fewest are two."""
    direction: Literal["prefix-infix", "infix-prefix"] = "prefix-infix"
    """Which form is the source, and which the target."""

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
        """train, dev and test of all depths up to `depth`; beside them a test split for each depth alone."""
        generator, seen = Random(self.seed), set[str]()
        known = range(2, self.depth + 1)
        # Those to be tested on come first, so that they stay the same whatever the size of train.
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
            # the outermost pair of brackets of an infix expression is left out
            forms = prefix(expression), infix(expression)[2:-2]
            if forms[0] in seen:
                continue
            seen.add(forms[0])
            size -= 1
            source, target = forms if self.direction == "prefix-infix" else forms[::-1]
            yield {"source": source, "target": target}

    def _draw(self, generator: Random, depth: int) -> Expression:
        """An expression of exactly this depth: one argument at least is as deep as it can be."""
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
