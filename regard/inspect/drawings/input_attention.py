"""Attention to an input that is not a text: the base class of its drawings.

Each of T output pieces has weights over the S positions of the input: the cells of a grid over an image, row by row, or
spans of time. With T = 0, there is only the input to show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from regard.inspect.attention_rows import attention_rows
from regard.inspect.drawings.drawing import TracedDrawing, View
from regard.inspect.handles import WeightHandle
from regard.inspect.titles import answer
from regard.inspect.writing import linked
from regard.trace import Array, Trace

END = "</s>"


@dataclass(frozen=True, eq=False, kw_only=True)
class InputAttention(TracedDrawing):
    """The attention to an input that is not a text.

    words (T), weights (T, S); truth (T, S), above zero where the word should attend; probabilities (T,).

    outlined   the meaning of the true cells
    small      draw it small, as one of many
    over       the input, in a live figure
    pieces     whether the words are pieces of the output
    """

    field: ClassVar[str] = "seen"
    gap: ClassVar[float] = 16.0

    words: tuple[str, ...]
    weights: Array
    truth: Array | None = None
    probabilities: Array | None = None
    title: str = ""
    outlined: str = "true region"
    small: bool = False
    over: str = ""
    pieces: bool = False

    def handle(self, word: int, position: int) -> WeightHandle | None:
        """What a cell stands for in a live figure."""
        value = float(np.nan_to_num(self.weights[word, position]))
        return WeightHandle(self.over, word, position, value) if self.over else None

    def share(self, word: int) -> Array:
        """(S,) between 0 and 1: the weights of this word, relative to its largest."""
        weights = np.clip(np.nan_to_num(self.weights[word]), 0.0, None)
        return np.asarray(weights / max(float(weights.max(initial=0.0)), 1e-12))

    def true(self, word: int) -> NDArray[np.bool_]:
        """(S,) where the word should attend; all False if unknown."""
        if self.truth is None:
            return np.zeros(self.weights.shape[1], dtype=bool)
        return np.asarray(self.truth[word] > 0)

    def hits(self, word: int) -> bool | None:
        """Whether the most attended position is a true one; None if none is known."""
        true = self.true(word)
        return bool(true[self.best(word)]) if true.any() else None

    def best(self, word: int) -> int:
        """The most attended position; the first in case of a tie."""
        return int(np.nan_to_num(self.weights[word]).argmax())

    @property
    def known(self) -> bool:
        return self.truth is not None and bool((self.truth > 0).any())

    @classmethod
    def replaces(cls, trace: Trace, name: str) -> Sequence[str]:
        return ("attention", "structures")

    def shows_output(self, trace: Trace) -> bool:
        return bool(self.words)

    @classmethod
    def panel_titles(cls, panels: Sequence[tuple[str, Trace]], name: str) -> list[str]:
        """The output stands beside the input, except for glimpses."""
        return [
            linked([named, answer(trace)], "→") if name in trace.glimpses else named
            for named, trace in panels
        ]

    @staticmethod
    def weighted(trace: Trace, name: str, view: View) -> dict[str, Any]:
        """The words and their weights, the end of a text left out; empty if the input was not attended to."""
        if name not in trace.attention:
            nothing = np.zeros((0, len(trace.input[name])))
            return {"words": (), "weights": nothing, "small": view.small, "title": view.title}
        rows = attention_rows(trace, name)
        kept = len(rows.names) - (trace.kind == "text" and list(rows.names[-1:]) == [END])
        return {
            "words": rows.names[:kept],
            "weights": rows.weights[:kept],
            "truth": None if rows.truth is None else rows.truth[:kept],
            "probabilities": None if rows.probabilities is None else rows.probabilities[:kept],
            "small": view.small,
            "title": view.title,
            "outlined": rows.outlined,
            "over": name,
            "pieces": name not in trace.glimpses,
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class TimedAttention(InputAttention):
    """Weights over S consecutive spans of time, which divide the duration evenly."""

    @property
    def bounds(self) -> Array:
        """(S + 1,) the boundaries of the spans, from 0 to 1."""
        return np.linspace(0.0, 1.0, self.weights.shape[1] + 1)

    @property
    def limit(self) -> float:
        """The largest weight of all words, which has the full shade; rounded up to two digits for the legend."""
        largest = float(np.nan_to_num(self.weights).max(initial=0.0))
        return min(1.0, float(np.ceil(100 * largest - 1e-9) / 100)) or 1.0

    def shade(self, word: int, position: int) -> float:
        """Between 0 and 1: the weight as a share of the limit."""
        value = float(self.weights[word, position])
        return 0.0 if np.isnan(value) else min(1.0, max(0.0, value / self.limit))

    def true_spans(self, word: int) -> Iterator[tuple[float, float]]:
        """Begin and end of each run of true positions, as fractions of the duration."""
        inside = np.concatenate([[0], self.true(word).astype(int), [0]])
        turns = np.flatnonzero(np.diff(inside))
        for first, last in zip(turns[::2], turns[1::2], strict=True):
            yield float(self.bounds[first]), float(self.bounds[last])

    def when(self, position: int) -> str:
        """The time of a position, in words."""
        raise NotImplementedError

    def frames_at(self, position: int, count: int, first: int) -> str:
        """The frames of a position, of `count` that are counted from `first`."""
        begin, end = (
            round(float(self.bounds[position]) * count),
            round(float(self.bounds[position + 1]) * count),
        )
        return (
            f"frame {begin + first}" if end - 1 <= begin else f"frames {begin + first} to {end + first - 1}"
        )
