"""Unknown units in inputs and targets: words and characters outside the vocabularies of a model."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from regard.data.turns import shortened
from regard.errors import RegardError
from regard.model import Model

MOST_SHOWN = 5


class UnknownCount:
    """How many of the counted things have unknown units, and which units these are.

    kind   what is counted: input, target or token
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.total = self.found = 0
        self.units: dict[str, None] = {}

    def add(self, units: Sequence[str]) -> None:
        self.total += 1
        self.found += bool(units)
        self.units.update(dict.fromkeys(units))

    def tell(self) -> None:
        """Report them on standard error."""
        if not self.found:
            return
        shown = ", ".join(repr(shortened(unit)) for unit in list(self.units)[:MOST_SHOWN])
        more = len(self.units) - MOST_SHOWN
        if self.kind == "token":
            of = f"{self.found:,} of {self.total:,} tokens are"
        elif self.total == 1:
            of = f"The {self.kind} has units"
        else:
            of = f"{self.found:,} of {self.total:,} {self.kind}s {'has' if self.found == 1 else 'have'} units"
        told = f"{of} outside the vocabulary: {shown}" + (f" and {more:,} more" if more > 0 else "")
        print(f"{told}.", file=sys.stderr)


class UnknownUnits:
    """Counts the inputs and targets of a model with unknown units, and reports them once at the end."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.inputs, self.targets = UnknownCount("input"), UnknownCount("target")

    def look_at(self, given: Iterable[Any]) -> None:
        for one in given:
            self.inputs.add(self._of_input(one))

    def look_at_target(self, given: Any, target: str, output: str | None = None) -> None:
        """Of a model that copies, words of the input are no unknown units of the target."""
        name = self.model.output_name(output)
        column = self.model.columns[name]
        units = column.unknown_units(target) if column.check_value(target) is None else []
        copied = self._copied_pieces(given, name) if units else set()
        self.targets.add([unit for unit in units if unit not in copied])

    def tell(self) -> None:
        self.inputs.tell()
        self.targets.tell()

    def _of_input(self, given: Any) -> list[str]:
        try:
            row = self.model.row(given)
        except RegardError:  # `predict` reports it
            return []
        units: list[str] = []
        for name in self.model.spec.inputs:
            column = self.model.columns[name]
            value = row.get(column.field)
            if value is not None and column.check_value(value) is None:  # `predict` refuses others
                units += column.unknown_units(value)
        return units

    def _copied_pieces(self, given: Any, output: str) -> set[str]:
        """The pieces of the input that the decoder of an output can copy."""
        decoder: Any = self.model.network.decoders[output]
        source = decoder.copies_from
        if source is None:
            return set()
        column = self.model.columns[source]
        return set(column.copied(self.model.row(given)[column.field]))
