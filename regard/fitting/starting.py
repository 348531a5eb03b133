"""Starting from a trained model: its columns and its weights, matched by word, character and class."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torch import nn

from regard.data.columns import Column
from regard.errors import RegardError
from regard.model.building import shared_with
from regard.model.loading import check_digests, read_columns
from regard.model.saving import COLUMNS, SPEC
from regard.model.unit_axes import UnitKind, unit_axes
from regard.spec import Spec
from regard.spec.sections import StartFromOptions
from regard.storage.hub import fetched
from regard.training.weights import MatchedRows, start_from

SHOWN = 5
"""Number of new units that a message names."""


@dataclass
class Start:
    """The model that `training.start_from` names.

    path       its folder, or a file of weights
    keep       whether its vocabularies are kept
    columns    its columns; empty for a file of weights
    said       remarks about the columns, for the message
    """

    path: Path
    keep: bool
    columns: Mapping[str, Column]
    said: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, options: StartFromOptions) -> Start:
        path = Path(fetched(options.run)).expanduser()
        columns: Mapping[str, Column] = {}
        if (path / SPEC).is_file() and (path / COLUMNS).is_file():
            check_digests(path)
            columns = read_columns(path / COLUMNS)
        elif options.vocabulary == "keep":
            raise RegardError(
                f"no {SPEC} and {COLUMNS}, so there is no vocabulary to keep.",
                where=str(path),
                fix="Give the folder of a finished model in training.start_from.run, or leave vocabulary out.",
            )
        return cls(path, options.vocabulary == "keep", columns)

    def inherited(self, columns: Mapping[str, Column], spec: Spec) -> list[str]:
        """The columns that take the fitted state of that model and need no fitting."""
        alike = self._alike(columns, spec)
        return [name for name, column in columns.items() if column.inherits and name in alike]

    def _alike(self, columns: Mapping[str, Column], spec: Spec) -> set[str]:
        """The columns that are the same in that model, with the same options, as are those that share their
        vocabulary."""
        owners = shared_with(spec)
        different = {
            owners.get(name, name) for name, column in columns.items() if self._differs(name, column)
        }
        return {name for name in columns if owners.get(name, name) not in different}

    def _differs(self, name: str, column: Column) -> bool:
        theirs = self.columns.get(name)
        return theirs is None or theirs.type != column.type or _options(theirs) != _options(column)

    def set_columns(self, columns: Mapping[str, Column], spec: Spec) -> None:
        """Take the fitted state of that model where it is kept; `columns` are fitted to the new data."""
        owners, same = shared_with(spec), self._alike(columns, spec)
        for name, column in columns.items():
            alike = name in same
            if self.keep and self._differs(name, column) and column.learned():
                theirs = self.columns.get(name)
                raise RegardError(
                    f"the vocabulary of {name} cannot be kept: "
                    + ("that model has no such column." if theirs is None else _difference(column, theirs)),
                    where=f"training.start_from: {self.path}",
                    fix="Use the same columns as that model, or leave out vocabulary: keep.",
                )
            if alike and (self.keep or column.inherits):
                column.inherit(self.columns[name])
                if name not in owners and column.learned():
                    what = " and ".join(column.units()) or "scale"
                    self.said.append(f"{what} of {name}: kept")
            elif name in self.columns and column.inherits and column.learned():
                self.said.append(
                    f"{name}: fitted to the new data, because its options differ from those of that model"
                )

    def load(self, network: nn.Module, columns: Mapping[str, Column], spec: Spec) -> str:
        """Copy the weights into the network; returns what was loaded, mapped and new."""
        kinds = self._changed_kinds(columns, spec)
        if not self.columns:
            with_units = [name for name, column in columns.items() if column.units()]
            rows = "; rows of words and classes are copied by position" if with_units else ""
            return f"{start_from(network, self.path)}\n  this source has no vocabularies{rows}"
        if not kinds:
            return "\n".join([str(start_from(network, self.path)), *self._remarks(columns, kinds)])
        mine = unit_axes(spec, columns, kinds)
        theirs = unit_axes(spec, self._stand_in(columns), [one for one in kinds if self._has(one, columns)])
        matched = MatchedRows(
            {
                name: {
                    axis: (names, theirs.names.get(name, {}).get(axis, ())) for axis, names in axes.items()
                }
                for name, axes in mine.names.items()
            },
            unknown=mine.unknown | theirs.unknown,
        )
        return "\n".join(
            [str(start_from(network, self.path, matched)), *self._remarks(columns, kinds)],
        )

    def _has(self, kind: UnitKind, columns: Mapping[str, Column]) -> bool:
        """Whether that model has units of this kind, in a column of the same type."""
        column, what = kind
        theirs = self.columns.get(column)
        return theirs is not None and theirs.type == columns[column].type and what in theirs.units()

    def _stand_in(self, columns: Mapping[str, Column]) -> dict[str, Column]:
        """The columns of that model, completed by those of the new one."""
        return {
            name: self.columns[name]
            if name in self.columns and self.columns[name].type == column.type
            else column
            for name, column in columns.items()
        }

    def _changed_kinds(self, columns: Mapping[str, Column], spec: Spec) -> list[UnitKind]:
        """The kinds of units that are not the same in both models."""
        owners = shared_with(spec)
        return [
            (name, kind)
            for name, column in columns.items()
            if name not in owners
            for kind, units in column.units().items()
            if not self._has((name, kind), columns) or list(self.columns[name].units()[kind]) != list(units)
        ]

    def _remarks(self, columns: Mapping[str, Column], kinds: Sequence[UnitKind]) -> list[str]:
        lines = [f"  {said}" for said in self.said]
        for name, kind in kinds:
            if name not in self.columns:
                continue
            if not self._has((name, kind), columns):
                lines.append(f"  {kind} of {name}: all new, because that model has another kind of column")
                continue
            mine, theirs = columns[name].units()[kind], set(self.columns[name].units()[kind])
            lines.append(f"  {kind} of {name}: {_compared(mine, theirs)}")
        return lines


def _compared(mine: Sequence[Hashable], theirs: set[Hashable]) -> str:
    """812 of 900 known, 88 new (…), 3 of that model not used; special entries do not count."""
    units = [unit for unit in mine if not isinstance(unit, tuple)]
    new = [str(unit) for unit in units if unit not in theirs]
    left = len([unit for unit in theirs - set(mine) if not isinstance(unit, tuple)])
    if not new and not left:
        return f"all {len(units):,} known, in another order"
    shown = ", ".join(new[:SHOWN]) + (", …" if len(new) > SHOWN else "")
    parts = [f"{len(units) - len(new):,} of {len(units):,} known"]
    parts += [f"{len(new):,} new ({shown})"] if new else []
    parts += [f"{left:,} of that model not used"] if left else []
    return ", ".join(parts)


def _options(column: Column) -> dict[str, object]:
    """The options on which the fitted state depends: all but the name of the field."""
    return {key: value for key, value in column.options().items() if key != "field"}


def _difference(column: Column, theirs: Column) -> str:
    if theirs.type != column.type:
        return f"it is of type {column.type}, and of type {theirs.type} in that model."
    mine, other = _options(column), _options(theirs)
    key = next(key for key in (*mine, *other) if mine.get(key) != other.get(key))
    return f"its {key} is {mine.get(key)!r}, and {other.get(key)!r} in that model."
