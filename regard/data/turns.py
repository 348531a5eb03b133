"""Turns of a dialog, each a speaker and an utterance: as text on one or several lines, or as JSON.

    U: can you suggest a good film ? | B: how about Logan ? | U: who plays in it ?

A turn consists of the speaker, a colon, a blank, and the utterance. Turns are separated by marks (`|` with blanks
around it) or line ends. As JSON, a dialog is a list of pairs or of objects, whose texts may contain anything:

    [["U", "hi"], ["B", "hello"]]        [{"speaker": "U", "text": "hi"}, {"speaker": "B", "text": "hello"}]

Control characters are read as blanks, and each run of blanks as one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from regard.data.readers.row import LISTED, WITHIN

MARK = "|"
"""Default separator between turns."""
SPEAKER = re.compile(r"(?P<speaker>[^\s:]+):(?:\s+|$)")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
LINES = re.compile(rf"[\r\n{LISTED}]+")
SHOWN = 40


class Turn(NamedTuple):
    """An utterance and its speaker."""

    speaker: str
    text: str

    def __str__(self) -> str:
        return f"{self.speaker}: {self.text}"


class TurnError(ValueError):
    """Why a text is not a dialog, to follow the name of a field in a message: "has no turn"."""


def read_turns(text: str, mark: str = MARK) -> list[Turn]:
    """Parse a dialog in either form."""
    if text.lstrip().startswith("["):
        return _from_json(text.replace(LISTED, ""))
    if LISTED in text and WITHIN in text:  # a list of pairs, as a reader holds it
        return turns_of([pair.split(WITHIN) for pair in text.split(LISTED) if pair])
    pieces = [piece for line in re.split(LINES, text) for piece in _between(line, mark)]
    turns = [_turn(piece, number) for number, piece in enumerate(pieces, start=1)]
    if not turns:
        raise TurnError("has no turn")
    return turns


def turns_of(value: Any) -> list[Turn]:
    """The turns of a dialog given in Python or parsed from JSON: pairs, or objects with `speaker` and `text`."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise TurnError(f"is a {type(value).__name__}, expected a list of turns")
    turns = []
    for number, one in enumerate(value, start=1):
        turns.append(_given(one, number))
    if not turns:
        raise TurnError("has no turn")
    return turns


def write_turns(turns: Iterable[Turn], mark: str = MARK) -> str:
    """The dialog on one line, or as JSON if a speaker or an utterance could not be read back from that line."""
    said = list(turns)
    texts = [_readable(turn, mark) for turn in said]
    known = [text for text in texts if text is not None]
    if known and len(known) == len(texts):
        return f" {mark} ".join(known)
    return json.dumps([list(turn) for turn in said], ensure_ascii=False)


@lru_cache(maxsize=4096)
def _readable(turn: Turn, mark: str) -> str | None:
    """The turn as text, or None if it could not be read back. Cached, because the rows of a dialog repeat its turns."""
    text = str(turn)
    try:
        return text if read_turns(text, mark) == [turn] else None
    except TurnError:
        return None


def plain(text: str) -> str:
    """Replace control characters and runs of blanks by single blanks."""
    return " ".join(CONTROL.sub(" ", text).split())


def _between(line: str, mark: str) -> list[str]:
    words = plain(line).split(" ")
    pieces: list[list[str]] = [[]]
    for word in words:
        if word == mark:
            pieces.append([])
        elif word:
            pieces[-1].append(word)
    return [" ".join(piece) for piece in pieces if piece]


def _turn(text: str, number: int) -> Turn:
    found = SPEAKER.match(text)
    if found is None:
        raise TurnError(
            f"has a turn without a speaker, turn {number}: {shortened(text)!r}; expected 'NAME: {shortened(text)}'"
        )
    return _checked(found["speaker"], text[found.end() :].strip(), number)


def _given(one: Any, number: int) -> Turn:
    if isinstance(one, Mapping):
        missing = next((key for key in ("speaker", "text") if not isinstance(one.get(key), str)), None)
        if missing is not None:
            what = "without a speaker" if missing == "speaker" else "without a text"
            raise TurnError(
                f"has a turn {what}, turn {number}: expected {{'speaker': …, 'text': …}}, both texts"
            )
        return _checked(plain(one["speaker"]), plain(one["text"]), number)
    pair = one if isinstance(one, Sequence) and not isinstance(one, str | bytes) else ()
    if len(pair) != 2 or not all(isinstance(part, str) for part in pair):
        raise TurnError(f"has a turn that is not a pair of speaker and text, turn {number}")
    return _checked(plain(pair[0]), plain(pair[1]), number)


def _checked(speaker: str, text: str, number: int) -> Turn:
    if not speaker:
        raise TurnError(f"has a turn without a speaker, turn {number}: {shortened(text)!r}")
    if not text:
        raise TurnError(f"has a turn without a text, turn {number} of {speaker!r}")
    return Turn(speaker, text)


def _from_json(text: str) -> list[Turn]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TurnError(f"begins with '[' and is not valid JSON: {error}") from None
    return turns_of(value)


def shortened(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
