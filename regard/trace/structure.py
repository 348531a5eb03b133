"""The base class of the structures in a trace: joint selections, as plain numbers that a drawing shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.trace.traced import Traced

Numbers = NDArray[np.floating[Any]]
Places = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class TracedStructure(Traced):
    """A structure over the positions of an input.

    Fields are converted and checked in the constructor; their names are the keys of the JSON. To add a structure,
    derive a frozen dataclass, name its `kind`, list its numbers in `arrays` and write `check` and `check_against`.

    arrays   the fields that are numbers, with their type, np.int64 or np.float64; all others are texts
    """

    arrays: ClassVar[Mapping[str, type]] = {}
    last_is_whole: ClassVar[bool] = False
    """Whether the last position is the whole input: the root of a tree whose positions are its phrases."""

    @property
    def samples(self) -> Places | None:
        """Samples of the structure, the first dimension; None if there are none."""
        return None

    @property
    def holds_output(self) -> bool:
        """Whether the output is in the structure itself, as labels of the nodes of a tree are."""
        return False

    @property
    def looks(self) -> tuple[Numbers, frozenset[int]] | None:
        """The weights of consecutive looks at the positions, (K, S), and the true positions; None if it has none."""
        return None

    def of_sample(self, sample: Places) -> TracedStructure:
        """One of its samples as a structure, for a drawing."""
        raise NotImplementedError

    def with_texts(self, change: Callable[[str], str]) -> Self:
        """The structure with every text changed."""
        texts = [one.name for one in fields(self) if one.name not in self.arrays]
        return replace(self, **{name: [change(text) for text in getattr(self, name)] for name in texts})

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name not in self.arrays:
                object.__setattr__(self, one.name, tuple(map(str, value)))
            elif value is not None:
                object.__setattr__(self, one.name, self._array(one.name, value))
        self.check()

    def _array(self, name: str, value: Any) -> Any:
        wanted = self.arrays[name]
        array = np.asarray(value)
        if wanted is np.int64 and array.size and not np.array_equal(array, np.floor(array)):
            raise RegardError(f"{self.kind}: {name} holds numbers that are not whole: {array.tolist()}.")
        return array.astype(wanted)

    def check(self) -> None:
        """Refuse fields that do not fit each other; default: nothing."""

    def expect_shape(self, name: str, shape: tuple[int | None, ...], why: str) -> None:
        """Refuse an array of another shape; None in `shape` means any size."""
        value = getattr(self, name)
        if value is None:
            return
        found = value.shape
        if len(found) != len(shape) or any(
            e is not None and e != f for e, f in zip(shape, found, strict=True)
        ):
            written = ", ".join("any" if size is None else str(size) for size in shape)
            raise RegardError(
                f"{self.kind}: {name} has shape {found}, expected ({written}{',' * (len(shape) == 1)}): {why}."
            )

    def expect_range(self, name: str, low: int, high: int, why: str) -> None:
        """Refuse an array with numbers below `low` or above `high`."""
        value = getattr(self, name)
        if value is not None and value.size and (value.min() < low or value.max() > high):
            raise RegardError(
                f"{self.kind}: {name} holds {value.tolist()}, expected numbers from {low} to {high}: {why}."
            )

    def expect_one_each(self, names: Sequence[str], count: int, what: str) -> None:
        """Refuse fields of texts whose number is neither 0 nor `count`."""
        for name in names:
            found = len(getattr(self, name))
            if found not in (0, count):
                raise RegardError(
                    f"{self.kind}: {found} {name.replace('_', ' ')} for {count} {what}, expected one for each."
                )

    def expect_count(self, name: str, found: int, what: str, expected: int, of: str) -> None:
        """Refuse a structure over the input `name` that has another number of tokens, positions or output pieces."""
        if found != expected:
            raise RegardError(f"the {self.kind} over {name!r} are for {found} {what}, but {of} {expected}.")

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, strings and numbers, for JSON, without unknown values."""
        values: dict[str, Any] = {"kind": self.kind}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, np.ndarray):
                values[one.name] = value.tolist()
                if 0 in value.shape:
                    values[f"{one.name}_shape"] = list(value.shape)  # empty lists lose their shape
            elif value:
                values[one.name] = list(value)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        found: dict[str, Any] = {}
        for one in fields(cls):
            if one.name in values:
                shape = values.get(f"{one.name}_shape")
                found[one.name] = values[one.name] if shape is None else np.zeros(shape)
        return cls(**found)
