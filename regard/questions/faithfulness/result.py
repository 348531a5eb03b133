"""What was found: the measures of every output piece, their table with intervals, flags, JSON both ways."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.data.ragged import Array
from regard.questions.faithfulness.intervals import BootstrapInterval, mean_interval, resampled_rows
from regard.questions.faithfulness.kinds import ATTENTION, HIGHER, RANDOM
from regard.storage.files import write_text

if TYPE_CHECKING:
    from regard.inspect import Scene


@dataclass(frozen=True)
class PieceMeasures:
    """The measures of one output piece and one attended input.

    row       the number of the input, from 0
    input     the attended input
    step      the number of the output piece, from 0
    text      the piece
    log_p     its log-probability
    position  the most attended position; `word`: its text, `weight`: its weight
    effect    by how much log p falls if that position is removed
    values    {measure: {method: value}}; NaN is left out
    """

    row: int
    input: str
    step: int
    text: str
    log_p: float
    position: int
    word: str
    weight: float
    effect: float
    values: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Measured:
    """A measure of a method over all pieces.

    value    with its bootstrap interval over the answers
    random   the same of random orders; None if it has none
    gain     how much better than random: positive is better, whichever way the measure runs
    """

    measure: str
    method: str
    value: BootstrapInterval
    random: BootstrapInterval | None = None
    gain: BootstrapInterval | None = None

    @property
    def verdict(self) -> str:
        """better, worse or as random: whether the interval of the gain leaves out zero."""
        if self.gain is None or self.gain.low != self.gain.low:
            return ""
        return "better" if self.gain.low > 0 else "worse" if self.gain.high < 0 else "as random"


@dataclass(frozen=True)
class Paired:
    """A measure of two models on the same inputs; difference: second minus first, in the gain over random."""

    measure: str
    first: BootstrapInterval
    second: BootstrapInterval
    difference: BootstrapInterval


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """Whether the attention of a model tells what its answers depend on.

    name       of the model
    output     the output that was examined
    pieces     the measures of every output piece
    rows       number of inputs; `skipped`: those without an answer or with a single position
    settings   how positions were removed, the bins, seeds and draws
    remarks    what was left out, and why
    """

    name: str
    output: str
    pieces: Sequence[PieceMeasures]
    rows: int
    skipped: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    remarks: Sequence[str] = ()

    @cached_property
    def table(self) -> list[Measured]:
        """Every measure and method, with intervals against random."""
        found = []
        counts = resampled_rows(self.rows, int(self.settings.get("seed", 1)))
        for measure in dict.fromkeys(name for piece in self.pieces for name in piece.values):
            random = self._sums(measure, RANDOM)
            methods = dict.fromkeys(m for piece in self.pieces for m in piece.values.get(measure, ()))
            for method in methods:
                if method == RANDOM:
                    continue
                mine = self._sums(measure, method)
                value = mean_interval(mine, counts)
                if measure not in HIGHER or not random[:, 1].any():
                    found.append(Measured(measure, method, value))
                    continue
                sign = 1.0 if HIGHER[measure] else -1.0
                gain = mean_interval(self._gains(measure, method, sign), counts)
                found.append(Measured(measure, method, value, mean_interval(random, counts), gain))
        return found

    def measured(self, measure: str, method: str = ATTENTION) -> Measured | None:
        """One line of the table."""
        return next((one for one in self.table if (one.measure, one.method) == (measure, method)), None)

    def against(self, other: Faithfulness) -> list[Paired]:
        """The gains of this model's attention and of another's on the same inputs, paired."""
        from regard.errors import RegardError

        if self.rows != other.rows:
            raise RegardError(
                f"the two were measured on {self.rows} and {other.rows} inputs; pairs need the same inputs."
            )
        counts = resampled_rows(self.rows, int(self.settings.get("seed", 1)))
        found = []
        for line in self.table:
            if line.method != ATTENTION or other.measured(line.measure) is None:
                continue
            if line.gain is None:
                mine, theirs = self._sums(line.measure, ATTENTION), other._sums(line.measure, ATTENTION)
            else:
                sign = 1.0 if HIGHER[line.measure] else -1.0
                mine, theirs = (one._gains(line.measure, ATTENTION, sign) for one in (self, other))
            both = (mean_interval(mine, counts), mean_interval(theirs, counts))
            found.append(Paired(line.measure, *both, mean_interval(theirs, counts, mine)))
        return found

    @cached_property
    def flagged(self) -> dict[int, bool]:
        """For each answer whether its attention misleads: see `docs/faithfulness.md`."""
        from regard.questions.faithfulness.flags import flagged

        return flagged(self.pieces, seed=int(self.settings.get("seed", 1)))

    def _sums(self, measure: str, method: str) -> Array:
        """(rows, 2) the sum over the pieces of each row, and their number."""
        table = np.zeros((self.rows, 2))
        for piece in self.pieces:
            value = piece.values.get(measure, {}).get(method)
            if value is not None:
                table[piece.row] += value, 1.0
        return table

    def _gains(self, measure: str, method: str, sign: float) -> Array:
        table = np.zeros((self.rows, 2))
        for piece in self.pieces:
            values = piece.values.get(measure, {})
            if method in values and RANDOM in values:
                table[piece.row] += sign * (values[method] - values[RANDOM]), 1.0
        return table

    def plot(self, *others: Faithfulness) -> Scene:
        """Bars of each measure with intervals, beside random; other models beside it."""
        from regard.questions.faithfulness.drawing import faithfulness_figure

        return faithfulness_figure([self, *others])

    def _repr_html_(self) -> str:
        return self.plot()._repr_html_()

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.pieces)} pieces of {self.rows - self.skipped} answers"]
        for one in self.table:
            more = "" if one.gain is None else f", random {one.random.value:.3f}, {one.verdict}"  # type: ignore[union-attr]
            lines.append(f"  {one.measure} ({one.method}) {one.value}{more}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: all pieces, and the table, which is computed from them."""
        return {
            "name": self.name,
            "output": self.output,
            "rows": self.rows,
            "skipped": self.skipped,
            "settings": dict(self.settings),
            "remarks": list(self.remarks),
            "table": [
                {
                    "measure": one.measure,
                    "method": one.method,
                    **one.value.to_dict(),
                    **({} if one.random is None else {"random": one.random.to_dict()}),
                    **({} if one.gain is None else {"gain": one.gain.to_dict(), "verdict": one.verdict}),
                }
                for one in self.table
            ],
            "flagged": sorted(row for row, bad in self.flagged.items() if bad),
            "pieces": [
                {**vars(piece), "values": {name: dict(ways) for name, ways in piece.values.items()}}
                for piece in self.pieces
            ],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Faithfulness:
        """The inverse of `to_dict`."""
        return cls(
            name=values["name"],
            output=values["output"],
            pieces=[PieceMeasures(**piece) for piece in values["pieces"]],
            rows=values["rows"],
            skipped=values.get("skipped", 0),
            settings=values.get("settings", {}),
            remarks=values.get("remarks", ()),
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write it as .json, or its figure as .svg, .html, .png or .pdf."""
        if str(path).lower().endswith(".json"):
            write_text(Path(path), json.dumps(self.to_dict(), ensure_ascii=False) + "\n")
        else:
            self.plot().save(path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Faithfulness:
        """What `save` wrote as .json."""
        return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
