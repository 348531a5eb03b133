"""A ranked list of texts, in character cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.text import Text

from regard.inspect.drawings.drawing import Drawing
from regard.inspect.terminal.ink import Ink
from regard.inspect.writing import shorten_words, signed, visible
from regard.parts import register


@register("drawing", "ranking")
@dataclass(frozen=True)
class Ranking(Drawing):
    """Texts with a score and a share (0 to 1) each, best first; `chosen` is the index of the selected one."""

    texts: tuple[str, ...]
    scores: tuple[float, ...]
    shares: tuple[float, ...]
    chosen: int | None = 0
    title: str = ""
    score_name: str = "score"
    notes: tuple[str, ...] = field(default=())

    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        return _lines(self, width, ink)


def _lines(ranking: Ranking, width: int, ink: Ink) -> Iterator[Text]:
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
