"""The tape of an external memory, as in Graves et al. 2014: slots by time, writing beside reading.

For a memory that tracks the order of writing, also the final links between slots; for heads that move in a plane, their
paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from regard.inspect.drawings.drawing import PLAIN, TracedDrawing, View
from regard.inspect.drawings.heads import HeadPanels
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.drawings.paths import HeadPaths
from regard.inspect.head_drawing import draw_heads
from regard.inspect.head_paths import draw_head_paths
from regard.inspect.layout import Block, below, color_scale, frame
from regard.inspect.scene import Scene
from regard.parts import register
from regard.trace import Array, Panel, Tape, Trace

WIDEST = 1040.0
SEEN = 0.02
"""Minimum weight that some head must give to a slot for it to be shown."""
CELLS_WITH_TIPS = 10_000
BLANK = "_"
MOST_STEPS = 40
"""Steps that are drawn one by one; of more, some are left out."""


@register("drawing", "tape")
@dataclass(frozen=True, eq=False)
class TapePanels(TracedDrawing):
    """The weights of the heads of an external memory while an input was read, and the paths of heads in a plane."""

    rank: ClassVar[int] = 20
    traced = Tape
    field: ClassVar[str] = "tapes"

    tape: Tape
    name: str
    pieces: tuple[str, ...]
    title: str = ""

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> TapePanels:
        return cls(trace.tapes[name], name, tuple(trace.input[name]), view.title)

    def shows_output(self, trace: Trace) -> bool:
        return False

    @classmethod
    def panels(cls, trace: Trace) -> Sequence[Panel]:
        """The tape step by step."""
        return [
            Panel(
                f"tape of {name}" if len(trace.tapes) > 1 else "tape",
                f"The tape step by step, while {name} was read",
                cls.of(trace, name).steps,
                stepwise=True,
            )
            for name in trace.tapes
        ]

    def steps(self) -> list[Scene]:
        """What was written and read up to each step."""
        slots, count, scenes = used_slots(self.tape), self.tape.steps, []
        for step in sorted({int(one) for one in np.linspace(0, count - 1, min(count, MOST_STEPS)).round()}):
            past = (np.arange(count) <= step)[:, None]
            so_far = Tape(self.tape.writes * past, self.tape.reads * past)
            (panels,) = tape_panels(so_far, self.pieces, slots)
            wrote, read = (_most(weights[:, step]) for weights in (self.tape.writes, self.tape.reads))
            told = f"step {step + 1} of {count}: writes to slot {wrote}, reads slot {read}"
            block = draw_heads(replace(panels, title=told), widest=WIDEST, tips=count <= MOST_STEPS)
            scenes.append(frame(below([block, color_scale(name="weight", zeros=True)]), description=told))
        return scenes

    def block(self) -> Block:
        panels = tape_panels(self.tape, self.pieces)
        matrices = [matrix for one in panels for matrix in one.matrices]
        tips = sum(matrix.values.size for matrix in matrices) <= CELLS_WITH_TIPS
        blocks = [draw_heads(one, widest=WIDEST, tips=tips) for one in panels]
        blocks.append(color_scale(name="weight", zeros=any(matrix.has_zeros for matrix in matrices)))
        heads = head_paths_of(self.tape)
        return below([*blocks, *([] if heads is None else [draw_head_paths(heads)])], gap=22)

    @classmethod
    def stacked(cls, shown: Sequence[Any]) -> list[Block]:
        return [one.block() for one in shown]

    def description(self) -> str:
        """The sharpness of the heads, and their first and last positions."""
        parts = []
        for matrix in tape_panels(self.tape, self.pieces)[0].matrices:
            if not matrix.values.size:
                continue
            best = matrix.values.argmax(axis=0)
            sharp = float(matrix.values.max(axis=0).mean())
            ends = f"from slot {matrix.rows[best[0]]} to slot {matrix.rows[best[-1]]}"
            parts.append(f"{matrix.title} {ends}, mean largest weight {sharp:.2f}")
        told = f"External memory over {self.tape.steps} steps of {self.name}: {'; '.join(parts)}."
        return told + (" Links between slots in the order of writing." if self.tape.link is not None else "")


def _most(weights: Array) -> str:
    """The slot with the largest weight of each head, (H, N)."""
    return ", ".join(str(int(row.argmax()) + 1) for row in weights)


def tape_panels(tape: Tape, pieces: Sequence[str], slots: Sequence[int] | None = None) -> list[HeadPanels]:
    """The weights of all heads, and the links if there are any; slots are counted from 1.

    slots   those to show; default: the used ones
    """
    slots = used_slots(tape) if slots is None else slots
    labels = tuple(str(slot + 1) for slot in slots)
    steps = tuple(piece if piece == BLANK else str(place) for place, piece in enumerate(pieces, start=1))
    matrices = tuple(
        Matrix(labels, steps, weights[:, slots].T, title=title, row_name="slots", column_name=_time(steps))
        for verb, several in (("write", tape.writes), ("read", tape.reads))
        for title, weights in _numbered(verb, several)
    )
    found = [HeadPanels(matrices, title="external memory: writing and reading weights")]
    if tape.link is not None:
        link = Matrix(
            labels,
            labels,
            tape.link[np.ix_(slots, slots)],
            title="links at the last step",
            row_name="slots",
            column_name="written after slot",
        )
        found.append(HeadPanels((link,), title="external memory: the order of writing"))
    return found


def used_slots(tape: Tape) -> list[int]:
    """The slots that some head used; all slots if none was used."""
    most = np.concatenate([tape.writes, tape.reads]).max(axis=(0, 1), initial=0.0)
    return [int(slot) for slot in np.flatnonzero(most >= SEEN)] or list(range(len(most)))


def _numbered(verb: str, several: Array) -> list[tuple[str, Array]]:
    if len(several) == 1:
        return [(verb, several[0])]
    return [(f"{verb} {number}", weights) for number, weights in enumerate(several, start=1)]


def _time(steps: tuple[str, ...]) -> str:
    return f"steps ({BLANK}: answers)" if BLANK in steps else "steps"


def head_paths_of(tape: Tape) -> HeadPaths | None:
    """The paths of the heads, if they move in a plane."""
    if tape.write_path is None or tape.read_path is None:
        return None
    paths: dict[str, Array] = {}
    strengths: dict[str, Array] = {}
    for title, path in _numbered("write", tape.write_path):
        paths[title], strengths[title] = path, tape.writes[len(strengths)].max(axis=1)
    for title, path in _numbered("read", tape.read_path):
        paths[title], strengths[title] = path, np.ones(len(path))
    return HeadPaths(paths, strengths, title="external memory: the heads in the plane")
