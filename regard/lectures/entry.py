"""An entry: one thing that a lecture shows. A deck: all of a lecture."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from regard.lectures.checks import Check
from regard.parts import Settings

Kind = Literal[
    "algorithm", "claim", "data", "equation", "example", "exercise", "experiment", "figure", "mechanism", "method",
    "numbers", "references", "system", "table",
]  # fmt: skip


class Erratum(Settings):
    """What a slide prints that is not so: the computation fails as printed and passes corrected."""

    says: str
    """What is printed and what it ought to be, in our words."""
    printed: Check
    """Must fail."""
    corrected: Check
    """Must pass."""


class EntryFigure(Settings):
    """A figure of an entry: that of a lab, of Python whose last line is a figure, or the network of a system."""

    lab: str = ""
    """The name of the lab."""
    set: dict[str, Any] = {}
    """Settings of the lab."""
    python: str = ""
    """The lines; the last is a figure, or has a `plot`."""
    network: str = ""
    """A system of the zoo whose network is drawn."""
    changes: tuple[str, ...] = ()
    """What is set otherwise in it, as after --set."""

    @model_validator(mode="after")
    def _one_source(self) -> EntryFigure:
        if sum(map(bool, (self.lab, self.python, self.network))) != 1:
            raise ValueError("expected one of lab, python and network")
        return self


class Entry(Settings):
    """One thing that a lecture shows."""

    number: int = Field(ge=1)
    """From 1, in the order of the lecture."""
    place: str
    """Lines (L) or slides (s) of the lecture's text."""
    kind: Kind
    """What kind of thing is shown."""
    claim: str
    """What it says, in our words."""
    like: str = ""
    """An entry that shows the same, whose command, checks, errata and figure are used here: "000.60"."""
    command: str = ""
    """The command that shows it; default: that of its first check, or `regard lecture` with its number."""
    before: tuple[str, ...] = ()
    """What is typed before it, once; default: `regard train NAME` for each runs/NAME of the command."""
    checks: tuple[Check, ...] = ()
    """Computations that show it."""
    errata: tuple[Erratum, ...] = ()
    """Where the slide is wrong."""
    figure: EntryFigure | None = None
    """What --open draws; default: the lab of its first check, or the network of the system its command describes."""
    nothing: str = ""
    """Why there is nothing to compute: history, a list of references."""
    note: str = ""
    """Where our system departs from the slide, and other remarks."""

    @model_validator(mode="after")
    def _answered(self) -> Entry:
        given = bool(self.checks or self.errata), bool(self.like), bool(self.nothing)
        if sum(given) != 1:
            raise ValueError("expected one of: checks (or errata), like, nothing")
        return self


class Deck(Settings):
    """A lecture: `name` is its number, as in 004."""

    deck: str = Field(pattern=r"^\d{3}$")
    """Its number."""
    title: str
    """What it is about."""
    course: str
    """Course and lecturer."""
    entries: tuple[Entry, ...] = Field(min_length=1)
    """All it shows."""

    @model_validator(mode="after")
    def _counted(self) -> Deck:
        numbers = [one.number for one in self.entries]
        if numbers != list(range(1, len(numbers) + 1)):
            missing = sorted(set(range(1, max(numbers) + 1)) - set(numbers))
            raise ValueError(
                f"entries are numbered from 1 without a gap; missing or out of order: {missing or numbers}"
            )
        return self
