"""A dial: the number that was read, on a scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.text import Text

import regard
from regard.inspect import PLAIN, Block, Ink, PageSection, View
from regard.inspect.layout import frame
from regard.inspect.scene import Circle, Group, line
from regard.inspect.scene import Text as Label
from regard.trace import TracedStructure

WIDTH = 320.0


@dataclass(frozen=True, eq=False)
class Dial(TracedStructure):
    """value (1,) on a scale from ends[0] to ends[1]; truth (1,) if it is known."""

    kind = "dial"
    arrays = {"value": np.float64, "ends": np.float64, "truth": np.float64}

    value: Any
    ends: Any
    truth: Any = None

    def check(self) -> None:
        self.expect_shape("value", (1,), "one number")
        self.expect_shape("ends", (2,), "the ends of the scale")
        self.expect_shape("truth", (1,), "one number")

    def place(self, value: float) -> float:
        """Between 0 and 1: where a number stands on the scale."""
        low, high = self.ends.tolist()
        return min(1.0, max(0.0, (value - low) / (high - low)))


@regard.register("drawing", "dial")
@dataclass(frozen=True, eq=False)
class DialDrawing(regard.inspect.TracedDrawing):
    """A scale with a needle, and a ring for the truth."""

    traced = Dial
    links = True
    lacking = "has no dial over"

    dial: Dial
    title: str = ""

    @classmethod
    def of(cls, trace: regard.Trace, name: str, view: View = PLAIN) -> DialDrawing:
        found: Any = trace.structures[name]
        return cls(found, view.title)

    def block(self) -> Block:
        marks: list[Any] = [Label(0, 12, self.title, size=13, bold=True)] if self.title else []
        marks.append(line(0, 40, WIDTH, 40, color="muted", width=2))
        needle = WIDTH * self.dial.place(self.dial.value[0])
        marks.append(Circle(needle, 40, 6, fill="accent", tip=self.description()))
        if self.dial.truth is not None:
            true = WIDTH * self.dial.place(self.dial.truth[0])
            marks.append(Circle(true, 40, 10, fill=None, stroke="truth", stroke_width=2))
        low, high = self.dial.ends.tolist()
        marks += [Label(0, 62, f"{low:g}", size=11), Label(WIDTH, 62, f"{high:g}", size=11, anchor="end")]
        return Block((Group(tuple(marks), kind="dial", content=self),), WIDTH, 66.0)

    @classmethod
    def legend(cls, shown: Sequence[DialDrawing]) -> list[Block]:
        return [Block((Label(0, 9, "dot: the number that was read", size=11, color="muted"),), 180.0, 11.0)]

    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        if self.title:
            yield Text(self.title[:width], style=ink.style("ink", bold=True))
        room = max(1, min(width, 40) - 2)
        needle = round(self.dial.place(self.dial.value[0]) * (room - 1))
        yield Text("├" + "─" * needle + "◆" + "─" * (room - 1 - needle) + "┤", style=ink.style("accent"))

    @classmethod
    def terminal_legend(cls, shown: Sequence[DialDrawing], width: int, ink: Ink) -> Iterator[Text]:
        yield Text("◆ the number that was read"[:width], style=ink.style("muted"))

    def description(self) -> str:
        return f"A dial at {self.dial.value[0]:.2f}."

    def truth_panel(self) -> DialDrawing | None:
        truth = self.dial.truth
        return None if truth is None else replace(self, dial=Dial(truth, self.dial.ends))

    def sections(self, trace: regard.Trace, name: str, heading: str) -> list[PageSection]:
        return [PageSection("The dial alone", figures=[frame(self.block())])]


def example() -> regard.Trace:
    """A trace with a dial, for `check_part`."""
    words = ["it", "shows", "nine"]
    dial = Dial([8.5], [0, 12], [9])
    return regard.Trace(
        {"sentence": words}, ["8.5"], {"sentence": [[0.1, 0.2, 0.7]]}, structures={"sentence": dial}
    )
