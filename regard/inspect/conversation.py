"""A dialog as a conversation: a bubble per turn, shaded by attention, and the response below.

The speaker who is answered is on the right, all others on the left. In a long dialog, ranges of turns without attention
are collapsed to one line.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.errors import RegardError
from regard.inspect.content import Conversation
from regard.inspect.layout import Block, below, color_scale, frame
from regard.inspect.palette import Over, Shade
from regard.inspect.scene import Group, Mark, Rect, Scene, Text, line
from regard.inspect.writing import right_to_left, spaced, text_width, visible, wrap
from regard.trace import Hops, Trace

SIZE = 14.0
LINE = 18.5
ROOM = 420.0
"""Width of the bubbles; each takes at most four fifths of it."""
CELL = 50.0
LAYOUT = "dialog"
LONGEST = 2000
"""Maximum number of characters kept of a turn; a bubble shows fewer."""


def is_conversation(trace: Trace, name: str) -> bool:
    """Whether an input is a dialog whose turns were attended to."""
    return trace.layout.get(name) == LAYOUT and name in trace.attention


def conversation(trace: Trace, *, over: str | None = None, title: str = "") -> Scene:
    """A dialog with the attended turns marked.

    over   the input to show if several are dialogs; default: the first
    """
    found = [name for name in trace.input if is_conversation(trace, name)]
    name = over if over is not None else next(iter(found), None)
    if name is None or name not in found:
        named = "" if name is None else f" named {name!r}"
        raise RegardError(
            f"the trace has no attention over a dialog{named}; it has: {', '.join(found) or 'none'}."
        )
    content = conversation_of(trace, name)
    return frame(
        below([draw_conversation(content), conversation_legend(content)], gap=16),
        title=title,
        description=tell_conversation(content),
    )


def conversation_of(trace: Trace, name: str, *, title: str = "") -> Conversation:
    """The turns of an input, their attention weights, and the response."""
    turns = tuple(_speaker_and_text(piece) for piece in trace.input[name])
    structure = trace.structures.get(name)
    written = [piece for piece in trace.output if piece != "</s>"]
    if isinstance(structure, Hops):
        weights, count = structure.weights, len(structure.weights)
        names = tuple(f"hop {hop + 1}" for hop in range(count)) if count > 1 else ("weight",)
        truth = frozenset() if structure.truth is None else frozenset(structure.truth.tolist())
    else:
        rows = trace.attention[name]
        weights = rows.mean(axis=0, keepdims=True) if len(rows) else np.zeros((1, len(turns)))
        known = trace.truth.get(name)
        truth = frozenset() if known is None else frozenset(np.flatnonzero((known > 0).any(axis=0)).tolist())
        names = ("weight",)
    return Conversation(
        turns, np.asarray(weights, dtype=np.float64), names, truth, _cut(spaced(written)), title
    )


def _speaker_and_text(piece: str) -> tuple[str, str]:
    speaker, colon, text = piece.partition(": ")
    return (_cut(speaker), _cut(text)) if colon and " " not in speaker else ("", _cut(piece))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


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
    told = ", ".join(
        f"{name} {weight:.3f}" for name, weight in zip(content.names, content.weights[:, place], strict=True)
    )
    tip = f"{place + 1}. {speaker}: {visible(text)}\n{told}" + ("\ntrue turn" if true else "")
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
        marks.append(Rect(x, y + high / 2 - 11, CELL, 22, fill=cell, radius=4, tip=tip, tags=tags))
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


def tell_conversation(content: Conversation) -> str:
    """In words, the turns attended to in each step, and the response."""
    parts = []
    for name, weights in zip(content.names, content.weights, strict=True):
        if len(weights):
            best = int(weights.argmax())
            speaker, text = content.turns[best]
            parts.append(f"{name}: most at turn {best + 1}, {speaker}: {visible(text)} ({weights[best]:.2f})")
    if content.truth:
        parts.append(f"True turns: {', '.join(str(place + 1) for place in sorted(content.truth))}")
    parts.append(f"Answer: {content.answer}")
    return " · ".join(parts)
