"""Generate short programs together with their output: each operation wraps the result of the previous ones.

    (a+b) (a-b)              the sum or the difference with a new integer
    (a*k) (k*a)              a product with a small constant
    (a if m<n else b)        one of two values, by comparing two new integers
    v=a                      a variable
    v=a, for x in range(k):v+=b     a variable to which a value is added, or from which it is subtracted, k times

Each can be computed in one pass with constant memory. Integers have up to `length` digits; constants and numbers of
iterations are at most 4 · length, as in the generator of the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

NAMES = "abcdefghijklmnopqrstuvwyz"
"""Names of variables: all letters but x, the loop variable."""
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 ()+-*=<>:."
"""Every character of the programs, except line ends."""


class Operand(NamedTuple):
    """A piece of a program and its value."""

    text: str
    value: int


class ProgramWriter:
    """Writes one program.

    lines   the lines before the last one, which prints
    """

    def __init__(self, generator: Random, length: int) -> None:
        self.generator, self.length = generator, length
        self.names = generator.sample(NAMES, len(NAMES))
        self.lines: list[str] = []

    def write(self, nesting: int) -> tuple[str, str]:
        """The program and its output, both followed by a period."""
        operations: list[Callable[[Operand], Operand]] = [
            self.add,
            self.multiply,
            self.choose,
            self.assign,
            self.loop,
        ]
        operand = self.integer()
        for _ in range(nesting):
            operand = self.generator.choice(operations)(operand)
        return "\n".join([*self.lines, f"print({operand.text})."]), f"{operand.value}."

    def integer(self) -> Operand:
        value = self.generator.randrange(1, 10**self.length)
        return Operand(str(value), value)

    def small(self) -> int:
        return self.generator.randint(1, 4 * self.length)

    def pair(self, operand: Operand) -> tuple[Operand, Operand]:
        """The operand and a new integer, in either order."""
        first, second = operand, self.integer()
        return (first, second) if self.generator.random() < 0.5 else (second, first)

    def add(self, operand: Operand) -> Operand:
        first, second = self.pair(operand)
        if self.generator.random() < 0.5:
            return Operand(f"({first.text}+{second.text})", first.value + second.value)
        return Operand(f"({first.text}-{second.text})", first.value - second.value)

    def multiply(self, operand: Operand) -> Operand:
        by = self.small()
        text = f"({operand.text}*{by})" if self.generator.random() < 0.5 else f"({by}*{operand.text})"
        return Operand(text, operand.value * by)

    def choose(self, operand: Operand) -> Operand:
        first, second = self.pair(operand)
        left, right = self.integer(), self.integer()
        sign, holds = (
            ("<", left.value < right.value)
            if self.generator.random() < 0.5
            else (">", left.value > right.value)
        )
        text = f"({first.text} if {left.text}{sign}{right.text} else {second.text})"
        return Operand(text, first.value if holds else second.value)

    def assign(self, operand: Operand) -> Operand:
        name = self.names.pop()
        self.lines.append(f"{name}={operand.text}")
        return Operand(name, operand.value)

    def loop(self, operand: Operand) -> Operand:
        start, step = self.pair(operand)
        name, rounds = self.names.pop(), self.small()
        sign = 1 if self.generator.random() < 0.5 else -1
        self.lines += [
            f"{name}={start.text}",
            f"for x in range({rounds}):{name}{'+' if sign > 0 else '-'}={step.text}",
        ]
        return Operand(name, start.value + sign * rounds * step.value)
