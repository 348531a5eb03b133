"""A conversation in character cells: a turn per line, with its weight in each attention step.

U  can you suggest a good film ?      .01
B  how about logan ?                [ .97]
U  who is in that one ?               .02
→  jackman , of course
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from regard.inspect.drawings.conversation_svg import folded
from regard.inspect.drawings.hops_terminal import fold
from regard.inspect.terminal.ink import Ink, fit
from regard.inspect.writing import right_to_left, shorten, shorten_words, visible

if TYPE_CHECKING:
    from regard.inspect.drawings.conversation import Conversation

CELL = 7
SPEAKER = 12


def draw_conversation(content: Conversation, width: int, ink: Ink) -> Iterator[Text]:
    """The turns in lines of at most `width` cells; long ones wrap, and weights that do not fit are left out."""
    if content.title:
        yield Text(shorten_words(content.title, width), style=ink.style("ink", bold=True))
    speakers = [visible(speaker) for speaker, _ in content.turns]
    names = min(max([cell_len(one) for one in speakers] + [1]), SPEAKER, max(1, width // 4)) + 2
    widest = max([cell_len(visible(text)) for _, text in content.turns] + [cell_len(content.answer), 8])
    looks = min(len(content.names), max(1, (width - names - min(widest, 20)) // CELL))
    room = max(1, min(widest, width - names - looks * CELL))
    if len(content.names) > 1:
        head = "".join(fit(name, CELL, "center") for name in content.names[:looks])
        yield Text(shorten(" " * (names + room) + head.rstrip(), width), style=ink.style("muted"))
    for part in content.parts:
        if isinstance(part, range):
            yield Text(shorten(f"{'':{names}}⋮ {folded(part)}", width), style=ink.style("muted"))
            continue
        yield from _turn(content, part, speakers[part], (names, room, looks), width, ink)
    for number, part_of in enumerate(fold(visible(content.answer) or "(nothing)", max(1, width - names))):
        line = Text(no_wrap=True, overflow="crop")
        line.append(fit("" if number else "→", names), style=ink.style("accent", bold=True))
        line.append(part_of, style=ink.style("ink", bold=True))
        line.truncate(width)
        yield line
    if looks < len(content.names):
        hidden = ", ".join(content.names[looks:])
        for told in fold(f"(not shown: {hidden}; widen the terminal)", width):
            yield Text(shorten(told, width), style=ink.style("muted"))


def _turn(
    content: Conversation, place: int, speaker: str, rooms: tuple[int, int, int], width: int, ink: Ink
) -> Iterator[Text]:
    names, room, looks = rooms
    for number, part in enumerate(fold(visible(content.turns[place][1]), room)):
        line = Text(no_wrap=True, overflow="crop")
        line.append(fit("" if number else shorten(speaker, names - 1), names), style=ink.style("muted"))
        written = fit(part, room, "right" if right_to_left(part) else "left")
        line.append(written, style=ink.on(content.share(place)))
        if not number:
            for look in range(looks):
                weight = f"{float(content.weights[look, place]):.2f}".removeprefix("0")
                shown = f"[{weight}]" if place in content.truth else f" {weight} "
                line.append(" ")
                share = min(1.0, max(0.0, float(content.weights[look, place])))
                line.append(fit(shown, CELL - 1, "center"), style=ink.on(share))
        if not ink.color:
            line.rstrip()
        line.truncate(width)
        yield line


def conversation_notes(shown: Sequence[Conversation], width: int, ink: Ink) -> Iterator[Text]:
    """The legend."""
    if any(one.truth for one in shown):
        yield Text(shorten("[ ] true turn", width), style=ink.style("muted"))
