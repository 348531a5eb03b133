"""The kinds of checks: a lab's number, Python code, printed equations, systems of the zoo, a stored result, an order of
stored results.

Each is part of an entry and computes a value through public names; `Truth` holds the expected value.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from statistics import fmean
from typing import Annotated, Any, ClassVar

from pydantic import Discriminator, Field, Tag, model_validator

from regard import zoo
from regard.course.lab.lab import written
from regard.course.lectures.boards import board
from regard.course.lectures.evidence import evidence_for
from regard.course.lectures.truth import Truth, settled
from regard.parts import NotNegative, Settings

PREAMBLE = """\
import itertools, math
import numpy as np, torch
import regard, regard.describe
from regard import nn, zoo
from regard.course.lab import run as lab
from regard.structures import *
from regard.course.lectures.by_hand import *
from regard.course.lectures.instruments import *
from regard.course.lectures.marks import *
from regard.course.lectures.memories import *
from regard.course.lectures.pictures import *
from regard.course.lectures.translations import *
from regard.course.lectures.trees import *
from regard.trace import Trace
"""
"""The first lines of every entry's Python code."""


class LabCheck(Truth):
    """A number of a lab: `{lab: jacobian, row: 'w = 1.1, T = 50', column: w^(T−1), expected: 106.7, within: 0.05}`."""

    lab: str
    """The name of the lab."""
    set: dict[str, Any] = {}
    """Settings of the lab."""
    row: str | int = ""
    """A row of its table, by its first cell or by its index from 0; needs `column`."""
    column: str | int = ""
    """The column, by its title or its index."""
    number: tuple[str | int, ...] = ()
    """Or the path to a number of the --json output: keys and indices."""

    @model_validator(mode="after")
    def _one_place(self) -> LabCheck:
        if bool(self.number) == (self.column != ""):
            raise ValueError("expected either number, or row and column")
        return self

    @property
    def command(self) -> str:
        return lab_command(self.lab, self.set)

    def told(self) -> str:
        place = ", ".join(map(str, self.number)) or f"{self.row}, {self.column}"
        return super().told() if self.of else f"{place}: {super().told()}"

    def value(self) -> Any:
        found = _lab(self.lab, repr(sorted(self.set.items())), _Held(self.set))
        if self.number:
            value: Any = found.numbers
            for step in self.number:
                value = value[step]
            return settled(value)
        head, rows = found.table
        column = self.column if isinstance(self.column, int) else list(head).index(self.column)
        row = (
            rows[self.row]
            if isinstance(self.row, int)
            else next(one for one in rows if str(one[0]) == self.row)
        )
        return settled(row[column])


def lab_command(name: str, settings: Mapping[str, Any]) -> str:
    """The shell command of a lab with some of its settings."""
    return " ".join(
        ["regard lab", name, *(f"--set {_quoted(f'{key}={value}')}" for key, value in settings.items())]
    )


class PythonCheck(Truth):
    """The value of the last line of Python code, which can use public names and those of `PREAMBLE`."""

    python: str
    """The code."""

    command: ClassVar[str] = ""

    def value(self) -> Any:
        return settled(evaluated(self.python))

    def told(self) -> str:
        text = super().told()
        difference = not self.of and self.expected == 0 and "apart(" in self.python.strip().splitlines()[-1]
        return f"largest difference: {text}" if difference else text


class BoardCheck(Settings):
    """Equations that `regard describe` prints, which the tests evaluate with the network's own weights."""

    describe: str
    """The system to describe."""
    set: tuple[str, ...] = ()
    """Its settings, as for --set."""
    letters: str = ""
    """The lecture whose letters are used, as for --as."""
    shows: tuple[str, ...] = Field(min_length=1)
    """Substrings that the printed lines must contain."""

    @property
    def command(self) -> str:
        named = [f"--as {self.letters}"] if self.letters else []
        return " ".join(
            ["regard describe", self.describe, *named, *(f"--set {_quoted(one)}" for one in self.set)]
        )

    def value(self) -> Any:
        lines = board(self.describe, *self.set, letters=self.letters)
        return [piece for piece in self.shows if any(piece in line for line in lines)]

    def told(self) -> str:
        named = f" in the letters of {self.letters}" if self.letters else ""
        settings = "".join(f", --set {_quoted(one)}" for one in self.set)
        pieces = "; ".join(piece.strip() for piece in self.shows)
        return f"on the board of {self.describe}{named}{settings}: {pieces}"

    def said(self, found: Any) -> str:
        return _missing(self.shows, found)

    def holds(self, found: Any) -> bool:
        return list(found) == list(self.shows)


class ZooCheck(Settings):
    """Systems that exist, whose spec is valid and whose network can be built."""

    zoo: tuple[str, ...] = Field(min_length=1)
    """Their names."""

    @property
    def command(self) -> str:
        return f"regard train {self.zoo[0]}"

    def value(self) -> Any:
        from regard.course.lectures.instruments import parameters

        return [name for name in self.zoo if name in zoo.names() and parameters(name)["together"]]

    def told(self) -> str:
        return f"in the zoo: {', '.join(self.zoo)}"

    def said(self, found: Any) -> str:
        return _missing(self.zoo, found)

    def holds(self, found: Any) -> bool:
        return list(found) == list(self.zoo)


class TrainedCheck(Truth):
    """A figure of a longer training, read from stored results (`evidence`), and not computed again: the mean over the
    seeds that were trained."""

    trained: str
    """What `regard train` was given: a system of the zoo with settings, or a recipe; with --seed N, that seed alone."""
    score: str = ""
    """Split and metric, as test.bleu; BLEU of inputs of some length, as by_length.5–6; by a column, as by.things.1."""
    answers: tuple[str, ...] = ()
    """Or inputs: the value is what the model of the first seed wrote for each."""
    best: str = ""
    """Take the seed with the highest score of this name, as dev.accuracy, instead of the mean over the seeds."""
    percent: bool = False
    """Whether the figure is told in percent."""

    @model_validator(mode="after")
    def _one_figure(self) -> TrainedCheck:
        if bool(self.score) == bool(self.answers):
            raise ValueError("expected either score or answers")
        return self

    @property
    def command(self) -> str:
        return f"regard train {self.trained}"

    def value(self) -> Any:
        found = evidence_for(self.trained)
        if self.answers:
            return [found[0].answer(one) for one in self.answers]
        values = self.of_seeds()
        return fmean(values)

    def of_seeds(self) -> list[float]:
        """The score of each seed, or of the best one."""
        found = evidence_for(self.trained)
        if self.best:
            found = [max(found, key=lambda one: one.score(self.best))]
        return [(100 if self.percent else 1) * one.score(self.score) for one in found]

    def source(self) -> str:
        """Where the figure comes from."""
        found = evidence_for(self.trained)
        how = f"best of {len(found)} seeds by {self.best}" if self.best else f"mean of {len(found)} seeds"
        seeds = f", {how}" if len(found) > 1 else ""
        return f"{self.score or 'answers'} of {found[0].source}{'' if self.answers else seeds}"


class OrderCheck(Settings):
    """An order of longer trainings by a stored figure, or of several figures of one: each mean over the seeds is above
    the one before."""

    order: tuple[str, ...] = Field(min_length=1)
    """What `regard train` was given, from the lowest figure to the highest; or one training, with several scores."""
    score: str | tuple[str, ...]
    """Split and metric, as for `trained`; or the scores of one training, from the lowest to the highest."""
    of: str
    """The name of the figure."""
    apart: NotNegative = 0.0
    """How much each mean must at least be above the one before."""
    every: bool = False
    """Whether every seed must be above every seed of the one before."""
    best: str = ""
    """Take the seed with the highest score of this name, as dev.accuracy, instead of all seeds."""
    percent: bool = False
    """Whether the figure is told in percent."""

    @model_validator(mode="after")
    def _two_or_more(self) -> OrderCheck:
        several = not isinstance(self.score, str)
        if (len(self.score) if several else len(self.order)) < 2 or (several and len(self.order) > 1):
            raise ValueError("expected several trainings and one score, or one training and several scores")
        return self

    @property
    def command(self) -> str:
        return f"regard train {self.order[0]}"

    @property
    def figures(self) -> tuple[TrainedCheck, ...]:
        """The figures to compare, from the lowest to the highest."""
        scores = (self.score,) if isinstance(self.score, str) else self.score
        return tuple(
            TrainedCheck(trained=one, score=score, of=self.of, best=self.best, percent=self.percent)
            for one in self.order
            for score in scores
        )

    def value(self) -> Any:
        """The values of all seeds, or of the best one, for each figure."""
        return [one.of_seeds() for one in self.figures]

    def told(self) -> str:
        by = f", each by {written(self.apart)} or more" if self.apart else ""
        named = self.order if isinstance(self.score, str) else self.score
        return f"{self.of}: {' < '.join(named)}{by}{', every seed' if self.every else ''}"

    def said(self, found: Any) -> str:
        return " < ".join(_mean_and_range(seeds) for seeds in found)

    def source(self) -> str:
        """Where the figures come from."""
        scores = self.score if isinstance(self.score, str) else ", ".join(self.score)
        how = f", the best seeds by {self.best}" if self.best else ""
        return f"{scores} of {', '.join(evidence_for(one)[0].source for one in self.order)}{how}"

    def holds(self, found: Any) -> bool:
        def above(low: list[float], high: list[float]) -> bool:
            ahead = fmean(high) - fmean(low)
            return ahead > 0 and ahead >= self.apart and (not self.every or min(high) > max(low))

        return all(above(*two) for two in pairwise(found))


def _mean_and_range(seeds: list[float]) -> str:
    low, mean, high = (f"{one:.4g}" for one in (min(seeds), fmean(seeds), max(seeds)))
    return f"{mean} ({low} to {high}, {len(seeds)} seeds)" if len(seeds) > 1 else f"{mean} (one seed)"


def _missing(wanted: tuple[str, ...], found: Any) -> str:
    missing = [one for one in wanted if one not in found]
    return f"missing: {'; '.join(missing)}" if missing else "there"


def _kind(value: Any) -> str | None:
    keys = (
        value
        if isinstance(value, Mapping)
        else type(value).model_fields
        if isinstance(value, Settings)
        else ()
    )
    return next(
        (name for name in ("lab", "python", "describe", "zoo", "trained", "order") if name in keys), None
    )


Check = Annotated[
    Annotated[LabCheck, Tag("lab")]
    | Annotated[PythonCheck, Tag("python")]
    | Annotated[BoardCheck, Tag("describe")]
    | Annotated[ZooCheck, Tag("zoo")]
    | Annotated[TrainedCheck, Tag("trained")]
    | Annotated[OrderCheck, Tag("order")],
    Discriminator(
        _kind,
        custom_error_type="kind_of_check",
        custom_error_message="a check has one of the keys lab, python, describe, zoo, trained, order",
    ),
]
"""Any kind of check; its key tells the kind."""


def evaluated(code: str) -> Any:
    """Run Python code and return the value of its last line, an expression."""
    tree = ast.parse(code.strip())
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        raise ValueError("the last line is no expression")
    value = ast.Assign([ast.Name("__value__", ast.Store())], last.value)
    tree.body[-1] = ast.fix_missing_locations(ast.copy_location(value, last))
    known = dict(_names())
    exec(compile(tree, "<entry>", "exec"), known)  # our own code, from the deck
    return known["__value__"]


@cache
def _names() -> dict[str, Any]:
    """The names that an entry's Python code can use."""
    known: dict[str, Any] = {}
    exec(PREAMBLE, known)
    return known


class _Held:
    """Settings that are ignored as part of a cache key."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)

    def __hash__(self) -> int:
        return 0


@cache
def _lab(name: str, key: str, held: _Held) -> Any:
    from regard.course.lab import run

    return run(name, **held.settings)


def _quoted(text: str) -> str:
    return f"'{text}'" if any(sign in text for sign in " {}[]*<>|&;") else text
