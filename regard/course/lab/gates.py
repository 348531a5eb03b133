"""The four settings of an LSTM's gates: remember, add, erase, overwrite.

    c' = f · c + i · g

The formula is compared with regard's own LSTM cell, whose biases hold its gates open or closed.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field

from regard.course.lab.carousel import OPEN, SHUT
from regard.course.lab.lab import Lab, LabResult, written
from regard.inspect.layout import Block, below, beside
from regard.inspect.plot import Curve, draw_plot
from regard.nn.cells import make_cell
from regard.parts import register

SETTINGS = {"remember": (0, 1), "add": (1, 1), "erase": (0, 0), "overwrite": (1, 0)}
"""{name: (i, f)}."""
Number = Annotated[float, Field(ge=-100, le=100)]


@register("lab", "gates")
class GatesLab(Lab):
    """What the input and the forget gate do to a memory."""

    class Options(Lab.Options):
        """What the input and the forget gate do to a memory."""

        memory: Number = 0.6
        """c, the memory before the step."""
        new: Annotated[float, Field(gt=-1, lt=1)] = 0.3
        """g, the candidate value; a tanh produces it, so it lies between −1 and 1."""

    summary = "i and f at 0 or 1: an LSTM remembers, adds, erases or overwrites"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        rows, panels, numbers = [], [], {}
        c, g = options.memory, options.new
        low, high = min(0.0, c, g, c + g), max(0.0, c, g, c + g)
        for name, (i, f) in SETTINGS.items():
            after = f * c + i * g
            cell = cell_memory(c, g, i, f)
            rows.append((name, i, f, f"{f}·{c:g} + {i}·{g:g}", after, cell))
            numbers[name] = {"i": i, "f": f, "after": after, "cell": cell}
            panels.append(_panel(f"{name}: i = {i}, f = {f}", c, after, low, high))
        blocks: list[Block] = [below([beside(panels[:2], gap=14), beside(panels[2:], gap=14)], gap=12)]
        return LabResult(
            title="What two gates do to a memory",
            see=f"At step 3 the gates are set as written above each panel and the candidate is {written(float(g))}: "
            "the memory keeps its value, grows by the candidate, falls to zero, or becomes the candidate.",
            blocks=blocks,
            table=(("", "i", "f", "f·c + i·g", "c′", "LSTM cell"), rows),
            numbers=numbers,
        )


def cell_memory(memory: float, new: float, entry: int, forget: int) -> float:
    """c' of regard's LSTM cell whose gates are held at i and f by their biases, and whose candidate is g."""
    cell = make_cell("lstm", 1, 1).double()
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.zero_()
        cell.bias_ih[0] = OPEN if entry else SHUT
        cell.bias_ih[1] = OPEN if forget else SHUT
        cell.bias_ih[2] = float(np.arctanh(new))
        state = cell(
            torch.zeros(1, 1, dtype=torch.float64), torch.tensor([[0.0, memory]], dtype=torch.float64)
        )
    return float(state[0, 1])


def _panel(title: str, before: float, after: float, low: float, high: float) -> Block:
    """The memory over six steps; the gates act at the third."""
    x, y = np.array([0, 1, 2, 3, 4, 5]), np.array([before, before, before, after, after, after])
    steps = np.array([0, 1, 2, 3, 3, 4, 5])
    held = np.array([before, before, before, before, after, after, after])
    curves = {"_memory": Curve(steps, held), "_c": Curve(x, y, "dots", "series-0")}
    return draw_plot(
        curves,
        title=title,
        x_name="step",
        width=168,
        height=84,
        y_range=(low, high),
        x_range=(0, 5),
        digits="{:.2f}",
    )
