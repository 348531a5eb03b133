"""Links between two lines of words, in character cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from rich.cells import cell_len
from rich.text import Text

from regard.inspect.drawings.drawing import Drawing
from regard.inspect.terminal.ink import Ink, fit
from regard.inspect.writing import shorten_words, visible
from regard.parts import register
from regard.trace import Array


@register("drawing", "links")
@dataclass(frozen=True, eq=False)
class Links(Drawing):
    """Two lines of words and the weight of the link between each pair: weights (T, S), targets by sources."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    weights: Array
    truth: Array | None = None
    threshold: float = 0.1
    title: str = ""

    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        return _lines(self, width, ink)


def _lines(links: Links, width: int, ink: Ink) -> Iterator[Text]:
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
