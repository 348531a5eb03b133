"""A dialog: the turns, with their weights if they were attended to, and the response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from rich.text import Text

from regard.errors import RegardError
from regard.inspect.drawings.conversation_svg import conversation_legend, draw_conversation
from regard.inspect.drawings.conversation_terminal import conversation_notes
from regard.inspect.drawings.conversation_terminal import draw_conversation as terminal_conversation
from regard.inspect.drawings.drawing import PLAIN, TracedDrawing, View
from regard.inspect.layout import Block, below, frame
from regard.inspect.scene import Scene
from regard.inspect.writing import spaced, visible
from regard.parts import register
from regard.trace import Array, Trace

if TYPE_CHECKING:
    from regard.inspect.terminal.ink import Ink

LAYOUT = "dialog"
LONGEST = 2000
"""Maximum number of characters kept of a turn; a bubble shows fewer."""


@register("drawing", "conversation")
@dataclass(frozen=True, eq=False)
class Conversation(TracedDrawing):
    """A dialog: speakers and utterances, the weights of each attention step on the turns, and the response.

    weights   (looks, turns), with the names of the looks in `names`; no look without attention to turns
    truth     the turns that should have been attended to
    """

    rank: ClassVar[int] = 60
    field: ClassVar[str] = "layout"
    headed: ClassVar[bool] = False
    gap: ClassVar[float] = 22.0
    gap_below: ClassVar[float] = 18.0

    turns: tuple[tuple[str, str], ...]
    weights: Array
    names: tuple[str, ...]
    truth: frozenset[int] = frozenset()
    answer: str = ""
    title: str = ""
    over: str = ""

    MOST: ClassVar[int] = 24
    """Maximum number of turns shown."""

    def share(self, place: int) -> float:
        """The shade of a turn: its largest weight."""
        return min(1.0, max(0.0, float(self.weights[:, place].max(initial=0.0))))

    def is_answered(self, place: int) -> bool:
        """Whether the turn is by the speaker who is answered, who spoke last."""
        return self.turns[place][0] == self.turns[-1][0]

    @cached_property
    def parts(self) -> tuple[int | range, ...]:
        """The turns that are shown, and the ranges of those that are not."""
        count = len(self.turns)
        if count <= self.MOST:
            return tuple(range(count))
        kept = {0, *range(count - 4, count), *sorted(self.truth)[: self.MOST // 2]}
        for place in sorted(range(count), key=lambda place: -self.share(place)):
            if len(kept) >= self.MOST or self.share(place) < 0.01:
                break
            kept.add(place)
        found: list[int | range] = []
        for place in range(count):
            if place in kept:
                found.append(place)
            elif found and isinstance(found[-1], range):
                found[-1] = range(found[-1].start, place + 1)
            else:
                found.append(range(place, place + 1))
        return tuple(one if isinstance(one, int) or len(one) > 1 else one.start for one in found)

    @classmethod
    def shows(cls, trace: Trace, name: str) -> bool:
        """An input that is a dialog."""
        return trace.layout.get(name) == LAYOUT and name in trace.input

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> Conversation:
        """The turns of an input, their attention weights, and the response."""
        turns = tuple(_speaker_and_text(piece) for piece in trace.input[name])
        written = [piece for piece in trace.output if piece != "</s>"]
        looks = trace.structures[name].looks if name in trace.structures else None
        weights: Array = np.zeros((0, len(turns)))
        names: tuple[str, ...] = ()
        truth: frozenset[int] = frozenset()
        attended = name in trace.attention
        if attended and looks is not None:
            weights, truth = looks
            names = (
                tuple(f"hop {hop + 1}" for hop in range(len(weights))) if len(weights) > 1 else ("weight",)
            )
        elif attended:
            rows, known = trace.attention[name], trace.truth.get(name)
            weights = rows.mean(axis=0, keepdims=True) if len(rows) else np.zeros((1, len(turns)))
            true = [] if known is None else np.flatnonzero((known > 0).any(axis=0)).tolist()
            names, truth = ("weight",), frozenset(true)
        shown = np.asarray(weights, dtype=np.float64)
        return cls(turns, shown, names, truth, _cut(spaced(written)), view.title, over=name)

    @classmethod
    def replaces(cls, trace: Trace, name: str) -> Sequence[str]:
        return ("attention", "structures", "glimpses")

    def shows_output(self, trace: Trace) -> bool:
        return bool(self.names)  # without attention the figure below has the probability of each piece

    def block(self) -> Block:
        return draw_conversation(self)

    @classmethod
    def legend(cls, shown: Sequence[Conversation]) -> list[Block]:
        return [conversation_legend(shown[-1])] if shown[-1].names else []

    @classmethod
    def stacked(cls, shown: Sequence[Any]) -> list[Block]:
        return [below([one.block() for one in shown], gap=cls.gap), *cls.legend(shown)]

    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        return terminal_conversation(self, width, ink)

    @classmethod
    def terminal_legend(cls, shown: Sequence[Conversation], width: int, ink: Ink) -> Iterator[Text]:
        return conversation_notes(shown, width, ink)

    def description(self) -> str:
        """In words, the turns attended to in each step, or all without attention, and the response."""
        parts = [] if self.names else [f"{speaker}: {visible(text)}" for speaker, text in self.turns]
        for name, weights in zip(self.names, self.weights, strict=True):
            if len(weights):
                best = int(weights.argmax())
                speaker, text = self.turns[best]
                parts.append(
                    f"{name}: most at turn {best + 1}, {speaker}: {visible(text)} ({weights[best]:.2f})"
                )
        if self.truth:
            parts.append(f"True turns: {', '.join(str(place + 1) for place in sorted(self.truth))}")
        parts.append(f"Answer: {self.answer}")
        return " · ".join(parts)


def conversation(trace: Trace, *, over: str | None = None, title: str = "") -> Scene:
    """A dialog with the attended turns marked.

    over   the input to show if several are dialogs; default: the first
    """
    found = [name for name in trace.attention if Conversation.shows(trace, name)]
    name = over if over is not None else next(iter(found), None)
    if name is None or name not in found:
        named = "" if name is None else f" named {name!r}"
        raise RegardError(
            f"the trace has no attention over a dialog{named}; it has: {', '.join(found) or 'none'}."
        )
    content = Conversation.of(trace, name)
    return frame(
        below([content.block(), *Conversation.legend([content])], gap=16),
        title=title,
        description=content.description(),
    )


def _speaker_and_text(piece: str) -> tuple[str, str]:
    speaker, colon, text = piece.partition(": ")
    return (_cut(speaker), _cut(text)) if colon and " " not in speaker else ("", _cut(piece))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
