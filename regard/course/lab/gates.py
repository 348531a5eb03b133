"""The four settings of an LSTM's gates: remember, add, erase, overwrite; and the output gate, which shows or hides.

    c' = f · c + i · g
    h' = o · tanh(c')

The formulas are compared with regard's own LSTM cell, whose biases hold its gates open or closed.
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
    """What the gates of an LSTM do to a memory, and to what is seen of it."""

    class Options(Lab.Options):
        """What the gates of an LSTM do to a memory, and to what is seen of it."""

        memory: Number = 0.6
        """c, the memory before the step."""
        new: Annotated[float, Field(gt=-1, lt=1)] = 0.3
        """g, the candidate value; a tanh produces it, so it lies between −1 and 1."""

    summary = (
        "i and f at 0 or 1: an LSTM remembers, adds, erases or overwrites; o at 0 or 1: it hides or shows"
    )

    @classmethod
    def run(cls, options: Any) -> LabResult:
        rows, panels, numbers = [], [], {}
        c, g = options.memory, options.new
        low, high = min(0.0, c, g, c + g), max(0.0, c, g, c + g)
        for name, (i, f) in SETTINGS.items():
            after = f * c + i * g
            (_, cell), (shown, _), (hidden, _) = (cell_step(c, g, i, f, o) for o in (1, 1, 0))
            rows.append((name, i, f, f"{f}·{c:g} + {i}·{g:g}", after, cell, shown, hidden))
            numbers[name] = {"i": i, "f": f, "after": after, "cell": cell, "shown": shown, "hidden": hidden}
            panels.append(_panel(f"{name}: i = {i}, f = {f}", c, after, low, high))
        most = max(abs(low), abs(high))
        for name, o in (("shown", 1), ("hidden", 0)):
            panels.append(_output_panel(f"{name}: o = {o}", most, o))
        blocks: list[Block] = [below([beside(panels[k : k + 2], gap=14) for k in (0, 2, 4)], gap=12)]
        return LabResult(
            title="What the gates do to a memory",
            see=f"At step 3 the gates are set as written above each panel and the candidate is {written(float(g))}: "
            "the memory keeps its value, grows by the candidate, falls to zero, or becomes the candidate. What the "
            "rest of the network sees of it is h = o · tanh(c): with o = 1 the squashed memory, with o = 0 nothing.",
            blocks=blocks,
            table=(
                ("", "i", "f", "f·c + i·g", "c′", "LSTM cell", "o = 1: tanh c′", "o = 0"),
                rows,
            ),
            numbers=numbers,
        )


def cell_step(memory: float, new: float, entry: int, forget: int, output: int) -> tuple[float, float]:
    """h' and c' of regard's LSTM cell whose gates are held at i, f and o by their biases, and whose candidate is g."""
    cell = make_cell("lstm", 1, 1).double()
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.zero_()
        cell.bias_ih[0] = OPEN if entry else SHUT
        cell.bias_ih[1] = OPEN if forget else SHUT
        cell.bias_ih[2] = float(np.arctanh(new))
        cell.bias_ih[3] = OPEN if output else SHUT
        state = cell(
            torch.zeros(1, 1, dtype=torch.float64), torch.tensor([[0.0, memory]], dtype=torch.float64)
        )
    return float(state[0, 0]), float(state[0, 1])


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


def _output_panel(title: str, most: float, output: int) -> Block:
    """What the state shows of a memory between −most and most, beside tanh."""
    memory = np.linspace(-max(most, 1.0), max(most, 1.0), 41)
    curves = {
        "tanh c": Curve(memory, np.tanh(memory), "dashes"),
        "h": Curve(memory, np.tanh(memory) if output else np.zeros_like(memory)),
    }
    return draw_plot(curves, title=title, x_name="c", width=168, height=84, y_range=(-1, 1), digits="{:.2f}")
