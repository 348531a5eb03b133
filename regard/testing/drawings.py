"""Checks of drawings."""

from __future__ import annotations

import io
import json
import math
from typing import Any
from xml.etree import ElementTree

from rich.console import Console

from regard.inspect import Block, Ink, Scene, TracedDrawing, compare, figure
from regard.testing.report import PartReport, Stop
from regard.trace import Trace

WIDTHS = (100, 40, 20)


def check_drawing(report: PartReport, made: type[Any], trace: Trace | None) -> None:
    """A drawing of a trace in every form; without a trace there is only its class to check."""
    if trace is None or not issubclass(made, TracedDrawing):
        return
    names = [name for name in getattr(trace, made.field) if made.shows(trace, name)]
    if not names:
        report.add("shows", f"true for an entry of the trace's {made.field}", "false for all")
        raise Stop
    with report.calling("to_dict", "what the trace holds, as JSON"):
        written = json.dumps(trace.to_dict(), allow_nan=False)
    with report.calling("from_dict", "the inverse of `to_dict`"):
        again = json.dumps(Trace.from_dict(json.loads(written)).to_dict())
    report.is_true("from_dict", again == written, "the inverse of `to_dict`", "other values")
    for name in names:
        with report.calling("of", "a drawing"):
            drawing = made.of(trace, name)
        report.is_true("of", isinstance(drawing, made), f"a {made.__name__}", type(drawing).__name__)
        with report.calling("block", "a Block"):
            block = drawing.block()
        sized = isinstance(block, Block) and all(
            math.isfinite(one) and one > 0 for one in (block.width, block.height)
        )
        report.is_true("block", sized, "a Block with a width and a height above 0", block)
        with report.calling("description", "a text"):
            told = drawing.description()
        report.is_true("description", isinstance(told, str) and bool(told), "a text", repr(told))
        with report.calling("legend", "a list of Blocks"):
            legend = made.legend([drawing])
        report.is_true("legend", isinstance(legend, list), "a list of Blocks", type(legend).__name__)
    with report.calling("block", "marks that can be drawn"):
        shown = figure(trace)
        _check_scene(report, shown)
    with report.calling("sections", "sections of a page"):
        trace.html()
    with report.calling("arranged", "a comparison"):
        _check_scene(report, compare([("one", trace), ("two", trace)], over=names[0]))


def _check_scene(report: PartReport, scene: Scene) -> None:
    """The scene is valid SVG, and its lines fit into terminals with color and without."""
    ElementTree.fromstring(scene.svg())
    same: list[Any] = [one for one in scene.contents() if type(one) is report.made]
    for width in WIDTHS:
        for color in (True, False):
            system: Any = "truecolor" if color else None
            console = Console(file=io.StringIO(), width=width, force_terminal=color, color_system=system)
            with report.calling("terminal", "lines of text"):
                console.print(scene)
                ink = Ink.of(console)
                lines = [line for one in same for line in one.terminal(width, ink)]
                lines += same[0].terminal_legend(same, width, ink) if same else []
            wide = [line.cell_len for line in lines if line.cell_len > width]
            received = f"one of {max(wide, default=0)}"
            report.is_true("terminal", not wide, f"lines of at most {width} cells", received)
