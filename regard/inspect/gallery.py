"""Right and wrong answers side by side, each with its input and the attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import RegardError
from regard.inspect.drawings.drawing import Style, TracedDrawing, View, drawn, legends
from regard.inspect.drawings.lines import Lines
from regard.inspect.figure import figure, unframed
from regard.inspect.layout import BOLDER, NARROWEST, Block, below, frame, shelved
from regard.inspect.scene import Group, Mark, Scene, Text
from regard.inspect.writing import text_width, wrap
from regard.trace import Trace

WIDEST = 880.0


@dataclass(frozen=True)
class Example:
    """An answer and its references.

    trace     the trace of the answer
    written   the answer
    true      the references, one or more
    asked     the text of the question, if any
    group     the heading above it; default: "Right" or "Wrong"
    remark    what is known of its mistakes, below it; "" if nothing is
    """

    trace: Trace
    written: str
    true: tuple[str, ...]
    asked: str = ""
    group: str = ""
    remark: str = ""

    @property
    def right(self) -> bool:
        return self.written in self.true

    @property
    def heading(self) -> str:
        return self.group or ("Right" if self.right else "Wrong")


def gallery(
    examples: Sequence[Example], *, title: str = "", subtitle: str = "", style: Style = "smooth"
) -> Scene:
    """The right answers, then the wrong ones with their references; images are small for each word."""
    if not examples:
        raise RegardError("there are no examples to show.", fix="Give at least one.")
    parts: list[Block] = []
    shown: list[TracedDrawing] = []
    told: list[str] = []
    for heading in sorted({one.heading: None for one in examples}, key=lambda heading: heading != "Right"):
        shelf: list[tuple[Block, Block]] = []
        for example in (one for one in examples if one.heading == heading):
            seen = drawn(example.trace, "seen", View(style=style, small=True))
            inputs = [one.titled("") for one in seen.values()]
            shown += inputs
            drawing = below(_drawings(example, inputs), gap=10)
            shelf.append((_lines(_told(example), 14.0, max(drawing.width, NARROWEST)), drawing))
            looks = " ".join(found.description() for found in inputs)
            remark = f" ({example.remark})" if example.remark else ""
            told.append(f"{heading}: {example.written}, true: {' or '.join(example.true)}{remark}. {looks}")
        heads = _lines(Lines(((heading, "accent"),)), 16.0, WIDEST)
        parts.append(below([heads, shelved(shelf, widest=WIDEST)], gap=10))
    explained = legends(shown)
    parts += [below(explained, gap=10)] if explained else []
    return frame(below(parts, gap=30), title=title, subtitle=subtitle, description=" ".join(told))


def _drawings(example: Example, inputs: Sequence[TracedDrawing]) -> list[Block]:
    """The images, video or audio; for other traces, their figure."""
    if inputs:
        return [found.block() for found in inputs]
    return [unframed(figure(example.trace, title=""))]


def _told(example: Example) -> Lines:
    asked = [(example.asked, "muted")] if example.asked else []
    if example.right:
        return Lines((*asked, (f"✓ {example.written}", "ink")), bold=len(asked) + 1)
    true = " / ".join(example.true)
    written = (example.written, "ink") if example.group else (f"✗ {example.written}", "truth")
    remark = [(example.remark, "muted")] if example.remark else []
    return Lines((*asked, written, (f"true: {true}", "muted"), *remark), bold=len(asked) + 1)


def _lines(content: Lines, size: float, room: float) -> Block:
    """Lines of text, wrapped if they are too long."""
    marks: list[Mark] = []
    y = widest = 0.0
    for number, (text, color) in enumerate(content.lines):
        bold = number < content.bold
        wide = size * (BOLDER if bold else 1.0)
        for part in wrap(text, room, wide):
            marks.append(Text(0, y + size, part, size=size, color=color, bold=bold))
            widest = max(widest, text_width(part, wide))
            y += size * 1.4
    return Block((Group(tuple(marks), kind="lines", content=content),), widest, y)
