"""Sequences of bit vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from regard.data.columns.column import Column
from regard.data.columns.tags import check_of
from regard.data.media import Series
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.parts import Mistakes, Plan, register

BLANK = "_"
"""A step of the input without a vector, at which the output has one."""
BLANK_ID = -1
WIDEST = 62
"""Largest width: a vector is stored as one integer."""


@register("column", "bits")
class BitsColumn(Column):
    """`0110 1001 _ _`: one bit vector per word; in an input, `_` asks for a vector. All vectors have the same width.

    A vector is encoded as the integer with these binary digits, the first bit the highest. In a batch, an input has
    width + 1 features: the bits, and whether the step is blank. An output has the bits only.

    width   bits per vector, fitted to the training data
    """

    class Options(Column.Options):
        """A sequence of bit vectors: `0110 1001`. In an input, `_` marks a step at which the output has a vector."""

        of: str | None = None
        """For an output: the input whose `_` it fills, one vector each."""

    type = "bits"
    roles: ClassVar[tuple[str, ...]] = ("inputs", "outputs")
    usual: ClassVar[tuple[str, ...]] = ("bit_accuracy", "bit_error", "exact")
    encoder = "vectors"
    decoder = "machine"
    dtype = np.int64

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        return cls(name, field=options.field, of=options.of, **asked)

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        of = "" if options.of is None else f", one for each _ of {options.of}"
        return f"{name}: vectors of bits{of}"

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        if name in plan.inputs:
            if options.of is not None:
                mistakes.add("of has no effect: it is an option of outputs.", "of", fix="Leave of out.")
            return
        if options.of is None:
            inputs = [one for one, column in plan.inputs.items() if column.type == cls.type]
            fix = f"Write  of: {inputs[0]}." if inputs else "Add an input of type bits, and name it here."
            mistakes.add("of is missing: it names the input whose _ the output fills.", "of", fix=fix)
            return
        check_of(options.of, plan, mistakes)
        if options.of in plan.inputs and plan.inputs[options.of].type != cls.type:
            mistakes.add(f"{options.of} is not of type bits: it has no _ to fill.", "of", fix="")

    def __init__(self, name: str, *, field: str | None = None, of: str | None = None) -> None:
        super().__init__(name, field=field, of=() if of is None else (of,))
        self.width = 0

    @property
    def size(self) -> int:
        """Number of features of a step in a batch."""
        return self.width + (not self.of)

    def learn(self, values: Iterable[str]) -> None:
        """Take the width of the first vector in the data."""
        for value in values:
            words = [word for word in value.split() if word != BLANK]
            if words:
                self.width = len(words[0])
                return

    def check_value(self, value: str | None) -> str | None:
        reason = super().check_value(value)
        if reason or value is None:
            return reason
        for word in value.split():
            if word == BLANK and not self.of:
                continue
            if word.strip("01"):
                wanted = "zeros and ones" if self.of else f"zeros and ones, or {BLANK}"
                return f"has {word[:40]!r}, expected {wanted}"
            if self.width and len(word) != self.width:
                return f"has {word[:70]!r} of {len(word)} bits, expected {self.width}"
            if len(word) > WIDEST:
                return f"has a vector of {len(word)} bits, expected at most {WIDEST}"
        return None

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        if not self.of:
            return None
        asked = int((beside[self.of[0]] == BLANK_ID).sum())
        if len(encoded) == asked:
            return None
        return f"has {len(encoded)} vectors, expected {asked}, one for each {BLANK} of {self.of[0]}"

    def written(self, value: Any) -> str:
        """Text as it is; an array (vectors, bits) of zeros and ones as text."""
        if not isinstance(value, str) and hasattr(value, "__array__"):
            array = np.asarray(value)
            if array.ndim != 2 or not np.isin(array, (0, 1)).all():
                raise RegardError(
                    f"received an array of shape {array.shape}, expected (vectors, bits) of zeros and ones.",
                    where=self.name,
                )
            return " ".join("".join(str(int(bit)) for bit in vector) for vector in array)
        return super().written(value)

    def encode(self, value: str) -> Array:
        """(T,) int64"""
        numbers = [BLANK_ID if word == BLANK else int(word, 2) for word in value.split()]
        return np.array(numbers, dtype=np.int64)

    def reference(self, value: str) -> list[str]:
        return value.split()

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.tokens(ids))

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        if isinstance(value, str):
            return value.split()
        return [BLANK if number == BLANK_ID else f"{int(number):0{self.width}b}" for number in value]

    def readable(self, collated: Series) -> list[list[str]]:
        numbers = self._numbers(collated.values)
        return [
            self.tokens(row[:length])
            for row, length in zip(numbers.tolist(), collated.lengths.tolist(), strict=True)
        ]

    def _numbers(self, values: torch.Tensor) -> torch.Tensor:
        """(B, T, features) → (B, T), the inverse of `collate`."""
        places = 2 ** torch.arange(self.width - 1, -1, -1, device=values.device)
        numbers = (values[..., : self.width].round().long() * places).sum(-1)
        return numbers if self.of else numbers.masked_fill(values[..., self.width] > 0, BLANK_ID)

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Series:
        """values (B, T, features) float32, zero beyond the length"""
        rows = Ragged.of(encoded)
        numbers, lengths = rows.padded(), rows.lengths
        blank = numbers == BLANK_ID
        places = np.arange(self.width - 1, -1, -1)
        bits = (np.where(blank, 0, numbers)[..., None] >> places) & 1
        values = bits if self.of else np.concatenate([bits, blank[..., None]], -1)
        return Series(torch.from_numpy(values.astype(np.float32)), torch.from_numpy(lengths))

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "of": self.of[0] if self.of else None}

    def learned(self) -> dict[str, Any]:
        return {"width": self.width}

    def pretend(self, size: int) -> None:
        self.width = max(1, size - 4)  # vectors are narrow; a vocabulary has four special units

    def relearn(self, learned: Mapping[str, Any]) -> None:
        self.width = int(learned["width"])
