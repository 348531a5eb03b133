"""The sign × on the drawings of an input: weights without which log p hardly changes.

A drawing says with its handles which mark is which weight, so every drawing gets the sign, also one of a plug-in: on
the mark of a weight, in the cell of an image, else on the word of a position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regard.inspect.handles import PlaneHandle, WeightHandle, WordHandle
from regard.inspect.layout import IDLE, Block, idle_sign
from regard.inspect.palette import Color, Over, Shade
from regard.inspect.scene import Circle, Group, Mark, Rect, Text
from regard.inspect.writing import text_width
from regard.trace import Array, Trace
from regard.trace.trace import IDLE_EFFECT, IDLE_WEIGHT


def with_idle_signs(blocks: Sequence[Block], trace: Trace, names: Sequence[str]) -> tuple[list[Block], str]:
    """The blocks of drawings of some inputs with their signs and what the sign means, and how many there are in words.

    Without known effects, the blocks stay as they are.
    """
    known = [name for name in names if name in trace.effects]
    if not known:
        return list(blocks), ""
    weighed = {at.input for block in blocks for at in _handles(block.marks)}
    signs = _Signs(trace, frozenset(known), frozenset(known) - weighed)
    signed = [replace(block, marks=tuple(signs.signed(block.marks))) for block in blocks]
    many = len(signs.placed)
    told = f"{many} {'weight has' if many == 1 else 'weights have'} {IDLE}." if many else ""
    return [*signed, _legend()] if many or weighed & signs.known else signed, told


def _handles(marks: Sequence[Mark]) -> Iterator[WeightHandle | PlaneHandle]:
    """The handles that stand for weights."""
    for mark in marks:
        if isinstance(mark.at, WeightHandle | PlaneHandle):
            yield mark.at
        if isinstance(mark, Group):
            yield from _handles(mark.marks)


@dataclass
class _Signs:
    """Places signs on marks.

    known    the inputs whose effects are known
    bare     those of which no weight is drawn: their words get the sign
    """

    trace: Trace
    known: frozenset[str]
    bare: frozenset[str]

    def __post_init__(self) -> None:
        self.placed: set[tuple[str, int, int]] = set()

    def signed(self, marks: Sequence[Mark]) -> Iterator[Mark]:
        for mark in marks:
            if isinstance(mark, Group):
                yield replace(mark, marks=tuple(self.signed(mark.marks)))
                continue
            signs = self._of(mark)
            yield replace(mark, tip=f"{mark.tip}\n{IDLE}") if signs and mark.tip else mark
            yield from signs

    def _of(self, mark: Mark) -> list[Mark]:
        at = mark.at
        if isinstance(at, WeightHandle) and isinstance(mark, Rect | Circle):
            return self._on_weight(mark, at)
        if isinstance(at, PlaneHandle) and isinstance(mark, Rect) and at.step is not None:
            return self._in_cells(mark, at)
        if isinstance(at, WordHandle) and isinstance(mark, Text | Circle) and at.input in self.bare:
            return self._on_word(mark, at)
        return []

    def _is_idle(self, name: str, step: int, position: int, weight: float) -> bool:
        """As `Trace.idle`, for one weight. One row of effects is that of all glimpses of an answer."""
        effects = self.trace.effects.get(name)
        if effects is None or name not in self.known or weight < IDLE_WEIGHT:
            return False
        row = 0 if len(effects) == 1 else step
        found = row < len(effects) and position < effects.shape[1]
        idle = found and abs(float(effects[row, position])) < IDLE_EFFECT
        if idle:
            self.placed.add((name, step, position))
        return idle

    def _on_weight(self, mark: Rect | Circle, at: WeightHandle) -> list[Mark]:
        if not self._is_idle(at.input, at.step, at.position, at.value):
            return []
        color: Color = Over(mark.fill) if isinstance(mark.fill, Shade) else "ink"
        if isinstance(mark, Circle):
            return idle_sign(mark.x, mark.y, 2.5, color)
        aside = min(6.0, 0.22 * mark.width, 0.4 * mark.height)  # beside what is written in the cell
        return idle_sign(mark.x + mark.width - aside, mark.y + aside, min(2.5, 0.75 * aside), color)

    def _in_cells(self, mark: Rect, at: PlaneHandle) -> list[Mark]:
        """In the middle of a cell of an image, on a light background that is visible on any image."""
        grid = getattr(self.trace.seen.get(at.input), "grid", None)
        weights = self._weights(at.input)
        if (
            grid is None
            or at.step is None
            or at.step >= len(weights)
            or grid[0] * grid[1] != weights.shape[1]
        ):
            return []
        marks: list[Mark] = []
        for position, weight in enumerate(weights[at.step]):
            if self._is_idle(at.input, at.step, position, float(weight)):
                row, column = divmod(position, grid[1])
                x = mark.x + (column + 0.5) * mark.width / grid[1]
                y = mark.y + (row + 0.5) * mark.height / grid[0]
                marks += [Circle(x, y, 6.0, fill="#ffffff", opacity=0.8), *idle_sign(x, y, 3.0, "#1c2030")]
        return marks

    def _weights(self, name: str) -> Array:
        """(R, S) the attention to an input; empty if there is none."""
        glimpses = self.trace.glimpses.get(name)
        return self.trace.attention.get(name, np.zeros((0, 0))) if glimpses is None else glimpses.weights

    def _on_word(self, mark: Text | Circle, at: WordHandle) -> list[Mark]:
        """Where every step that looks at the position does so in vain."""
        weights = self._weights(at.input)
        if at.position >= weights.shape[1]:
            return []
        looking = [step for step, row in enumerate(weights) if row[at.position] >= IDLE_WEIGHT]
        idle = [
            self._is_idle(at.input, step, at.position, float(weights[step, at.position])) for step in looking
        ]
        if not idle or not all(idle):
            return []
        if isinstance(mark, Circle):
            return idle_sign(mark.x, mark.y, 2.5, "ink")
        shift = {"start": 1.0, "middle": 0.5, "end": 0.0}[mark.anchor] * text_width(mark.text, mark.size)
        return idle_sign(mark.x + shift + 5, mark.y - mark.size, 2.5, mark.color)


def _legend() -> Block:
    marks: list[Mark] = [*idle_sign(6, 5, 4.0, "ink"), Text(17, 9, IDLE, size=11, color="muted")]
    return Block(tuple(marks), 17 + text_width(IDLE, 11), 11.0)
