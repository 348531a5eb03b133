"""Notes say of the commands what `regard lecture` prints, and an entry repeats no note that is not about it."""

from __future__ import annotations

import re

import pytest

from regard.course import lectures
from regard.course.lectures.catalog import answered_by
from regard.course.lectures.session import SessionCommand, session

ALL = [f"{deck.deck}.{entry.number}" for deck in lectures.decks() for entry in deck.entries]
ORDINALS = ("first", "second", "third", "fourth", "fifth")
COUNTED = re.compile(rf"\b({'|'.join(ORDINALS)}) (?:commands?\b|`(\w+)`)")


def miscounted(text: str, printed: list[SessionCommand]) -> list[str]:
    """Commands that a text counts and that are not there: `the second command` counts all lines and needs an entry
    that begins with no preparation, since readers would count it too; `the second` with a name counts those lines."""
    found = []
    for match in COUNTED.finditer(text):
        place, name = ORDINALS.index(match[1]), match[2]
        named = [
            line for line in printed if name and line.text.split("|")[-1].split()[:2] == ["regard", name]
        ]
        if place >= len(named if name else printed) or (not name and any(line.first for line in printed)):
            found.append(match[0])
    return found


def texts(name: str) -> str:
    own, source = lectures.entry(name), answered_by(name)
    checks = [
        *source.checks,
        *(one for erratum in source.errata for one in (erratum.printed, erratum.corrected)),
    ]
    return "\n".join(
        [own.note or source.note, own.nothing, source.unshown, *(check.told() for check in checks)]
    )


def test_a_note_counts_the_commands_that_are_printed() -> None:
    """The terminal leaves out a line that would only repeat what was typed."""
    printed = {
        name: [line for line in session(name) if line.text != f"regard lecture {name}"] for name in ALL
    }
    assert not {name: found for name in ALL if (found := miscounted(texts(name), printed[name]))}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("what the second command prints", ["second command"]),
        ("the first `score` and the second `score`", []),
        ("the third `score`", ["third `score`"]),
        ("the first `lab`", ["first `lab`"]),
        ("what the last command prints, and `score`", []),
    ],
)
def test_a_command_that_is_not_there_is_found(text: str, wrong: list[str]) -> None:
    lines = [
        SessionCommand("regard train x", True),
        SessionCommand("regard score a"),
        SessionCommand("regard score b"),
    ]
    assert miscounted(text, lines) == wrong
    assert miscounted("the second command", lines[1:]) == []
    assert miscounted("the third command", lines[1:]) == ["third command"]


def test_an_entry_with_commands_of_its_own_has_a_note_of_its_own() -> None:
    """A note tells of commands and figures; that of another entry would tell of others."""
    for name in ALL:
        own = lectures.entry(name)
        if own.like and (own.command or own.also or own.figure):
            assert own.note or not answered_by(name).note, name
