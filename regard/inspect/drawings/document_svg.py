"""The marks of a document: sentences with their weights, words shaded by the product of both levels of attention.

For a long document, only the most attended and the decisive sentences are shown. The others are collapsed to lines that
state their total weight. A web page contains all of them, to be expanded.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from regard.inspect.handles import Handle, WeightHandle, WordHandle
from regard.inspect.layout import Block, color_scale
from regard.inspect.palette import Over, Shade
from regard.inspect.scene import Group, Mark, Rect, Text
from regard.inspect.writing import running_width, runs_right_to_left, visible
from regard.reporting.terminal import printable

if TYPE_CHECKING:
    from regard.inspect.drawings.document import DocumentWords

SIZE = 14.0
LINE = 25.0
NUMBER = 30.0
"""Width of the number of a sentence."""
CELL = 44.0
LEFT = NUMBER + CELL + 14.0
WIDTH = 560.0
"""Width of the words."""
MOST_LINES = 12
"""Maximum number of lines of a sentence."""
PAD = 4.0
BLANK = 4.4
"""Distance between two words."""


def draw_document(shown: DocumentWords) -> Block:
    """The sentences that are shown, with lines in place of the others."""
    marks: list[Mark] = [Text(0, 12, shown.title, size=13, bold=True)] if shown.title else []
    y = 24.0 if shown.title else 0.0
    rtl = runs_right_to_left(tuple(shown.words.words[:200]))
    rows: list[Mark] = []
    for one in shown.folded:
        if not isinstance(one, int):
            rows.append(Text(LEFT, y + 15, f"⋯ {one.told}", size=12, color="muted", italic=True))
            y += LINE
        else:
            group, high = _sentence(shown, one, y, rtl)
            rows.append(group)
            y += high + 5
    marks.append(Group(tuple(rows), kind="rows"))
    return Block((Group(tuple(marks), kind="document", content=shown),), LEFT + WIDTH, max(y - 5, 20.0))


def _sentence(shown: DocumentWords, sentence: int, y: float, rtl: bool) -> tuple[Group, float]:
    """The number and weight of a sentence, and its words in lines."""
    marks: list[Mark] = [Text(NUMBER - 8, y + 16, str(sentence + 1), size=11, anchor="end", color="muted")]
    lines = _lines(shown, sentence)
    high = len(lines) * LINE
    marks += _weight(shown, sentence, y)
    for number, line in enumerate(lines):
        marks += _line(shown, line, y + number * LINE, rtl)
    return Group(tuple(marks), kind="row", tags=(("sentence", str(sentence)),)), high


def _weight(shown: DocumentWords, sentence: int, y: float) -> list[Mark]:
    weights = shown.words.sentences
    if weights is None:
        return []
    weight = float(weights[sentence])
    shade = Shade(weight)
    written = f"{weight:.2f}".removeprefix("0") if weight >= 0.005 else ""
    marks: list[Mark] = [
        Rect(NUMBER, y, CELL, LINE - 3, fill=shade, radius=4, tip=f"sentence {sentence + 1}  {weight:.3f}",
             at=WeightHandle(shown.over, 0, sentence, weight) if shown.over else None),
        Text(NUMBER + CELL / 2, y + 15.5, written, size=12, anchor="middle", color=Over(shade)),
    ]  # fmt: skip
    if shown.is_true(sentence):
        marks.append(
            Rect(NUMBER + 0.75, y + 0.75, CELL - 1.5, LINE - 4.5, stroke="truth", stroke_width=2, radius=4)
        )
    return marks


Placed = tuple[int, float, float]
"""A word, its x coordinate in the line, and its width."""


def _lines(shown: DocumentWords, sentence: int) -> list[list[Placed]]:
    """The words of each line. A piece joined to the word before it, such as a comma, stays with it."""
    low, high = shown.words.bounds[sentence]
    lines: list[list[Placed]] = [[]]
    x = 0.0
    for place in range(low, high):
        shaded = place in shown.shaded
        size = running_width(visible(shown.word(place)), SIZE) + (2 * PAD if shaded else 0.0)
        beside = shaded and place - 1 in shown.shaded  # two boxes
        gap = 1.0 if shown.joined(place) else 2.0 if beside else BLANK
        gap = gap if lines[-1] else 0.0
        if lines[-1] and x + gap + size > WIDTH and not shown.joined(place):
            if len(lines) == MOST_LINES:
                lines[-1].append((-1, x + BLANK, 10.0))
                break
            lines.append([])
            x = gap = 0.0
        lines[-1].append((place, x + gap, size))
        x += gap + size
    return lines


def _line(shown: DocumentWords, line: Sequence[Placed], y: float, rtl: bool) -> list[Mark]:
    """Shaded words in boxes; all words between two boxes as one text, so that their blanks are those of the font."""
    marks: list[Mark] = []
    runs: list[list[Placed]] = [[]]
    for place, x, size in line:
        if place < 0 or place not in shown.shaded:
            runs[-1].append((place, x, size))
            continue
        runs.append([])
        marks += _boxed(shown, place, LEFT + (WIDTH - x - size if rtl else x), size, y)
    for run in filter(None, runs):
        text = ""
        for place, _, _ in run:
            blank = "" if not text or (place >= 0 and shown.joined(place)) else " "
            text += blank + ("…" if place < 0 else visible(shown.word(place)))
        start, end = run[0][1], run[-1][1] + run[-1][2]
        left = LEFT + (WIDTH - end if rtl else start)
        # The text fills the room that was estimated for it, in any font.
        marks.append(Text(left, y + 16, text, size=SIZE, fills=round(end - start, 2)))
    return marks


def _boxed(shown: DocumentWords, place: int, left: float, size: float, y: float) -> list[Mark]:
    """A shaded word, outlined if it decides the answer."""
    shade = Shade(shown.share(place))
    word, weight = visible(shown.word(place)), shown.weight(place)
    tip, tags = f"{word}  {weight:.3f}", (("value", f"{weight:.4g}"),)
    marks: list[Mark] = [
        Rect(left, y, size, LINE - 3, fill=shade, radius=4, tip=tip, tags=tags, at=_handle(shown, place))
    ]
    if shown.decides(place):
        inside = (left + 0.75, y + 0.75, size - 1.5, LINE - 4.5)
        marks.append(Rect(*inside, stroke="truth", stroke_width=1.75, radius=4))
    fills = round(size - 2 * PAD, 2)
    marks.append(Text(left + PAD, y + 16, word, size=SIZE, color=Over(shade), fills=fills))
    return marks


def _handle(shown: DocumentWords, place: int) -> Handle | None:
    """What a word stands for: a position, if words are attended to directly."""
    if not shown.over:
        return None
    if shown.words.sentences is None:
        return WeightHandle(shown.over, 0, place, shown.weight(place))
    return WordHandle(shown.over, place)


def document_legend(shown: Sequence[DocumentWords]) -> Block:
    """The scale of the shades, and the meaning of outlines."""
    truth = any(one.words.truth is not None for one in shown)
    both = any(one.words.weights is not None for one in shown)
    name = "weight of a sentence; of a word, relative to the largest" if both else "weight of a sentence"
    return color_scale(name=name, truth=truth, outlined="true evidence")


def document_html(shown: DocumentWords) -> str:
    """The whole document as HTML; sentences that a figure collapses can be expanded."""
    parts = []
    for one in shown.folded:
        if not isinstance(one, int):
            inside = "".join(_paragraph(shown, sentence) for sentence in range(one.first, one.last + 1))
            parts.append(f"<details><summary>{escape(one.told)}</summary>{inside}</details>")
        else:
            parts.append(_paragraph(shown, one))
    rtl = runs_right_to_left(tuple(shown.words.words[:200]))
    return f'<div class="document" dir="{"rtl" if rtl else "ltr"}">{"".join(parts)}</div>'


def _paragraph(shown: DocumentWords, sentence: int) -> str:
    low, high = shown.words.bounds[sentence]
    words = []
    for place in range(low, high):
        text = escape(printable(visible(shown.word(place))))
        share = shown.share(place)
        if place in shown.shaded:
            kind = ' class="decides"' if shown.decides(place) else ""
            text = f'<mark{kind} style="--w:{share:.2f}" title="{shown.weight(place):.3f}">{text}</mark>'
        words.append(text if shown.joined(place) or place == low else f" {text}")
    weight = ""
    if shown.words.sentences is not None:
        number = float(shown.words.sentences[sentence])
        weight = f'<b style="--w:{number:.2f}">{number:.2f}</b>'
    return f"<p><i>{sentence + 1}</i>{weight}<span>{''.join(words)}</span></p>"
