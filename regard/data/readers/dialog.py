"""Dialogs of the dialog bAbI tasks (Bordes, Boureau, Weston 2017): numbered turns, a blank line between dialogs.

    1 hi <tab> hello what can i help you with today
    2 can you book a table <tab> i'm on it
    3 resto_rome_cheap R_phone resto_rome_cheap_phone

A line number of 1 begins a new dialog. A turn with a tab is what the user says and what is answered, and becomes a row:
all that was said and found so far, a sentence each, what the user says last (`dialog`), that alone (`utterance`), and
the answer (`response`). A line without a tab is a fact that was found. The turns of one dialog are a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from regard.data.readers.lines import read_lines
from regard.data.readers.reader import Reader
from regard.data.readers.row import Row
from regard.parts import register


@register("reader", "dialog")
class DialogReader(Reader):
    """Files of the dialog bAbI tasks: a row for each answer."""

    about: ClassVar[str] = "a file of dialogs"
    fields: ClassVar[tuple[str, ...]] = ("dialog", "utterance", "response")

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        said: list[str] = []
        began = 0
        for line in read_lines(path):
            if not line.text.strip():
                said = []
                continue
            number, _, text = line.text.strip().partition(" ")
            problem = line.problem or _problem(number, text)
            if problem:
                yield Row(file=str(path), line=line.number, problem=problem, source=line.text)
                continue
            if int(number) == 1 or not said:
                said, began = [], line.number
            utterance, tab, response = text.partition("\t")
            utterance, response = utterance.strip(), response.strip()
            said.append(_sentence(utterance))
            if tab:
                values = {"dialog": " ".join(said), "utterance": utterance, "response": response}
                group = f"the dialog of line {began}"
                yield Row(values, file=str(path), line=line.number, group=group)
                said.append(_sentence(response))


def _problem(number: str, text: str) -> str | None:
    if not number.isdecimal():
        return f"begins with {number!r}, expected the number of the turn in its dialog"
    return None if text.strip() else "has a number and nothing after it"


def _sentence(text: str) -> str:
    """The text with one mark at its end and none inside, as a column of type story reads sentences."""
    return text.replace(".", " ").strip() + "."
