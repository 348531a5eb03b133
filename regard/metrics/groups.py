"""A metric by group: by the values of one or two fields, or by the position in the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import Option, RegardError
from regard.metrics.metric import OutputMetric, as_references, output_metric
from regard.metrics.significance import interval_of

MOST = 60
"""Maximum number of distinct values of a field that defines groups."""
SAMPLES = 1000


@dataclass(frozen=True)
class GroupScore:
    """The score of the rows of one group.

    interval   95 % interval of the values on resamples of these rows
    """

    group: tuple[str, ...]
    n: int
    value: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class ByGroup:
    """A metric by one or two fields, with a cell for each combination of values that has rows, in order."""

    metric: str
    names: tuple[str, ...]
    cells: tuple[GroupScore, ...]

    def labels(self, name: int) -> list[str]:
        """The values of a field in order: numeric if all are numbers, else alphabetical."""
        return self.ordered({cell.group[name] for cell in self.cells})

    @staticmethod
    def ordered(values: set[str]) -> list[str]:
        """Numeric order if all are numbers, else alphabetical."""
        try:
            return sorted(values, key=lambda value: float(value.replace("−", "-")))
        except ValueError:
            return sorted(values)

    def table(self) -> list[tuple[Any, ...]]:
        """Lines of (values of the fields, number of rows, value, bounds of the interval)."""
        return [(*cell.group, cell.n, cell.value, *cell.interval) for cell in self.cells]

    def values(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """For two fields: (values of the first, values of the second), NaN without rows."""
        first, second = self.labels(0), self.labels(1)
        found = np.full((len(first), len(second)), np.nan)
        for cell in self.cells:
            found[first.index(cell.group[0]), second.index(cell.group[1])] = cell.value
        return found

    def counts(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """For two fields: the number of rows behind each of `values`."""
        first, second = self.labels(0), self.labels(1)
        found = np.zeros((len(first), len(second)), dtype=np.float64)
        for cell in self.cells:
            found[first.index(cell.group[0]), second.index(cell.group[1])] = cell.n
        return found


def by_group(
    metric: OutputMetric,
    predictions: Sequence[Any],
    references: Sequence[Any],
    groups: Sequence[tuple[str, ...]],
    names: Sequence[str],
    *,
    samples: int = SAMPLES,
) -> ByGroup:
    """The metric on the rows of each group, with intervals from `samples` resamples.

    groups   the values of the fields for each row
    """
    if len(groups) != len(predictions):
        raise RegardError(
            f"expected a group for each of {len(predictions)} predictions, received {len(groups)}."
        )
    lines = metric.statistics(predictions, as_references(predictions, references))
    return ByGroup(metric.name, tuple(names), _cells(metric, lines, groups, names, samples))


def by_place(
    predictions: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    groups: Sequence[tuple[str, ...]],
    names: Sequence[str],
    *,
    place: int = 0,
    samples: int = SAMPLES,
) -> ByGroup:
    """The share of correct units by their position in the true output, counted from its end: −1 is the last.

    predictions, references   the units of each predicted and true output
    groups, names             further fields that define groups; the position is inserted before the one at index
                              `place`
    """
    right: list[Any] = []
    places: list[tuple[str, ...]] = []
    for written, true, group in zip(predictions, references, groups, strict=True):
        for back in range(1, len(true) + 1):
            right.append([float(len(written) >= back and written[-back] == true[-back]), 1.0])
            places.append((*group[:place], f"−{back}", *group[place:]))
    named = (*names[:place], "place", *names[place:])
    cells = _cells(output_metric("exact"), np.array(right).reshape(-1, 2), places, named, samples)
    return ByGroup("right", named, cells)


def _cells(
    metric: OutputMetric, lines: Any, groups: Sequence[tuple[str, ...]], names: Sequence[str], samples: int
) -> tuple[GroupScore, ...]:
    for place, name in enumerate(names):
        count = len({group[place] for group in groups})
        if count > MOST:
            raise RegardError(
                f"{name} has {count:,} different values, more than {MOST}.",
                where=Option("by"),
                fix="Choose a field with few values: a level, a label.",
            )
    members: dict[tuple[str, ...], list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    orders = [ByGroup.ordered({group[place] for group in members}) for place in range(len(names))]
    found = []
    for group in sorted(
        members, key=lambda one: [orders[place].index(one[place]) for place in range(len(one))]
    ):
        sure = interval_of(metric, lines[members[group]], samples=samples)
        found.append(GroupScore(group, len(members[group]), sure.value, (sure.low, sure.high)))
    return tuple(found)
