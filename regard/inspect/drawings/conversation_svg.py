"""The marks of a dialog: a bubble per turn, shaded by attention, and the response below.

The speaker who is answered is on the right, all others on the left. In a long dialog, ranges of turns without attention
are collapsed to one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.inspect.handles import WeightHandle
from regard.inspect.layout import Block, color_scale
from regard.inspect.palette import Over, Shade
from regard.inspect.scene import Group, Mark, Rect, Text, line
from regard.inspect.writing import right_to_left, text_width, visible, wrap

if TYPE_CHECKING:
    from regard.inspect.drawings.conversation import Conversation

SIZE = 14.0
LINE = 18.5
ROOM = 420.0
"""Width of the bubbles; each takes at most four fifths of it."""
CELL = 50.0


def draw_conversation(content: Conversation, *, room: float = ROOM) -> Block:
    """The bubbles, with the weights of each attention step beside them."""
    marks: list[Mark] = []
    y = 0.0
    if content.title:
        marks.append(Text(0, 12, content.title, size=13, bold=True))
        y = 24.0
    left = room + 16
    for look, name in enumerate(content.names):
        x = left + look * (CELL + 4) + CELL / 2
        marks.append(Text(x, y + 12, name, size=12, anchor="middle", color="muted"))
    y += 22
    rows: list[Mark] = []
    for part in content.parts:
        if isinstance(part, range):
            rows.append(_fold(part, room, y))
            y += 24
            continue
        row, high = _turn(content, part, room, left, y)
        rows.append(row)
        y += high + 8
    marks.append(Group(tuple(rows), kind="turns"))
    answer, high = _bubble(
        "answer",
        content.answer or "(nothing)",
        right=False,
        room=room,
        y=y + 4,
        fill="paper",
        stroke="accent",
    )
    marks.append(Group(tuple(answer), kind="answer"))
    width = left + len(content.names) * (CELL + 4) - 4
    group = Group(tuple(marks), kind="conversation", content=content)
    return Block((group,), max(width, text_width(content.title, 14)), y + 4 + high)


def _turn(content: Conversation, place: int, room: float, left: float, y: float) -> tuple[Group, float]:
    speaker, text = content.turns[place]
    share = content.share(place)
    shade = Shade(share)
    true = place in content.truth
    told = "\n" * bool(content.names) + ", ".join(
        f"{name} {weight:.3f}" for name, weight in zip(content.names, content.weights[:, place], strict=True)
    )
    tip = f"{place + 1}. {speaker}: {visible(text)}{told}" + ("\ntrue turn" if true else "")
    marks, high = _bubble(
        speaker,
        text,
        right=content.is_answered(place),
        room=room,
        y=y,
        fill=shade,
        stroke="truth" if true else None,
        tip=tip,
    )
    for look in range(len(content.names)):
        weight = float(content.weights[look, place])
        cell, x = Shade(min(1.0, max(0.0, weight))), left + look * (CELL + 4)
        tags = (("column", str(look)), ("value", f"{weight:.6g}"))
        marks.append(
            Rect(x, y + high / 2 - 11, CELL, 22, fill=cell, radius=4, tip=tip, tags=tags,
                 at=WeightHandle(content.over, look, place, weight) if content.over else None)
        )  # fmt: skip
        if weight >= 0.005:
            marks.append(
                Text(
                    x + CELL / 2,
                    y + high / 2 + 4,
                    f"{weight:.2f}",
                    size=12,
                    anchor="middle",
                    color=Over(cell),
                )
            )
    return Group(tuple(marks), kind="row", tags=(("row", str(place)), ("label", f"{speaker}: {text}"))), high


def _bubble(
    speaker: str,
    text: str,
    *,
    right: bool,
    room: float,
    y: float,
    fill: Shade | str,
    stroke: str | None,
    tip: str = "",
) -> tuple[list[Mark], float]:
    """The marks of a bubble at height y, and its height."""
    name = text_width(speaker, 12) + 10 if speaker else 0.0
    lines = wrap(visible(text), 0.8 * room - name - 26, SIZE, lines=8)
    wide = max((text_width(one, SIZE) for one in lines), default=0.0) * 1.06 + 26
    high = len(lines) * LINE + 11
    x = room - wide - name if right else name
    color = Over(fill) if isinstance(fill, Shade) else "ink"
    marks: list[Mark] = [Rect(x, y, wide, high, fill=fill, radius=11, tip=tip)]
    if stroke is not None:
        marks.append(Rect(x + 1, y + 1, wide - 2, high - 2, stroke=stroke, stroke_width=2, radius=10))
    else:
        marks.append(Rect(x + 0.5, y + 0.5, wide - 1, high - 1, stroke="faint", radius=10.5))
    for number, one in enumerate(lines):
        backwards = right_to_left(one)
        marks.append(
            Text(
                x + wide - 12 if backwards else x + 12,
                y + 6 + SIZE * 0.95 + number * LINE,
                one,
                size=SIZE,
                anchor="end" if backwards else "start",
                color=color,
            )
        )
    if speaker:
        at = room if right else 0.0
        marks.append(
            Text(at, y + high / 2 + 4, speaker, size=12, anchor="end" if right else "start", color="muted")
        )
    return marks, high


def _fold(run: range, room: float, y: float) -> Group:
    """The line in place of turns that are not shown."""
    text = folded(run)
    wide = text_width(text, 12) + 16
    return Group(
        (
            line(0, y + 7, room / 2 - wide / 2, y + 7, dashes=(3.0, 3.0)),
            line(room / 2 + wide / 2, y + 7, room, y + 7, dashes=(3.0, 3.0)),
            Text(room / 2, y + 11, text, size=12, anchor="middle", color="muted", italic=True),
        ),
        kind="folded",
    )


def folded(run: Sequence[int]) -> str:
    """The number of collapsed turns, in words."""
    return f"{len(run)} turns"


def conversation_legend(content: Conversation) -> Block:
    """The scale of the shades, and the meaning of outlines."""
    return color_scale(name="weight", truth=bool(content.truth), outlined="true turn")
