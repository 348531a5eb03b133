"""Random expressions, written in LaTeX and laid out.

The LaTeX is canonical, one notation for each image: tokens separated by spaces, every argument and script in braces, a
subscript before a superscript:  \\frac { x ^ { 2 } + 1 } { \\sqrt { a } }
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from regard.worlds.formulas import boxes
from regard.worlds.formulas.boxes import Box
from regard.worlds.formulas.typeface import Typeface

LETTERS = ("x", "y", "z", "a", "b", "c", "n", "k")
GREEK = tuple(
    rf"\{name}" for name in ("alpha", "beta", "gamma", "theta", "lambda", "pi", "sigma", "phi", "omega")
)
DIGITS = tuple("0123456789")
OPERATORS = ("+", "-", "=")
SIZES = (12, 9)
"""Font sizes of the line and of scripts, in pixels."""


@dataclass
class Writer:
    """Writes and lays out an expression at the same time, so that every mark is linked to its token.

    tokens   the tokens so far
    """

    typeface: Typeface
    random: Random
    tokens: list[str] = field(default_factory=list)

    def formula(self) -> Box:
        """An expression, or an equation of two."""
        if self.random.random() < 0.5:
            return self._line(self._terms(self.random.choice((1, 2, 3)), 0), 0)
        left = self._terms(1, 0)
        middle = [self._symbol("=", 0)]
        return self._line([*left, *middle, *self._terms(self.random.choice((1, 2)), 0)], 0)

    def _terms(self, count: int, level: int) -> list[tuple[str, Box]]:
        parts: list[tuple[str, Box]] = []
        for number in range(count):
            if number:
                parts.append(self._symbol(self.random.choice("+-"), level))
            parts += self._term(level)
        return parts

    def _term(self, level: int) -> list[tuple[str, Box]]:
        """A random term. Within fractions, roots and brackets (level 1), only a sign, or a letter with scripts."""
        parts = []
        if level == 0 and self.random.random() < 0.2:
            parts.append(self._symbol(self.random.choice(DIGITS[2:]), level))
        kinds = [(self._scripts, 4.0), (self._plain, 3.0)]
        if level == 0:
            kinds += [(self._fraction, 3.0), (self._root, 2.0), (self._sum, 1.5), (self._brackets, 1.0)]
        made = self.random.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0]
        return parts + made(level)

    def _plain(self, level: int) -> list[tuple[str, Box]]:
        return [self._symbol(self.random.choice(self.random.choice((LETTERS, GREEK, DIGITS))), level)]

    def _letter(self, level: int) -> Box:
        return self._symbol(self.random.choice(LETTERS + GREEK), level)[1]

    def _scripts(self, level: int) -> list[tuple[str, Box]]:
        base, which = self._letter(level), self.random.choice(("_", "^", "_^"))
        low = self._braced("_", self._short) if "_" in which else None
        high = self._braced("^", self._short) if "^" in which else None
        return [("", boxes.scripts(base, low, high, SIZES[level]))]

    def _short(self) -> Box:
        """A script of one or two signs."""
        parts = [self._symbol(self.random.choice(LETTERS + DIGITS), 1)]
        if self.random.random() < 0.2:
            parts += [
                self._symbol(self.random.choice("+-"), 1),
                self._symbol(self.random.choice(DIGITS[1:]), 1),
            ]
        return self._line(parts, 1)

    def _fraction(self, level: int) -> list[tuple[str, Box]]:
        token = self._write(r"\frac")
        top = self._braced("", self._side)
        return [("", boxes.fraction(token, top, self._braced("", self._side), SIZES[level]))]

    def _root(self, level: int) -> list[tuple[str, Box]]:
        token = self._write(r"\sqrt")
        return [("", boxes.root(token, self._braced("", self._side), self.typeface))]

    def _side(self) -> Box:
        return self._line(self._terms(self.random.choice((1, 1, 2)), 1), 1)

    def _sum(self, level: int) -> list[tuple[str, Box]]:
        sign = self._symbol(r"\sum", 1)[1]
        index = self.random.choice("nk")
        low = self._braced("_", lambda: self._line([self._symbol(sign, 1) for sign in (index, "=", "1")], 1))
        high = self._braced("^", lambda: self._symbol(self.random.choice(LETTERS + DIGITS), 1)[1])
        return [("", boxes.limits(sign, low, high)), *self._scripts(level)]

    def _brackets(self, level: int) -> list[tuple[str, Box]]:
        first = self._symbol("(", level)
        inside = self._terms(2, 1)
        return [first, *inside, self._symbol(")", level)]

    def _braced(self, mark: str, write: Callable[[], Box]) -> Box:
        for token in (mark, "{"):
            if token:
                self._write(token)
        box = write()
        self._write("}")
        return box

    def _write(self, token: str) -> int:
        self.tokens.append(token)
        return len(self.tokens) - 1

    def _symbol(self, token: str, level: int) -> tuple[str, Box]:
        return token, boxes.symbol(self._write(token), self.typeface.glyph(token, SIZES[level]))

    def _line(self, parts: list[tuple[str, Box]], level: int) -> Box:
        """The parts on one line, with more space around operators."""
        wide = 3 - level
        gaps = [
            0 if place == 0 else wide if token in OPERATORS or parts[place - 1][0] in OPERATORS else 1
            for place, (token, _) in enumerate(parts)
        ]
        return boxes.row([box for _, box in parts], gaps)
