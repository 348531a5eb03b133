"""Shaded words, links between two lines of words, and ranked lists, in character cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from rich.cells import cell_len
from rich.text import Text

from regard.inspect.content import Lines, Links, Ranking, WeightedWords
from regard.inspect.terminal.ink import Ink, fit, in_lines
from regard.inspect.writing import shorten_words, signed, visible
from regard.reporting.terminal import printable

FAINT = 0.1


def draw_words(words: WeightedWords, width: int, ink: Ink) -> Iterator[Text]:
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


def word_notes(shown: Sequence[WeightedWords], width: int, ink: Ink) -> Iterator[Text]:
    """The legend of the numbers after words."""
    weighted = [words for words in shown if words.words and not words.bars]
    told = []
    for words in weighted if not ink.color else ():
        if _even(words):
            told.append(f"all weights are about {words.weights.mean():.2g}")
            continue
        largest = ", the largest" if float(words.weights.max()) >= words.limit else ""
        told.append(f"[1] … [9] weight in tenths of {words.limit:.3g}{largest}")
    yield from in_lines([Text(one, style=ink.style("muted")) for one in dict.fromkeys(told)], width)


def draw_links(links: Links, width: int, ink: Ink) -> Iterator[Text]:
    """For every target word, its linked source words, strongest first."""
    if links.title:
        yield Text(shorten_words(links.title, width), style=ink.style("ink", bold=True))
    label = min(max((cell_len(visible(word)) for word in links.targets), default=1), max(1, width // 3))
    for target, word in enumerate(links.targets):
        line = Text(fit(visible(word), label, "right"), no_wrap=True, overflow="crop")
        weights = links.weights[target]
        strong = [int(s) for s in np.argsort(-weights, kind="stable") if weights[s] >= links.threshold]
        for order, source in enumerate(strong):
            line.append(" ← " if order == 0 else ", ", style=ink.style("muted"))
            line.append(visible(links.sources[source]), style=ink.style("ink", bold=order == 0))
            line.append(f" {weights[source]:.2f}", style=ink.style("muted"))
        line.truncate(width, overflow="ellipsis")
        yield line


def draw_ranking(ranking: Ranking, width: int, ink: Ink) -> Iterator[Text]:
    """One line per text: its rank, its score, a bar for its share, and the text itself."""
    if ranking.title:
        yield Text(shorten_words(ranking.title, width), style=ink.style("ink", bold=True))
    bar = 10 if width >= 50 else 0
    for place, text in enumerate(ranking.texts):
        chosen = place == ranking.chosen
        line = Text(
            "▸ " if chosen else "  ", style=ink.style("accent", bold=True), no_wrap=True, overflow="crop"
        )
        line.append(f"{place + 1:>2}  {signed(ranking.scores[place], 3):>7}  ", style=ink.style("muted"))
        if bar:
            line.append(ink.bar(ranking.shares[place], bar))
            line.append("  ")
        line.append(visible(text), style=ink.style("ink", bold=chosen))
        line.truncate(width, overflow="ellipsis")
        yield line


def draw_lines(content: Lines, width: int, ink: Ink) -> Iterator[Text]:
    """The lines, wrapped if they are too long."""
    for number, (text, color) in enumerate(content.lines):
        style = ink.style(color, bold=number < content.bold)
        yield Text(printable(text), style=style, overflow="fold")
