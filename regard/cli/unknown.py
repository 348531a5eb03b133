"""Unknown units in inputs: words and characters outside the vocabularies of a model."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from regard.data.batch import UNKNOWN
from regard.data.columns import Column, DocumentColumn, TextColumn
from regard.data.turns import shortened
from regard.errors import RegardError
from regard.model import Model

MOST_SHOWN = 5


class UnknownUnits:
    """Counts the inputs with unknown units, and reports them once at the end on standard error."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.inputs = self.found = 0
        self.units: dict[str, None] = {}

    def look_at(self, given: Iterable[Any]) -> None:
        for one in given:
            units = list(self._unknown(one))
            self.inputs += 1
            self.found += bool(units)
            self.units.update(dict.fromkeys(units))

    def tell(self) -> None:
        if not self.found:
            return
        shown = ", ".join(repr(shortened(unit)) for unit in list(self.units)[:MOST_SHOWN])
        more = len(self.units) - MOST_SHOWN
        of = "The input has" if self.inputs == 1 else f"{self.found:,} of {self.inputs:,} inputs have"
        told = f"{of} units that the model never saw: {shown}" + (f" and {more:,} more" if more > 0 else "")
        print(f"{told}.", file=sys.stderr)

    def _unknown(self, given: Any) -> Iterable[str]:
        try:
            row = self.model.row(given)
        except RegardError:  # `predict` reports it
            return
        for name in self.model.spec.inputs:
            column = self.model.columns[name]
            texts = [row[column.field]] if column.field in row else []
            words: Column = column
            if isinstance(column, DocumentColumn):
                whole = [
                    text for text in texts if column.check_value(text) is None
                ]  # `predict` refuses others
                texts, words = [one for text in whole for one in column.sentences(text)], column.words
            for text in texts if isinstance(words, TextColumn) else ():
                pieces, ids = words.tokens(text), words.encode(text).tolist()
                yield from (piece for piece, one in zip(pieces, ids, strict=False) if one == UNKNOWN)
