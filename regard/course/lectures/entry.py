"""An entry: one claim, equation, system or figure of a lecture. A deck: all entries of a lecture."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from regard.course.lectures.checks import Check
from regard.parts import Settings

Kind = Literal[
    "algorithm", "claim", "data", "equation", "example", "exercise", "experiment", "figure", "mechanism", "method",
    "numbers", "references", "system", "table",
]  # fmt: skip


class Erratum(Settings):
    """An error on a slide: the computation fails as printed and passes when corrected."""

    says: str
    """What the slide prints and what is correct, in our words."""
    printed: Check
    """The check as printed, which must fail."""
    corrected: Check
    """The corrected check, which must pass."""


class EntryFigure(Settings):
    """A figure of an entry: a lab's, the last line of Python code, or the network of a system."""

    lab: str = ""
    """The name of the lab."""
    set: dict[str, Any] = {}
    """Settings of the lab."""
    python: str = ""
    """The code; its last line is a figure, or has a `plot`."""
    network: str = ""
    """A system of the zoo whose network to draw."""
    changes: tuple[str, ...] = ()
    """Settings of the system, as for --set."""

    @model_validator(mode="after")
    def _one_source(self) -> EntryFigure:
        if sum(map(bool, (self.lab, self.python, self.network))) != 1:
            raise ValueError("expected one of lab, python and network")
        return self


class LectureEntry(Settings):
    """One claim, equation, system or figure of a lecture."""

    number: int = Field(ge=1)
    """From 1, in the order of the lecture."""
    place: str
    """Lines (L) or slides (s) of the lecture's text."""
    kind: Kind
    """The kind of entry."""
    claim: str
    """The claim, in our words."""
    like: str = ""
    """An entry with the same claim, whose commands, checks, errata and figure are used here: "000.60"."""
    command: str = ""
    """The command that shows it; default: that of its first check, or `regard lecture` with its number."""
    also: tuple[str, ...] = ()
    """Commands that show the rest of the claim, after `command`."""
    before: tuple[str, ...] = ()
    """Commands to run once before these; default: `regard train NAME` for each runs/NAME of the commands."""
    checks: tuple[Check, ...] = ()
    """Computations that show the claim."""
    errata: tuple[Erratum, ...] = ()
    """Errors on the slide."""
    figure: EntryFigure | None = None
    """The figure for --open; default: the lab of its first check, or the network of its command."""
    nothing: str = ""
    """Why there is nothing to compute: history, a list of references."""
    unshown: str = ""
    """Why the claim does not show here; such an entry counts as not shown, even where its checks hold."""
    note: str = ""
    """Differences between our system and the slide, and other remarks."""

    @model_validator(mode="after")
    def _answered(self) -> LectureEntry:
        given = bool(self.checks or self.errata), bool(self.like), bool(self.nothing)
        if sum(given) != 1:
            raise ValueError("expected one of: checks (or errata), like, nothing")
        return self


class Deck(Settings):
    """A lecture: `name` is its number, as in 004."""

    deck: str = Field(pattern=r"^\d{3}$")
    """Its number."""
    title: str
    """Its topic."""
    course: str
    """Course and lecturer."""
    entries: tuple[LectureEntry, ...] = Field(min_length=1)
    """Its entries."""

    @model_validator(mode="after")
    def _counted(self) -> Deck:
        numbers = [one.number for one in self.entries]
        if numbers != list(range(1, len(numbers) + 1)):
            missing = sorted(set(range(1, max(numbers) + 1)) - set(numbers))
            raise ValueError(
                f"entries are numbered from 1 without a gap; missing or out of order: {missing or numbers}"
            )
        return self
