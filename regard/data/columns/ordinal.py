"""An ordinal label: one of a few classes that have an order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from regard.data.columns.label import LabelColumn
from regard.errors import RegardError
from regard.parts import register


@register("column", "ordinal")
class OrdinalColumn(LabelColumn):
    """A class as its number, from 0 for the lowest. Classes that are numbers have the order of numbers; the order of
    others must be given."""

    class Options(LabelColumn.Options):
        """One of several classes in order: stars, grades, sizes."""

        classes: tuple[str, ...] | None = None
        """Names of the classes, from the lowest to the highest; default: those in the training data, if they are
        numbers. If given, a row with another class is a bad row, in dev and test too."""

    type = "ordinal"
    usual: ClassVar[tuple[str, ...]] = ("rank_error", "kappa", "accuracy")
    decoder = "ordinal"

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: one of {len(options.classes) if options.classes else 'several'} classes in order"

    def learn(self, values: Iterable[str]) -> None:
        counts = Counter(value.strip() for value in values if value.strip() or not self.may_lack)
        self._set_classes(self._given if self._given is not None else self._in_order(list(counts)))
        self.counts = [counts[value] for value in self.classes]
        if self.size < 2:
            raise RegardError(
                f"an ordinal output needs at least two classes; there is {self.size}.", where=self.name
            )

    def _in_order(self, classes: Sequence[str]) -> list[str]:
        try:
            return sorted(classes, key=float)
        except ValueError:
            wrong = next(one for one in classes if not _is_number(one))
            raise RegardError(
                f"the order of the classes is not known: {wrong[:40]!r} is not a number.",
                where=f"outputs.{self.name}.classes",
                fix="Name them from the lowest to the highest:  classes: [low, middle, high]",
            ) from None


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
