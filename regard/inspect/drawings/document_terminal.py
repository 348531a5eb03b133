"""A document in character cells: number and weight of each sentence, and its shaded words.

3 .97 We thought the  thriller  was  superb .
  ⋯ 4 sentences, .02 in all
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from regard.inspect.terminal.ink import Ink, fit, in_lines
from regard.inspect.writing import shorten, shorten_words, visible

if TYPE_CHECKING:
    from regard.inspect.drawings.document import DocumentWords

FAINT = 0.1
MOST_LINES = 12


def draw_document(shown: DocumentWords, width: int, ink: Ink) -> Iterator[Text]:
    """The document in lines of at most `width` cells; without color, each word is followed by its weight in tenths."""
    if shown.title:
        yield Text(shorten_words(shown.title, width), style=ink.style("ink", bold=True))
    digits = len(str(len(shown.words.counts)))
    left = digits + (6 if shown.words.sentences is not None else 1)
    left = left if width >= left + 12 else 0
    for one in shown.folded:
        if not isinstance(one, int):
            yield Text(shorten(" " * left + f"⋯ {one.told}", width), style=ink.style("muted"))
        else:
            yield from _sentence(shown, one, (digits, left, width), ink)


def _sentence(shown: DocumentWords, sentence: int, rooms: tuple[int, int, int], ink: Ink) -> Iterator[Text]:
    digits, left, width = rooms
    line = _margin(shown, sentence, digits, ink) if left else Text()
    line.no_wrap, line.overflow = True, "crop"
    low, high = shown.words.bounds[sentence]
    count = 1
    for place in range(low, high):
        label, share = visible(shown.word(place)), shown.share(place)
        if not ink.color and (share >= FAINT or shown.decides(place)):
            label += f"[{min(9, int(10 * share))}{'!' if shown.decides(place) else ''}]"
        label = shorten(label, max(1, width - left))
        apart = "" if shown.joined(place) or line.cell_len <= left else " "
        if line.cell_len > left and line.cell_len + len(apart) + cell_len(label) > width:
            yield line
            if count == MOST_LINES:
                yield Text(" " * left + "…", style=ink.style("muted"))
                return
            line, apart, count = Text(" " * left, no_wrap=True, overflow="crop"), "", count + 1
        line.append(apart)
        style = ink.on(share, bold=shown.decides(place)) if share >= FAINT and ink.color else ink.style("ink")
        line.append(label, style=style)
    yield line


def _margin(shown: DocumentWords, sentence: int, digits: int, ink: Ink) -> Text:
    line = Text()
    line.append(fit(str(sentence + 1), digits, "right"), style=ink.style("muted"))
    line.append(" ")
    if shown.words.sentences is not None:
        weight = float(shown.words.sentences[sentence])
        sign = "▸" if shown.is_true(sentence) else " "
        number = "1.0" if weight >= 0.995 else f"{weight:.2f}".removeprefix("0") if weight >= 0.005 else ""
        line.append(fit(number, 3, "right"), style=ink.on(min(1.0, weight)))
        line.append(sign, style=ink.style("truth", bold=True))
        line.append(" ")
    return line


def document_notes(shown: Sequence[DocumentWords], width: int, ink: Ink) -> Iterator[Text]:
    """The legend."""
    told = []
    if not ink.color and any(one.words.weights is not None for one in shown):
        told += ["[1] … [9] weight in tenths"]
    if any(one.words.truth is not None for one in shown):
        told += ["▸ sentence with evidence", *([] if ink.color else ["[9!] evidence"])]
    yield from in_lines([Text(one, style=ink.style("muted")) for one in told], width)
