"""The gates and states of a recurrent cell over time: a strip of units for each, their means and norms as curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from regard.inspect.drawings.drawing import PLAIN, TracedDrawing, View
from regard.inspect.drawings.heads import HeadPanels
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.head_drawing import draw_heads
from regard.inspect.layout import Block, below, color_scale, frame
from regard.inspect.plot import Curve, draw_plot
from regard.inspect.scene import Scene
from regard.inspect.writing import visible
from regard.parts import register
from regard.trace import Array, Panel, Trace

WIDEST = 1040.0
MOST_UNITS = 24
"""Units in a strip; of more, those that change most."""
CELLS_WITH_TIPS = 10_000


@register("drawing", "states")
@dataclass(frozen=True, eq=False)
class StateStrips(TracedDrawing):
    """The gates and states of one cell.

    gates   (N, D) by name; numbers between 0 and 1 are gates, others are shaded by their magnitude
    steps   N names of the steps: pieces of the output or of an input
    """

    rank: ClassVar[int] = 60
    field: ClassVar[str] = "states"

    gates: Mapping[str, Array]
    steps: tuple[str, ...]
    title: str = ""

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> StateStrips:
        """The states of a cell, by the beginning of their names."""
        gates = {key.rpartition(".")[2]: rows for key, rows in trace.states.items() if _cell(key) == name}
        count = len(next(iter(gates.values())))
        return cls(gates, _steps(trace, name, count), view.title)

    @classmethod
    def shows(cls, trace: Trace, name: str) -> bool:
        return any(_cell(key) == name for key in trace.states)

    @classmethod
    def panels(cls, trace: Trace) -> Sequence[Panel]:
        """One panel for each cell."""
        cells = dict.fromkeys(map(_cell, trace.states))
        return [
            Panel(f"states: {name}", f"Gates and states: {_written(name)}", partial(cls._scene, trace, name))
            for name in cells
        ]

    @classmethod
    def _scene(cls, trace: Trace, name: str) -> Scene:
        made = cls.of(trace, name)
        return frame(made.block(), description=made.description())

    def block(self) -> Block:
        matrices = tuple(self._strip(name, rows) for name, rows in self.gates.items() if rows.size)
        if not matrices:
            return draw_heads(HeadPanels((), title="no steps"), widest=WIDEST)
        tips = sum(matrix.values.size for matrix in matrices) <= CELLS_WITH_TIPS
        strips = draw_heads(
            HeadPanels(matrices, title=self.title or "units over time"), widest=WIDEST, tips=tips
        )
        scale = color_scale(name="gate, or magnitude as a share of the largest", end="1")
        return below([strips, scale, *self._curves()], gap=24)

    def _strip(self, name: str, rows: Array) -> Matrix:
        """The chosen units over time."""
        chosen = self._units(rows.shape[1])
        values = rows[:, chosen].T
        largest = float(np.abs(rows).max())
        shades = None if is_gate(rows) else np.abs(values) / (largest or 1.0)
        units = tuple(str(unit + 1) for unit in chosen)
        shown = f"{len(chosen)} of {rows.shape[1]} units" if len(chosen) < rows.shape[1] else "units"
        named = name if is_gate(rows) else f"{name}, up to {largest:.2g}"
        return Matrix(
            units, self.steps, values, title=named, row_name=shown, column_name="steps", shades=shades
        )

    def _units(self, size: int) -> Array:
        """The units whose state changes most, in their order: the same for all gates."""
        last = [rows for rows in self.gates.values() if rows.shape[1] == size][-1]
        return np.sort(np.argsort(-last.std(0), kind="stable")[:MOST_UNITS])

    def _curves(self) -> list[Block]:
        """The mean of each gate, and the norm of each state."""
        places = np.arange(1, len(self.steps) + 1, dtype=np.float64)
        if len(places) < 2:
            return []
        gates = {name: Curve(places, rows.mean(1)) for name, rows in self.gates.items() if is_gate(rows)}
        norms = {
            name: Curve(places, np.linalg.norm(rows, axis=1))
            for name, rows in self.gates.items()
            if not is_gate(rows)
        }
        blocks = []
        if gates:
            blocks.append(draw_plot(gates, title="mean of each gate", x_name="step", y_range=(0.0, 1.0)))
        if norms:
            blocks.append(draw_plot(norms, title="norm of each state", x_name="step"))
        return blocks

    def description(self) -> str:
        told = []
        for name, rows in self.gates.items():
            if not rows.size:
                continue
            each = rows.mean(1) if is_gate(rows) else np.linalg.norm(rows, axis=1)
            what = "mean" if is_gate(rows) else "norm"
            low, high = int(each.argmin()), int(each.argmax())
            told.append(
                f"{name}: {what} lowest at {visible(self.steps[low])} ({each[low]:.2f}), highest at "
                f"{visible(self.steps[high])} ({each[high]:.2f})"
            )
        return f"{'; '.join(told)}."


def is_gate(rows: Array) -> bool:
    """Whether all numbers are between 0 and 1, and some are not 0."""
    return bool(rows.size) and float(rows.min()) >= 0 and 0 < float(rows.max()) <= 1


def _cell(name: str) -> str:
    """The cell of a state: "encoder.forward" of "encoder.forward.update"; "decoder @ 2" of "decoder.update@2"."""
    return name.rpartition(".")[0]


def _steps(trace: Trace, name: str, count: int) -> tuple[str, ...]:
    """Names of steps: the pieces of what the cell reads or writes, if there are as many; else numbers."""
    inputs = [pieces for key, pieces in trace.input.items() if f".{key}" in name] or list(
        trace.input.values()
    )
    for pieces in [trace.output] if name.startswith("decoder") else inputs:
        if len(pieces) == count:
            return tuple(pieces)
    for pieces in trace.input.values():  # a machine writes while it reads
        if len(pieces) == count:
            return tuple(pieces)
    return tuple(str(number) for number in range(1, count + 1))


def _written(name: str) -> str:
    """ "encoder.2.forward" → "encoder, layer 2, forward"."""
    parts = [f"layer {part}" if part.isdecimal() else part for part in name.split(".")]
    return ", ".join(parts)
