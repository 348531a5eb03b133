"""Words shaded by their weights, each with a note, in character cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from rich.cells import cell_len
from rich.text import Text

from regard.inspect.drawings.drawing import Drawing
from regard.inspect.handles import Handle
from regard.inspect.layout import IDLE
from regard.inspect.terminal.ink import Ink, fit, in_lines
from regard.inspect.writing import shorten_words, visible
from regard.parts import register
from regard.trace import Array

FAINT = 0.1


@register("drawing", "words")
@dataclass(frozen=True, eq=False)
class WeightedWords(Drawing):
    """Text whose words have weights, and optionally a note each (a tag, a probability).

    bars   show the weight as a bar below the word, not as a shade: for probabilities, most of which are large, so that
           high ones do not stand out
    handles  what each word stands for in a live figure; or none
    idle     (S,) or None: words whose weight is without effect, which get a sign (`Trace.idle`)
    """

    rank: ClassVar[int] = 30

    words: tuple[str, ...]
    weights: Array  # (S,)
    limit: float = 1.0
    notes: tuple[str, ...] = ()
    title: str = ""
    bars: bool = False
    handles: tuple[Handle | None, ...] = ()
    idle: Array | None = None

    def is_idle(self, place: int) -> bool:
        """Whether the weight of a word is without effect."""
        return self.idle is not None and bool(self.idle[place])

    def share(self, place: int) -> float:
        value = float(self.weights[place])
        return 0.0 if np.isnan(value) or self.limit <= 0 else min(1.0, max(0.0, value / self.limit))

    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        return _lines(self, width, ink)

    @classmethod
    def terminal_legend(cls, shown: Sequence[WeightedWords], width: int, ink: Ink) -> Iterator[Text]:
        return _legend(shown, width, ink)


def _lines(words: WeightedWords, width: int, ink: Ink) -> Iterator[Text]:
    """Running text with words shaded by their weights; without color, each is followed by its share of the largest
    weight in tenths, unless all weights are about equal.

    Notes are below their words.
    """
    if words.title:
        yield Text(shorten_words(words.title, width), style=ink.style("ink", bold=True))
    line, under = Text(no_wrap=True, overflow="crop"), Text(no_wrap=True, overflow="crop")
    tenths = not (ink.color or words.bars or _even(words))
    for place, word in enumerate(words.words):
        share = words.share(place)
        label = visible(word)
        if tenths and share >= FAINT:
            label += f"[{min(9, int(10 * share))}]"
        label += "×" if words.is_idle(place) else ""
        note = words.notes[place] if words.notes else ""
        size = min(width, max(cell_len(label), cell_len(note)) + (2 if ink.color and not words.bars else 0))
        if line and line.cell_len + 1 + size > width:
            yield from _pair(line, under, bool(words.notes))
            if words.notes:
                yield Text()
            line, under = Text(no_wrap=True, overflow="crop"), Text(no_wrap=True, overflow="crop")
        if line:
            line.append(" ")
            under.append(" ")
        align = "center" if ink.color else "left"
        ground = ink.style("ink", bold=True) if words.bars else ink.on(share)
        line.append(fit(label, size, align), style=ground)
        under.append(fit(note, size, align), style=ink.style("muted"))
    yield from _pair(line, under, bool(words.notes))


def _pair(line: Text, under: Text, notes: bool) -> Iterator[Text]:
    yield line
    if notes:
        yield under


def _even(words: WeightedWords) -> bool:
    """Whether all weights would be written as nine tenths."""
    return all(words.share(place) >= 0.9 for place in range(len(words.words)))


def _legend(shown: Sequence[WeightedWords], width: int, ink: Ink) -> Iterator[Text]:
    """The legend of the numbers after words."""
    weighted = [words for words in shown if words.words and not words.bars]
    told = []
    for words in weighted if not ink.color else ():
        if _even(words):
            told.append(f"all weights are about {words.weights.mean():.2g}")
            continue
        largest = ", the largest" if float(words.weights.max()) >= words.limit else ""
        told.append(f"[1] … [9] weight in tenths of {words.limit:.3g}{largest}")
    if any(words.idle is not None for words in weighted):
        told.append(f"× {IDLE}")
    yield from in_lines([Text(one, style=ink.style("muted")) for one in dict.fromkeys(told)], width)
