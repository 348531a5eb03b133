"""Label words: the words of a text from which each of its labels follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from regard.data.columns.column import Column
from regard.data.columns.multilabel import classes_of
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.parts import Mistakes, Plan, nearest, part, register


@register("column", "label_words")
class LabelWordsColumn(Column):
    """`sport:3 sport:7 music:1`: a label, a colon and a position of the input, counted from 0; there may be none.

    A blank in a label is written as `_`. The encoding is flat: label₁ position₁ label₂ position₂ …, with the labels
    numbered as the output numbers them.
    """

    class Options(Column.Options):
        """The words from which each of several labels follows: `sport:3 music:1`, label:position, counted from 0."""

        of: tuple[str, str] | None = None
        """The input and the output with several labels; default: the first input, and the only such output."""

    type = "label_words"
    roles: ClassVar[tuple[str, ...]] = ("truth",)
    usual: ClassVar[tuple[str, ...]] = ("label_words",)

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        of = cls.between(options, plan) or ("", "")
        output = plan.outputs[of[1]]
        return cls(name, of=of, field=options.field, separator=output.separator, classes=output.classes)

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: the words from which each label follows"

    @classmethod
    def between(cls, options: Any, plan: Plan) -> tuple[str, str] | None:
        outputs = _several(plan)
        return options.of or (next(iter(plan.inputs)), outputs[0] if outputs else "")

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        outputs = _several(plan)
        source, target = options.of or (next(iter(plan.inputs)), "")
        if options.of is None and len(outputs) != 1:
            mistakes.add(
                f"of must name an input and an output of type multilabel: there are {len(outputs)} such outputs.",
                "of",
                fix="Write  of: [INPUT, OUTPUT].",
            )
            return
        for kind, one, known in (
            ("input", source, [*plan.inputs]),
            ("output of type multilabel", target or outputs[0], outputs),
        ):
            if one not in known:
                mistakes.add(f"no {kind} is named {one!r}.", "of", fix=nearest(one, known))

    def __init__(
        self,
        name: str,
        *,
        of: Sequence[str],
        field: str | None = None,
        separator: str = "|",
        classes: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, field=field, of=of)
        self.separator, self._given = separator, None if classes is None else [*classes]
        self._numbers = {one: number for number, one in enumerate(self._given or ())}

    @property
    def learns_beside(self) -> str | None:
        return self.of[1]

    def learn_beside(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Number the labels as the output does."""
        if self._given is None:
            known = {one for _, value in pairs for one in classes_of(value, self.separator)}
            self._numbers = {one: number for number, one in enumerate(sorted(known))}

    def learn(self, values: Iterable[str]) -> None:
        """Nothing more to learn."""

    def check_value(self, value: str | None) -> str | None:
        if value is None:
            return super().check_value(value)
        for item in value.split():
            label, colon, place = item.rpartition(":")
            if not (label and colon and place.isdecimal() and place.isascii() and len(place) < 10):
                return f"has {item!r}, expected labels and positions such as sport:3 music:1"
        return None

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        last, length = int(encoded[1::2].max(initial=-1)), int(np.size(beside[self.of[0]]))
        if last < length:
            return None
        return f"names position {last}, but {self.of[0]} has {length} (0 to {length - 1})"

    def encode(self, value: str) -> Array:
        reason = self.check_value(value)
        if reason:
            raise RegardError(f"the {self.type} column {reason}.", where=self.name)
        numbers = {as_item(label): number for label, number in self._numbers.items()}
        pairs = [(numbers.get(label, -1), place) for label, place in label_places(value)]
        return np.array([one for pair in pairs if pair[0] >= 0 for one in pair], dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        names = list(self._numbers)
        pairs = np.reshape(ids, (-1, 2)).tolist()
        return " ".join(f"{as_item(names[label])}:{place}" for label, place in pairs)

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        return (value if isinstance(value, str) else self.decode(value)).split()

    def cost(self, encoded: Array) -> int:
        """0: its size follows from that of the input."""
        return 0

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Tensor:
        """(B, C, S) float; the row of a label is uniform over its words, or zero if there are none"""
        rows = Ragged.of(encoded)
        pairs = rows.values.astype(np.int64).reshape(-1, 2)
        example = np.repeat(np.arange(len(rows)), rows.lengths // 2)
        positions = int(pairs[:, 1].max(initial=-1)) + 1
        if beside is not None:
            positions = int(beside[self.of[0]].ids.shape[1])
        table = np.zeros((len(rows), len(self._numbers), positions), dtype=np.float32)
        table[example, pairs[:, 0], pairs[:, 1]] = 1.0
        table /= np.maximum(table.sum(2, keepdims=True), 1.0)
        return torch.from_numpy(table)

    def options(self) -> dict[str, Any]:
        return {
            "field": self.field,
            "of": list(self.of),
            "separator": self.separator,
            "classes": self._given,
        }

    def learned(self) -> dict[str, Any]:
        return {"labels": list(self._numbers)}

    def relearn(self, learned: Mapping[str, Any]) -> None:
        self._numbers = {one: number for number, one in enumerate(learned["labels"])}


def label_places(value: str) -> list[tuple[str, int]]:
    """The pairs of a label, as `as_item` writes it, and a position in `sport:3 music:1`."""
    found = (item.rpartition(":") for item in value.split())
    return [(label, int(place)) for label, _, place in found]


def as_item(label: str) -> str:
    """A label without blanks."""
    return "_".join(label.split())


def _several(plan: Plan) -> list[str]:
    """The outputs with several labels."""
    return [name for name, column in plan.outputs.items() if part("column", column.type).can_be("multilabel")]
