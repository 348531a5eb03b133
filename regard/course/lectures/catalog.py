"""The decks by number, and their entries: 004, 004.29."""

from __future__ import annotations

import shlex
from functools import cache
from itertools import pairwise
from pathlib import Path

from pydantic import ValidationError

from regard import zoo
from regard.course.lectures.checks import LabCheck, PythonCheck, lab_command
from regard.course.lectures.entry import Deck, EntryFigure, Erratum, LectureEntry
from regard.errors import RegardError
from regard.spec.document import parse
from regard.spec.messages import explain

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The numbers of the decks."""
    return sorted(path.stem for path in FOLDER.glob("[0-9]*.yaml"))


def decks() -> list[Deck]:
    """All decks."""
    return [deck(name) for name in names()]


@cache
def deck(name: str) -> Deck:
    """The deck of that number, validated."""
    if name not in names():
        meant = f" Did you mean {name.zfill(3)}?" if name.zfill(3) in names() else ""
        raise RegardError(
            f"there is no lecture {name!r}.",
            where="regard lecture",
            fix=f"Known: {', '.join(names())}.{meant}",
        )
    return read(FOLDER / f"{name}.yaml")


def read(path: Path) -> Deck:
    """Read a deck from a file; an error shows the line."""
    document = parse(path.read_text(encoding="utf-8"), path.name)
    try:
        return Deck.model_validate(document.data)
    except ValidationError as error:
        raise explain(error, Deck, document, document.data, {}) from None


def entry(name: str) -> LectureEntry:
    """The entry 004.29."""
    number, dot, place = name.partition(".")
    found = deck(number)
    if not dot or not place.isdigit() or not 1 <= int(place) <= len(found.entries):
        raise RegardError(
            f"lecture {number} has the entries {number}.1 to {number}.{len(found.entries)}; received {name!r}.",
            where="regard lecture",
            fix=f"`regard lecture {number}` walks through them.",
        )
    return found.entries[int(place) - 1]


def answered_by(name: str) -> LectureEntry:
    """The entry whose checks are used: the entry itself, or the one named by `like`."""
    found = entry(name)
    return entry(found.like) if found.like else found


def errata(of: Deck) -> list[tuple[LectureEntry, Erratum]]:
    """The errata of a deck, including those it shares with another deck."""
    return [(one, erratum) for one in of.entries for erratum in answered_by(f"{of.deck}.{one.number}").errata]


def command(name: str) -> str:
    """The command that shows an entry."""
    own, source = entry(name), answered_by(name)
    given = own.command or source.command
    if given:
        return given
    for check in source.checks:
        if not isinstance(check, PythonCheck) and check.command:
            return check.command
    if source.figure is not None and source.figure.lab:
        return lab_command(source.figure.lab, source.figure.set)
    return "" if own.nothing else f"regard lecture {name}"


def drawing(name: str) -> EntryFigure | None:
    """The figure for --open: the entry's own, the lab of its first lab check, or the network of its
    command."""
    own, source = entry(name), answered_by(name)
    found = own.figure or source.figure
    if found is not None:
        return found
    for check in source.checks:
        if isinstance(check, LabCheck):
            return EntryFigure(lab=check.lab, set=check.set)
    return _network(command(name), own.kind)


def _network(line: str, kind: str) -> EntryFigure | None:
    """The network that a command describes or, for entries that show a system, trains; else None."""
    words = shlex.split(line)
    described = words[:2] == ["regard", "describe"]
    trained = words[:2] == ["regard", "train"] and kind in ("figure", "mechanism", "system")
    if not (described or trained) or len(words) < 3 or words[2] not in zoo.names() or "FILE" in line:
        return None
    changes = [
        value for option, value in pairwise(words) if option == "--set" and not value.startswith("data.")
    ]
    return EntryFigure(network=words[2], changes=tuple(changes))
