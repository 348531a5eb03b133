"""Dialogs in JSON, in the format of MultiWOZ or a similar one.

    {"SNG01.json": {"log": [{"text": "a cheap hotel please"}, {"text": "in which area ?"}, …]}, …}            2.0, 2.1
    [{"dialogue_id": "SNG01.json", "turns": [{"speaker": "USER", "utterance": "a cheap hotel please"}, …]}, …]     2.2

A file holds an object that maps names to dialogs, a list of dialogs, or a dialog per line. The options name the field
of a dialog that holds its turns, and the fields of a turn that hold its text and its speaker:

    data: {format: {type: dialog-json}}                                                                     2.0, 2.1
    data: {format: {type: dialog-json, turns: turns, text: utterance, speaker: speaker}}                         2.2

Every turn of the speaker `answers` that has a turn before it becomes a row of four fields: `dialog`, all turns before
it, for a column of type dialog; `utterance`, the turn before it; `response`, its text; and `conversation`, the name of
the dialog. The location of a row is the number of its dialog, from 1. The whole file is read into memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from regard.data.readers.dialog import dialog_sides
from regard.data.readers.files import opened
from regard.data.readers.json_values import dig
from regard.data.readers.reader import Reader, Sides
from regard.data.readers.row import Row
from regard.data.turns import Turn, plain, write_turns
from regard.errors import RegardError
from regard.parts import register


@register("reader", "dialog-json")
class DialogJsonReader(Reader):
    """Dialogs in JSON, in the format of MultiWOZ: a row for each response."""

    about: ClassVar[str] = "a file of dialogs"
    fields: ClassVar[tuple[str, ...]] = ("dialog", "utterance", "response", "conversation")

    turns: str = "log"
    """Field of a dialog that holds the list of turns; `a.b` is the field b of an object a."""
    text: str = "text"
    """Field of a turn that holds its text."""
    speaker: str | None = None
    """Field of a turn that holds its speaker; default: USER and SYSTEM alternate, and USER starts."""
    names: dict[str, str] = {"USER": "U", "SYSTEM": "B"}
    """Names of the speakers in the rows, by their names in the file; other speakers keep their names."""
    answers: str = "B"
    """The speaker whose turns are the responses, by the name in the rows."""

    def sides(self, files: Sequence[Path]) -> Sides | None:
        return dialog_sides()

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = str(files[0])
        for number, (name, found) in enumerate(_dialogs(files[0]), start=1):
            try:
                turns = self._turns(found)
            except ValueError as error:
                yield Row(file=path, line=number, problem=str(error))
                continue
            for place, turn in enumerate(turns):
                if place and turn.speaker == self.answers:
                    values = {
                        "dialog": write_turns(turns[:place]),
                        "utterance": turns[place - 1].text,
                        "response": turn.text,
                        "conversation": name or str(number),
                    }
                    yield Row(values, file=path, line=number, group=f"dialog {name or number}")

    def _turns(self, found: Any) -> list[Turn]:
        said = dig(found, self.turns) if isinstance(found, Mapping) else None
        if not isinstance(said, list):
            has = f"; it has {', '.join(map(str, found))}" if isinstance(found, Mapping) else ""
            raise ValueError(f"has no list of turns {self.turns!r}{has}")
        if not said:
            raise ValueError("has no turn")
        return [self._turn(one, place) for place, one in enumerate(said)]

    def _turn(self, one: Any, place: int) -> Turn:
        where = f"turn {place + 1}"
        text = dig(one, self.text) if isinstance(one, Mapping) else None
        if not isinstance(text, str) or not plain(text):
            raise ValueError(f"has a turn without the text {self.text!r}, {where}")
        speaker = ("USER", "SYSTEM")[place % 2] if self.speaker is None else dig(one, self.speaker)
        if not isinstance(speaker, str) or not plain(speaker):
            raise ValueError(f"has a turn without the speaker {self.speaker!r}, {where}")
        return Turn(self.names.get(speaker, plain(speaker)), plain(text))


def _dialogs(path: Path) -> Iterator[tuple[str, Any]]:
    """The dialogs of a file with their names; "" if they have none."""
    with opened(path) as stream:
        content = stream.read()
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        lines = [line for line in content.splitlines() if line.strip()]
        try:
            found = [json.loads(line) for line in lines] if len(lines) > 1 else None
        except (ValueError, RecursionError):
            found = None
        if found is None:
            raise RegardError(f"this is not valid JSON: {error}.", where=str(path)) from None
    if isinstance(found, dict):
        found = found.items()
    elif isinstance(found, list):
        found = ((_name(one), one) for one in found)
    else:
        raise RegardError(
            "there are no dialogs.", where=str(path), fix="Expected an object of dialogs, or a list of them."
        )
    yield from ((str(name), one) for name, one in found)


def _name(one: Any) -> str:
    names = (one.get(key) for key in ("dialogue_id", "dialog_id", "id")) if isinstance(one, Mapping) else ()
    return next((str(name) for name in names if isinstance(name, str | int)), "")
