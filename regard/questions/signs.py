"""Signs of a strange answer: numbers of one answer, each compared with the same number of the other rows.

A sign is a number of an answer. A larger one is stranger; None means that the sign does not apply. Each number is
compared with those of the same data set (`regard.questions.strangeness`). To look for something else, pass a sign
of your own.

A reason outlives the trace that it was made from, so that a large data set fits in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from regard.trace import Trace
from regard.trace.prediction import Prediction

Table = NDArray[np.floating[Any]]
END = "</s>"
FAINT = 0.05
"""A position whose weight never reaches this was not read."""
NO_CHANCE = 50.0
"""−log p of an answer that has no probability at all."""


@dataclass(frozen=True)
class Reason:
    """The number of a sign, and the words for it, given the usual number.

    counts   False: it helps to tell what is usual, and is not strange itself
    """

    value: float
    reason: Callable[[float], str]
    counts: bool = True


@dataclass(frozen=True)
class Answered:
    """An answer, with what is known about its row.

    prediction   the answer; its trace while the sign reads it
    references   the true answers as texts; empty if they are not known
    right        whether the answer is one of them; None if they are not known
    """

    prediction: Prediction
    references: tuple[str, ...] = ()
    right: bool | None = None

    @property
    def trace(self) -> Trace:
        assert self.prediction.trace is not None
        return self.prediction.trace

    @property
    def pieces(self) -> list[str]:
        """The output pieces, without the end of the text."""
        return [piece for piece in self.trace.output if piece != END]


class Sign:
    """One number of an answer.

    name    a short name
    least   the smallest difference from what is usual that counts
    both    whether an unusually small number is strange too
    """

    name: ClassVar[str] = ""
    least: ClassVar[float] = 0.0
    both: ClassVar[bool] = False

    def of(self, answered: Answered) -> Reason | None:
        """The number of this answer; None where it has no meaning."""
        return None

    def among(self, rows: Sequence[Answered]) -> Sequence[Reason | None]:
        """The number of each answer that only the others give; their traces are gone. Empty: this sign needs none."""
        return []


def looks(trace: Trace) -> list[Table]:
    """The attention (T, S) over each input with more than one position."""
    return [np.asarray(one, dtype=np.float64) for one in trace.attention.values() if one.shape[1] > 1]


class Scattered(Sign):
    """Entropy of the attention, as a share of that of uniform attention: the mean over steps and inputs."""

    name, least = "scattered", 0.1

    def of(self, answered: Answered) -> Reason | None:
        found = [_entropy(table) for table in looks(answered.trace)]
        if not found:
            return None
        share = float(np.mean(found))
        return Reason(
            share,
            lambda usual: (
                f"the attention is spread over much of the input (entropy {share:.0%} of uniform; usual {usual:.0%})"
            ),
        )


def _entropy(table: Table) -> float:
    """Mean over the rows of H(row) / log S, each row scaled to sum 1; rows without weight are left out."""
    sums = table.sum(axis=1, keepdims=True)
    rows = table[sums[:, 0] > 0] / sums[sums[:, 0] > 0]
    if not len(rows):
        return 0.0
    logs = np.log(np.where(rows > 0, rows, 1.0))
    return float((-(rows * logs).sum(axis=1)).mean() / np.log(table.shape[1]))


class Unread(Sign):
    """The share of the input's positions that no step attends to."""

    name, least = "unread", 0.15

    def of(self, answered: Answered) -> Reason | None:
        found = [float((table.max(axis=0) < FAINT).mean()) for table in looks(answered.trace) if len(table)]
        if not found:
            return None
        share = max(found)
        return Reason(
            share, lambda usual: f"{share:.0%} of the input is never attended to (usual {usual:.0%})"
        )


class Reread(Sign):
    """The largest sum of weights that one position of the input gets from all steps of a text."""

    name, least = "reread", 1.0

    def of(self, answered: Answered) -> Reason | None:
        trace = answered.trace
        sums = {name: np.asarray(one).sum(axis=0) for name, one in trace.attention.items() if one.size}
        if trace.single or not sums:
            return None
        name = max(sums, key=lambda one: float(sums[one].max()))
        place, steps = int(sums[name].argmax()), float(sums[name].max())
        piece = "" if name in trace.seen else f", {trace.input[name][place]!r},"
        return Reason(
            steps,
            lambda usual: (
                f"position {place + 1} of {name}{piece} is attended to for {steps:.1f} steps "
                f"(usual {usual:.1f})"
            ),
        )


class Repeated(Sign):
    """The share of a text's pairs of neighbors that it has written twice before; a right answer may."""

    name, least = "repeated", 0.1

    def of(self, answered: Answered) -> Reason | None:
        if answered.trace.kind != "text":
            return None
        pieces = answered.pieces
        pairs = Counter(pairwise(pieces))
        if not pairs:
            return Reason(0.0, lambda usual: "")
        ((one, other), count), *_ = pairs.most_common(1)
        return Reason(
            sum(max(0, times - 2) for times in pairs.values()) / pairs.total(),
            lambda usual: f"the output repeats itself: {one!r} {other!r} {count} times",
            counts=not answered.right,
        )


class Unlikely(Sign):
    """−log p of the answer, per piece."""

    name, least = "unlikely", 0.1

    def of(self, answered: Answered) -> Reason | None:
        score, kind, single = answered.prediction.score, answered.trace.kind, answered.trace.single
        value = -score / max(1, len(answered.trace.output)) if np.isfinite(score) else NO_CHANCE

        def reason(usual: float) -> str:
            if kind == "number":
                return (
                    f"the model finds its own answer unlikely (log density {-value:.2f}; usual {-usual:.2f})"
                )
            per = "" if single else " per piece"
            share, often = np.exp(-value), np.exp(-usual)
            return f"the model finds its own answer unlikely (p = {share:.2g}{per}; usual {often:.2g})"

        return Reason(value, reason)


class WrongLook(Sign):
    """The share of steps whose most attended position is not a true one; for trees, of wrong heads."""

    name, least = "wrong look", 0.1

    def of(self, answered: Answered) -> Reason | None:
        trace = answered.trace
        # the truth of a text belongs to the words of the true text
        known = {} if trace.kind == "text" and not answered.right else trace.truth
        found = [
            wrong
            for name, table in trace.attention.items()
            if name in known and name not in trace.overridden
            if (wrong := _wrong(np.asarray(table), np.asarray(known[name]))) is not None
        ]
        found += [wrong for one in trace.structures.values() if (wrong := _wrong_looks(one)) is not None]
        if not found:
            return None
        share = max(found)
        return Reason(
            share, lambda usual: f"{share:.0%} of the looks are at the wrong place (usual {usual:.0%})"
        )


def _wrong(table: Table, truth: Table) -> float | None:
    """The share of the steps with a known truth that look elsewhere."""
    steps = min(len(table), len(truth))
    known = [step for step in range(steps) if (truth[step] > 0).any() and table[step].size]
    if not known:
        return None
    return float(np.mean([not truth[step][int(table[step].argmax())] > 0 for step in known]))


def _wrong_looks(structure: Any) -> float | None:
    """The share of wrong heads of a tree, or of true positions that a sequence of looks leaves out."""
    true = getattr(structure, "true_heads", None)
    if true is not None:
        known = true >= 0
        return float((structure.heads[known] != true[known]).mean()) if known.any() else None
    if structure.looks is None or not structure.looks[1]:
        return None
    weights, places = structure.looks
    read = {int(row.argmax()) for row in weights}
    return len(places - read) / len(places)


class UnusualLength(Sign):
    """The logarithm of the length of a text over that of its nearest reference, or of the longest input."""

    name, least, both = "length", 0.4, True

    def of(self, answered: Answered) -> Reason | None:
        if answered.trace.kind != "text":
            return None
        return self._of_true(answered) if answered.references else self._of_read(answered)

    def _of_true(self, answered: Answered) -> Reason:
        written = len(answered.prediction.text) + 1
        ratios = [float(np.log(written / (len(text) + 1))) for text in answered.references]
        value = min(ratios, key=abs)
        count = len(answered.pieces)

        def reason(usual: float) -> str:
            what = "longer" if value > usual else "shorter"
            return f"the output is much {what} than the true one: {count} pieces"

        return Reason(value, reason)

    def _of_read(self, answered: Answered) -> Reason:
        trace, written = answered.trace, len(answered.pieces)
        read = max((len(pieces) for name, pieces in trace.input.items() if name not in trace.seen), default=0)
        value = float(np.log((written + 1) / (read + 1)))

        def reason(usual: float) -> str:
            expected = max(0, round((read + 1) * float(np.exp(usual)) - 1))
            what = "longer" if value > usual else "shorter"
            return f"the output is much {what} than usual: {written} pieces, where {expected} are usual"

        return Reason(value, reason)


class Common(Sign):
    """How many more rows have this answer than have it as a reference; for outputs that are no labels or numbers."""

    name, least = "common", 3.0

    def among(self, rows: Sequence[Answered]) -> Sequence[Reason | None]:
        if any(
            row.prediction.probabilities or not isinstance(row.prediction.value, str | list) for row in rows
        ):
            return []
        true = Counter(text for row in rows for text in set(row.references))
        given = Counter(row.prediction.text for row in rows)
        return [self._found(given[row.prediction.text] - max(1, true[row.prediction.text])) for row in rows]

    def _found(self, others: int) -> Reason:
        return Reason(
            float(max(0, others)), lambda usual: f"the same answer is given to {others} other inputs"
        )


class SurelyWrong(Sign):
    """The probability per piece of a wrong answer; 0 for a right one."""

    name, least = "surely wrong", 0.3

    def of(self, answered: Answered) -> Reason | None:
        if answered.right is None or answered.trace.kind == "number":
            return None
        count, single = max(1, len(answered.trace.output)), answered.trace.single
        share = 0.0 if answered.right else float(np.exp(min(0.0, answered.prediction.score) / count))
        return Reason(
            share, lambda usual: f"wrong, and sure of it (p = {share:.2g}{'' if single else ' per piece'})"
        )


class FarNumber(Sign):
    """The number that was answered."""

    name, both = "far", True

    def of(self, answered: Answered) -> Reason | None:
        value = answered.prediction.value
        if answered.trace.kind != "number" or not isinstance(value, int | float):
            return None
        return Reason(
            float(value),
            lambda usual: f"the number is far from the others: {value:.4g}, where {usual:.4g} is usual",
        )


SIGNS: tuple[Sign, ...] = (
    SurelyWrong(),
    Unlikely(),
    WrongLook(),
    Repeated(),
    UnusualLength(),
    Common(),
    FarNumber(),
    Scattered(),
    Unread(),
    Reread(),
)
"""All signs of a strange answer that are looked for."""
