r"""Regular expressions, read into a tree.

Literals, `.`, `[a-z]`, `[^a-z]`, `\d \w \s \D \W \S`, `\n \t \u0041 \x41`, escaped signs, `(…)`, `(?:…)`, `a|b`, and
the repetitions `* + ? {2} {2,} {2,5}`. They mean what they mean in Python's `re`; an expression always describes a
whole text. Without anchors, references back and looks ahead: an automaton has no place for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from regard.errors import RegardError

MOST = 1000
"""The largest number of repetitions."""
KINDS: dict[str, Callable[[str], bool]] = {
    "d": str.isdecimal,
    "w": lambda character: character.isalnum() or character == "_",
    "s": str.isspace,
}
CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0", "a": "\a"}


@dataclass(frozen=True)
class CharacterSet:
    """A set of characters: single ones, ranges, and kinds such as `d`, or `D` for all others."""

    ranges: tuple[tuple[str, str], ...] = ()
    kinds: str = ""
    negated: bool = False

    def __contains__(self, character: str) -> bool:
        found = any(low <= character <= high for low, high in self.ranges) or any(
            KINDS[kind.lower()](character) != kind.isupper() for kind in self.kinds
        )
        return found != self.negated


@dataclass(frozen=True)
class RuleCall:
    """A rule of a grammar, by its name."""

    name: str


@dataclass(frozen=True)
class InOrder:
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Alternatives:
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Repetition:
    """most   None: any number of times"""

    part: Expression
    least: int
    most: int | None


Expression = CharacterSet | RuleCall | InOrder | Alternatives | Repetition
ANY = CharacterSet((("\n", "\n"),), negated=True)


def literal(text: str) -> Expression:
    return InOrder(tuple(CharacterSet(((one, one),)) for one in text))


class ExpressionReader:
    """Reads an expression from left to right.

    where   the place to name in messages
    """

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where, self.at = text, where, 0

    def fault(self, what: str, fix: str = "") -> RegardError:
        return RegardError(f"{what} (character {self.at + 1} of {self.text!r}).", where=self.where, fix=fix)

    def peek(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def take(self) -> str:
        if self.at == len(self.text):
            raise self.fault("the expression ends too early")
        self.at += 1
        return self.text[self.at - 1]

    def whole(self) -> Expression:
        found = self.choice()
        if self.at < len(self.text):
            raise self.fault(
                f"{self.peek()!r} has no beginning", "Write a sign itself with a backslash before it."
            )
        return found

    def choice(self) -> Expression:
        parts = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else Alternatives(tuple(parts))

    def sequence(self) -> Expression:
        parts: list[Expression] = []
        while self.peek() and self.peek() not in "|)":
            parts.append(self.repeated(self.one()))
        return parts[0] if len(parts) == 1 else InOrder(tuple(parts))

    def repeated(self, part: Expression) -> Expression:
        while self.peek() and self.peek() in "*+?{":
            least, most = self.times()
            part = Repetition(part, least, most)
            if self.peek() == "?":  # as few as possible: the same texts
                self.at += 1
        return part

    def times(self) -> tuple[int, int | None]:
        sign = self.take()
        if sign != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]  # type: ignore[return-value]
        end = self.text.find("}", self.at)
        inside = self.text[self.at : end].split(",") if end > 0 else []
        if not 1 <= len(inside) <= 2 or not all(one.strip().isdecimal() or not one.strip() for one in inside):
            raise self.fault(
                "{ begins a number of repetitions, as in {2}, {2,} or {2,5}", r"Write \{ for the sign itself."
            )
        least = int(inside[0] or 0)
        most = least if len(inside) == 1 else int(inside[1]) if inside[1].strip() else None
        self.at = end + 1
        if max(least, most or 0) > MOST or (most is not None and most < least):
            raise self.fault(f"the repetitions {least} to {most} are not possible; at most {MOST}")
        return least, most

    def one(self) -> Expression:
        sign = self.take()
        if sign == "(":
            return self.group()
        if sign == "[":
            return self.set()
        if sign == ".":
            return ANY
        if sign == "\\":
            return self.escaped()
        if sign in "*+?{":
            raise self.fault(f"{sign!r} repeats nothing", rf"Write \{sign} for the sign itself.")
        if sign in "^$":
            raise self.fault(
                f"{sign!r} is not needed: an expression describes the whole output",
                rf"Leave it out; write .* where anything may stand, or \{sign} for the sign itself.",
            )
        return CharacterSet(((sign, sign),))

    def group(self) -> Expression:
        if self.peek() == "?":
            if self.text[self.at : self.at + 2] != "?:":
                raise self.fault(
                    "of groups with (? there is only (?:…)", "Look-around and names are not possible."
                )
            self.at += 2
        found = self.choice()
        if self.peek() != ")":
            raise self.fault("a ( is not closed", r"Write \( for the sign itself.")
        self.at += 1
        return found

    def escaped(self) -> CharacterSet:
        sign = self.take()
        if sign.lower() in KINDS:
            return CharacterSet(kinds=sign)
        if sign in "xuU":
            size = {"x": 2, "u": 4, "U": 8}[sign]
            digits = self.text[self.at : self.at + size]
            try:
                found = chr(int(digits, 16))
            except (ValueError, OverflowError):
                raise self.fault(f"\\{sign} needs {size} hexadecimal digits") from None
            self.at += size
            return CharacterSet(((found, found),))
        if sign in CONTROL:
            return CharacterSet(((CONTROL[sign], CONTROL[sign]),))
        if sign.isalnum():
            raise self.fault(
                f"\\{sign} is not possible here", "References back and boundaries are not possible."
            )
        return CharacterSet(((sign, sign),))

    def set(self) -> CharacterSet:
        negated = self.peek() == "^"
        self.at += negated
        ranges: list[tuple[str, str]] = []
        kinds, first = "", True
        while first or self.peek() != "]":
            first = False
            one = self._in_set()
            if one.kinds:
                kinds += one.kinds
                continue
            low = high = one.ranges[0][0]
            if self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                other = self._in_set()
                if other.kinds or other.ranges[0][0] < low:
                    raise self.fault(f"the range from {low!r} is not possible")
                high = other.ranges[0][0]
            ranges.append((low, high))
        self.at += 1
        return CharacterSet(tuple(ranges), kinds, negated)

    def _in_set(self) -> CharacterSet:
        if not self.peek():
            raise self.fault("a [ is not closed", r"Write \[ for the sign itself.")
        sign = self.take()
        return self.escaped() if sign == "\\" else CharacterSet(((sign, sign),))


def read_expression(text: str, where: str) -> Expression:
    """A regular expression as a tree."""
    return ExpressionReader(text, where).whole()
