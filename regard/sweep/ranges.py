"""What a sweep varies: ranges of numbers and lists of choices, as they are written in `--vary` and in a spec.

encoder.size=64..512            integers
encoder.size=64..512:64         every 64th
training.lr=1e-4..1e-2:log      numbers on a logarithmic scale
decoder.dropout=0..0.5:0.1      numbers in steps
encoder.cell=gru,lstm           choices
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.errors import Message, Option, RegardError, Setting, Words
from regard.errors.remedies import flow
from regard.spec.document import parse, plain

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
RANGE = re.compile(rf"\s*({NUMBER})\s*(?<!\.)\.\.(?!\.)\s*({NUMBER})((?::[^:]*)*)\s*")
LOOKS_LIKE_RANGE = re.compile(r"\s*(?:[-+]?\.?\d[^,/]*\.\.[^,/]*|[-+]?\w+\.\.\w[^,/]*)")
MOST_POINTS = 1000
"""Maximum number of values of one range in a grid."""
Vary = Mapping[str, Any]
"""{key path: a range or choices as text, a list of choices}"""


@dataclass(frozen=True)
class NumberRange:
    """Numbers from low to high, both included.

    step      distance of two values; None: any number (any integer, if whole)
    log       whether numbers are drawn on a logarithmic scale
    whole     whether they are integers
    """

    low: float
    high: float
    step: float | None = None
    log: bool = False
    whole: bool = False

    def distribution(self) -> BaseDistribution:
        """The range as Optuna draws from it."""
        from optuna.distributions import FloatDistribution, IntDistribution

        if self.whole:
            return IntDistribution(int(self.low), int(self.high), log=self.log, step=int(self.step or 1))
        return FloatDistribution(self.low, self.high, log=self.log, step=self.step)

    def value(self, drawn: Any) -> Any:
        """A drawn number as the spec holds it."""
        if self.whole:
            return int(drawn)
        # 0.30000000000000004 is no better than 0.3, and nobody types it; the command of a trial is typed.
        return float(f"{drawn:.6g}")

    def ends(self) -> list[Any]:
        """The values that must be valid before a sweep starts."""
        return [self.value(self.low), self.value(self.high)]

    def points(self) -> list[Any] | None:
        """All values, if there are few enough to list; None if not."""
        step = self.step or (1 if self.whole and not self.log else None)
        if step is None:
            return None
        count = math.floor((self.high - self.low) / step + 1e-9) + 1
        return None if count > MOST_POINTS else [self.value(self.low + i * step) for i in range(count)]

    def text(self) -> str:
        """As it is typed."""
        ends = "..".join(f"{int(one)}" if self.whole else f"{one:g}" for one in (self.low, self.high))
        return ends + (":log" if self.log else "") + (f":{self.step:g}" if self.step else "")


@dataclass(frozen=True)
class Choices:
    """Some values without an order; each is drawn by its text."""

    values: tuple[Any, ...]

    def distribution(self) -> BaseDistribution:
        """The choices as Optuna draws from them."""
        from optuna.distributions import CategoricalDistribution

        return CategoricalDistribution([flow(one) for one in self.values])

    def value(self, drawn: Any) -> Any:
        """The value of a drawn text."""
        return self.values[[flow(one) for one in self.values].index(drawn)]

    def ends(self) -> list[Any]:
        """The values that must be valid before a sweep starts: all."""
        return list(self.values)

    def points(self) -> list[Any]:
        """All values."""
        return list(self.values)

    def text(self) -> str:
        """As it is typed."""
        return ",".join(flow(one) for one in self.values)


Range = NumberRange | Choices


def typed_ranges(typed: Sequence[str]) -> dict[str, Range]:
    """The ranges of `--vary` options, by their key paths."""
    found: dict[str, Range] = {}
    for one in typed:
        path, equals, text = one.partition("=")
        path = path.strip()
        if not equals or not all(path.split(".")):
            raise RegardError(
                f"expected key.path=RANGE, received {one!r}.",
                where=Option("vary"),
                fix="For example  --vary encoder.size=64..512",
            )
        if path in found:
            raise RegardError(
                f"{path} is varied twice.", where=Option("vary", one), fix="Remove one of the two."
            )
        found[path] = read_range(path, text, Option("vary", one))
    return found


def given_ranges(vary: Vary, where: str = "vary") -> dict[str, Range]:
    """The ranges of a mapping: of the key `sweep.vary` of a spec, or of an argument in Python."""
    return {
        path: one if isinstance(one, NumberRange | Choices) else read_range(path, one, f"{where}: {path}")
        for path, one in vary.items()
    }


def read_range(path: str, given: Any, where: Words) -> Range:
    """A range, from its text or a list of choices."""
    if isinstance(given, list | tuple):
        return _choices(path, [plain(one, path) for one in given], where)
    if not isinstance(given, str):
        raise RegardError(
            f"expected a range or choices, received {given!r}.", where=where, fix=_examples(path, given)
        )
    if found := RANGE.fullmatch(given):
        return _numbers(found[1], found[2], found[3], where)
    if LOOKS_LIKE_RANGE.fullmatch(given):
        raise RegardError(
            f"{given.strip()!r} is no range of numbers.",
            where=where,
            fix="Write LOW..HIGH, LOW..HIGH:STEP or LOW..HIGH:log, for example 64..512 or 1e-4..1e-2:log.",
        )
    try:
        values = parse(f"value: [{given}]", "").data["value"]
    except RegardError as error:
        raise RegardError(error.what, where=where, fix="Separate choices by commas: gru,lstm") from None
    return _choices(path, values, where)


def _choices(path: str, values: Sequence[Any], where: Words) -> Choices:
    texts = [flow(one) for one in values]
    if len(values) < 2:
        raise RegardError(
            f"there is nothing to vary: {len(values)} value{'' if len(values) == 1 else 's'}.",
            where=where,
            fix=_examples(path, values[0] if values else None),
        )
    twice = next((one for one in texts if texts.count(one) > 1), None)
    if twice is not None:
        raise RegardError(f"{twice} is given twice.", where=where, fix="Remove one of the two.")
    return Choices(tuple(values))


def _examples(path: str, value: Any) -> Words:
    fixed = () if value is None else (". To set one value: ", Setting(path, value))
    return Message("Write a range, 64..512 or 1e-4..1e-2:log, or choices, gru,lstm", *fixed)


def _numbers(low: str, high: str, ending: str, where: Words) -> NumberRange:
    wanted = [one.strip() for one in ending.split(":")[1:]]
    log, steps = "log" in wanted, [one for one in wanted if one != "log"]
    if len(steps) > 1 or (steps and not re.fullmatch(NUMBER, steps[0])):
        raise RegardError(
            f"{':'.join(steps)!r} after a range is neither log nor a step.",
            where=where,
            fix="Write LOW..HIGH:log, or LOW..HIGH:STEP with a number as step.",
        )
    if steps and log:
        raise RegardError(
            "a range on a logarithmic scale has no step.", where=where, fix="Remove one of the two."
        )
    whole = all(re.fullmatch(r"[-+]?\d+", one) for one in (low, high, *steps))
    first, last, step = float(low), float(high), float(steps[0]) if steps else None
    if not math.isfinite(first) or not math.isfinite(last):
        raise RegardError(
            f"a range ends at a finite number, received {low}..{high}.",
            where=where,
            fix="Write smaller numbers.",
        )
    if first >= last:
        raise RegardError(
            f"a range goes from a smaller to a larger number, received {low}..{high}.",
            where=where,
            fix=f"Write {high}..{low}" if first > last else "Write two different numbers.",
        )
    if log and first <= 0:
        raise RegardError(
            f"a logarithmic scale has no {low}.", where=where, fix="Start above 0, or leave out :log."
        )
    if step is not None and not 0 < step <= last - first:
        raise RegardError(
            f"the step {steps[0]} does not fit between {low} and {high}.",
            where=where,
            fix="Choose a smaller one." if step > 0 else "Write a step above 0.",
        )
    return NumberRange(first, last, step, log, whole)
