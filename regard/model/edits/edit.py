"""Edits: changes of what a model looks at, as data. Each is a frozen dataclass, and a dict in JSON:

    PinEdit(step=2, position=3)      {"edit": "pin", "step": 2, "position": 3}

`input` names the input; it may be left out if the output attends to one input. `step` is the number of an output
piece, or of a glimpse or hop; None is every step. Positions and steps count from 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, Literal, Self

from regard.errors import Option, RegardError
from regard.parts import nearest

How = Literal["force", "forbid"]
WHERE = Option("look")
"""The place that messages show: the name of the argument."""


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A change of what the model looks at.

    kind    the name of the edit in JSON
    rows    whether the edit sets the whole row of a step
    renamed fields with another name in JSON
    """

    kind: ClassVar[str]
    rows: ClassVar[bool] = False
    renamed: ClassVar[Mapping[str, str]] = {}

    input: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The edit for JSON."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        if self.input is None:
            del values["input"]
        return {
            "edit": self.kind,
            **{self.renamed.get(name, name): _plain(one) for name, one in values.items()},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The edit of JSON; its kind is already known."""
        known = {cls.renamed.get(one.name, one.name): one for one in fields(cls)}
        for name in values:
            if name not in known and name != "edit":
                raise RegardError(
                    f"a {cls.kind} edit has no {name!r}.", where=WHERE, fix=nearest(str(name), list(known))
                )
        for name, one in known.items():
            if name not in values and one.default is MISSING and one.default_factory is MISSING:
                raise RegardError(
                    f"the {cls.kind} edit lacks {name!r}.",
                    where=WHERE,
                    fix=f"A {cls.kind} edit has {', '.join(known)}.",
                )
        return cls(**{known[name].name: value for name, value in values.items() if name != "edit"})

    def __post_init__(self) -> None:
        if self.input is not None and not isinstance(self.input, str):
            raise self._wrong("input", "the name of an input", self.input)

    def _wrong(self, name: str, expected: str, received: Any) -> RegardError:
        return RegardError(
            f"{name} of a {self.kind} edit: expected {expected}, received {received!r}.", where=WHERE
        )

    def _check_number(self, name: str, *, optional: bool = False) -> None:
        value = getattr(self, name)
        if optional and value is None:
            return
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._wrong(name, "a number from 0", value)


@dataclass(frozen=True, kw_only=True)
class StepEdit(Edit):
    """An edit of one step, or of every step."""

    step: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_number("step", optional=True)


@dataclass(frozen=True, kw_only=True)
class WeightsEdit(StepEdit):
    """The row becomes these weights, by position; renormalized to sum to 1."""

    kind = "weights"
    rows = True

    weights: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.weights
        if not isinstance(given, Mapping) or not given:
            raise self._wrong("weights", 'weights by position such as {"3": 0.7}', given)
        found = {}
        for place, weight in given.items():
            number = int(place) if isinstance(place, str) and place.isdecimal() else place
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                raise self._wrong("weights", "positions from 0", place)
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < math.inf:
                raise self._wrong("weights", "weights of at least 0", weight)
            found[number] = float(weight)
        if not sum(found.values()) > 0:
            raise self._wrong("weights", "a weight above 0", given)
        object.__setattr__(self, "weights", found)


@dataclass(frozen=True, kw_only=True)
class PinEdit(StepEdit):
    """All weight goes to one position."""

    kind = "pin"
    rows = True

    position: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_number("position")


@dataclass(frozen=True, kw_only=True)
class ZeroEdit(StepEdit):
    """These positions get no weight; the others share it in proportion to their own."""

    kind = "zero"

    positions: Sequence[int]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "positions", _numbers(self, "positions", self.positions))


@dataclass(frozen=True, kw_only=True)
class UniformEdit(StepEdit):
    """All positions get the same weight."""

    kind = "uniform"
    rows = True


@dataclass(frozen=True, kw_only=True)
class PermuteEdit(StepEdit):
    """The model's own weights, at positions drawn at random."""

    kind = "permute"

    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_number("seed")


@dataclass(frozen=True, kw_only=True)
class TruthEdit(Edit):
    """The true attention of the row replaces the model's own where it is known."""

    kind = "truth"
    rows = True


@dataclass(frozen=True, kw_only=True)
class RegionEdit(StepEdit):
    """Equal weights in a box of an image: left, top, right, bottom, as fractions of width and height. Regions of one
    step that follow each other add up."""

    kind = "region"
    rows = True

    box: Sequence[float]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "box", _fractions(self, "box", self.box, (4,)))


@dataclass(frozen=True, kw_only=True)
class SpanEdit(StepEdit):
    """Equal weights in a span of time, as fractions of the duration. Spans of one step that follow each other add
    up."""

    kind = "span"
    rows = True
    renamed = {"start": "from", "end": "to"}

    start: float
    end: float

    def __post_init__(self) -> None:
        super().__post_init__()
        start, end = _fractions(self, "from and to", (self.start, self.end), (2,))
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)


@dataclass(frozen=True, kw_only=True)
class ArcEdit(Edit):
    """The word `dependent` must have, or must not have, the head `head`. Words count from 1; head 0 is the root."""

    kind = "arc"

    head: int
    dependent: int
    how: How = "force"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_number("head")
        self._check_number("dependent")
        _check_how(self)
        if self.dependent < 1 or self.dependent == self.head:
            raise self._wrong("dependent", "a word from 1 that is not its own head", self.dependent)


@dataclass(frozen=True, kw_only=True)
class SegmentEdit(StepEdit):
    """The positions start … end − 1 must be, or must not be, a whole segment."""

    kind = "segment"

    start: int
    end: int
    how: How = "force"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_number("start")
        self._check_number("end")
        _check_how(self)
        if self.end <= self.start:
            raise self._wrong("end", f"a number above {self.start}", self.end)


@dataclass(frozen=True, kw_only=True)
class MaskEdit(Edit):
    """Words of the input become the unknown word; a box of an image gets its mean color."""

    kind = "mask"

    positions: Sequence[int] = ()
    box: Sequence[float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.positions) == (self.box is not None):
            raise self._wrong("positions", "positions of words, or a box of an image", self.positions)
        if self.box is None:
            object.__setattr__(self, "positions", _numbers(self, "positions", self.positions))
        else:
            object.__setattr__(self, "box", _fractions(self, "box", self.box, (4,)))

    def to_dict(self) -> dict[str, Any]:
        values = super().to_dict()
        del values["positions" if self.box is not None else "box"]
        return values


EDITS: Mapping[str, type[Edit]] = {
    one.kind: one
    for one in (
        WeightsEdit,
        PinEdit,
        ZeroEdit,
        UniformEdit,
        PermuteEdit,
        TruthEdit,
        RegionEdit,
        SpanEdit,
        ArcEdit,
        SegmentEdit,
        MaskEdit,
    )
}
"""The edits by their names in JSON."""


def edit_of(value: Edit | Mapping[str, Any]) -> Edit:
    """An edit, from itself or from its form in JSON."""
    if isinstance(value, Edit):
        return value
    if not isinstance(value, Mapping):
        raise RegardError(
            f"expected an edit, received {value!r}.",
            where=WHERE,
            fix='Write  {"edit": "pin", "step": 0, "position": 3}.',
        )
    kind = value.get("edit")
    if not isinstance(kind, str) or kind not in EDITS:
        raise RegardError(f"there is no edit {kind!r}.", where=WHERE, fix=nearest(str(kind), list(EDITS)))
    return EDITS[kind].from_dict(value)


def _numbers(edit: Edit, name: str, values: Any) -> tuple[int, ...]:
    listed = isinstance(values, Sequence) and not isinstance(values, str) and len(values) > 0
    if not listed or any(isinstance(one, bool) or not isinstance(one, int) or one < 0 for one in values):
        raise edit._wrong(name, "a list of positions from 0", values)
    return tuple(values)


def _fractions(edit: Edit, name: str, values: Any, sizes: Sequence[int]) -> tuple[float, ...]:
    """Numbers from 0 to 1, the ends after the beginnings."""
    listed = isinstance(values, Sequence) and not isinstance(values, str) and len(values) in sizes
    if not listed or any(
        isinstance(one, bool) or not isinstance(one, int | float) or not 0 <= one <= 1 for one in values
    ):
        raise edit._wrong(name, f"{' or '.join(map(str, sizes))} numbers from 0 to 1", values)
    half = len(values) // 2
    if any(low >= high for low, high in zip(values[:half], values[half:], strict=True)):
        raise edit._wrong(name, "an end after its beginning; it is empty", values)
    return tuple(float(one) for one in values)


def _check_how(edit: ArcEdit | SegmentEdit) -> None:
    if edit.how not in ("force", "forbid"):
        raise edit._wrong("how", "'force' or 'forbid'", edit.how)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(place): weight for place, weight in value.items()}
    return list(value) if isinstance(value, tuple) else value
