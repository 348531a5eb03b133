"""Dialogs of the dialog bAbI tasks (Bordes, Boureau, Weston 2017): numbered turns, a blank line between dialogs.

    1 hi <tab> hello what can i help you with today
    2 can you book a table <tab> i'm on it
    3 resto_rome_cheap R_phone resto_rome_cheap_phone

A line number of 1 starts a new dialog. A line with a tab holds an utterance of the user and the response. It becomes a
row of four fields: `dialog`, everything before the response, for a column of type dialog (speakers: the user is `U`,
the system `B`, the knowledge base `KB`); `utterance`, the last utterance of the user; `response`; and `conversation`,
the number of the dialog. A line without a tab is a fact from the knowledge base. The rows of one dialog form a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from regard.data.readers.files import read_lines
from regard.data.readers.reader import Reader, Sides
from regard.data.readers.row import Row
from regard.data.turns import Turn, plain, write_turns
from regard.parts import register

USER, BOT, BASE = "U", "B", "KB"


@register("reader", "dialog")
class DialogReader(Reader):
    """Dialogs in the format of the dialog bAbI tasks: a row for each response of the system."""

    about: ClassVar[str] = "a file of dialogs"
    fields: ClassVar[tuple[str, ...]] = ("dialog", "utterance", "response", "conversation")

    def sides(self, files: Sequence[Path]) -> Sides | None:
        return dialog_sides()

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        said: list[Turn] = []
        began = number_of_dialog = 0
        for line in read_lines(path):
            if not line.text.strip():
                said = []
                continue
            number, _, text = line.text.strip(" ").partition(" ")
            problem = line.problem or _problem(number, text)
            if problem:
                yield Row(file=str(path), line=line.number, problem=problem, source=line.text)
                continue
            if int(number) == 1 or not said:
                said, began, number_of_dialog = [], line.number, number_of_dialog + 1
            utterance, tab, response = text.partition("\t")
            said.append(Turn(USER if tab else BASE, plain(utterance)))
            if tab:
                values = {
                    "dialog": write_turns(said),
                    "utterance": plain(utterance),
                    "response": plain(response),
                    "conversation": str(number_of_dialog),
                }
                group = f"the dialog of line {began}"
                yield Row(values, file=str(path), line=line.number, group=group)
                said.append(Turn(BOT, plain(response)))


def dialog_sides() -> Sides:
    """The response, learned from all turns before it; the rows of a conversation are a group."""
    columns = {"dialog": {"type": "dialog"}, "response": {"type": "text"}}
    return Sides("dialog", "response", columns, {"conversation": {"type": "group"}})


def _problem(number: str, text: str) -> str | None:
    if not number.isdecimal():
        return f"begins with {number!r}, expected the number of the turn in its dialog"
    if not text.strip():
        return "has a number and nothing after it"
    utterance, tab, response = text.partition("\t")
    if not tab:
        return None
    if not plain(utterance) or not plain(response):
        return f"has nothing {'after' if plain(utterance) else 'before'} the tab"
    words = utterance.split()
    if len(words) == 2 and words[1].startswith("R_"):
        return "is a line of the knowledge base, expected a turn: an utterance, a tab, the answer"
    return None
