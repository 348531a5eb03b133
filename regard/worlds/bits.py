"""Bits to be stored and found again: copy, repeat copy and associative recall (Graves, Wayne and Danihelka 2014).

    copy     1011 0110 _ _                          → 1011 0110
    repeat   10110 01100 00001 00001 _ _ _ _ _      → 10110 01100 10110 01100 00001
    recall   000010 101100 … 000010 011000 … 000001 101100 … 000001 _ …   → 0110 …

`_` is a step at which a vector is to be written; it does what the delimiter of the paper does, and stays on. A repeat
count is said by as many vectors with the bit behind the data set (the paper has a number there), and the answer ends
with such a vector. Items of a recall begin with the first bit behind the data set, the item that is asked about stands
between two vectors with the second one set, and the item after it is the answer. No two items of a row are alike, so
there is one answer.

The field `length` of a row says how many vectors its sequence has, or each of its items; `count` how often they are to
be written, or how many items there are. A curriculum can order rows by them, and figures can be given for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from regard.data.provider import RowCount, Splits
from regard.parts import register
from regard.worlds.world import SplitWorld

Task = Literal["copy", "repeat", "recall"]
Bounds = Annotated[tuple[int, int], Field(strict=False)]
"""The least and the most."""
LONGEST = 10_000


@register("world", "bits")
class BitsWorld(SplitWorld):
    """Sequences of random bits, `_` where the answer is to be written."""

    task: Task = "copy"
    """copy: the vectors again; repeat: several times; recall: the item after the one asked about."""
    length: Bounds | None = None
    """Vectors of a sequence, or of an item, the least and the most; default: [1, 10], of a recall [3, 3]."""
    width: int = 8
    """Bits of a vector, 1 to 60."""
    repeats: Bounds | None = None
    """Of repeat: how often, the least and the most; default: [1, 5]."""
    items: Bounds | None = None
    """Of recall: how many, the least and the most; default: [2, 6]."""
    beyond: int = 2
    """The split `long` has so many times the most vectors (of a recall: items) of the others, `more` of a repeat so
    many times the most repeats."""
    train: RowCount = 20_000
    """Number of rows."""
    dev: RowCount = 200
    """Rows of the split `dev`."""
    test: RowCount = 500
    """Rows of the split `test`."""
    long: RowCount = 500
    """Rows of the split `long`, and of `more`."""

    fields: ClassVar[tuple[str, ...]] = ("source", "target", "length", "count")

    @model_validator(mode="after")
    def _within_bounds(self) -> Self:
        for option, task in (("repeats", "repeat"), ("items", "recall")):
            if getattr(self, option) is not None and self.task != task:
                raise ValueError(f"{option} has no effect: it is of task: {task}. Remove it.")
        for option, bounds in (("length", self.lengths), ("repeats", self.times), ("items", self.counts)):
            least = 2 if option == "items" else 1
            if not least <= bounds[0] <= bounds[1] <= LONGEST:
                raise ValueError(
                    f"{option} is {list(bounds)}, expected two numbers from {least} on, in order"
                )
        if not 1 <= self.width <= 60:
            raise ValueError(f"width is {self.width}, expected 1 to 60")
        if not 1 <= self.beyond <= 1000:
            raise ValueError(f"beyond is {self.beyond}, expected 1 to 1000")
        there, most = 2 ** (self.width * self.lengths[0]), self.counts[1] * self.beyond
        if self.task == "recall" and there < most:
            raise ValueError(
                f"a row of long has {most} different items, but {self.width} × {self.lengths[0]} bits make {there}."
                " Make width or length larger, or items or beyond smaller."
            )
        return self

    @property
    def lengths(self) -> tuple[int, int]:
        return self.length or ((3, 3) if self.task == "recall" else (1, 10))

    @property
    def times(self) -> tuple[int, int]:
        return self.repeats or (1, 5)

    @property
    def counts(self) -> tuple[int, int]:
        return self.items or (2, 6)

    def splits(self) -> Splits:
        generator = Random(self.seed)
        beside = {"long": self.long} | ({"more": self.long} if self.task == "repeat" else {})
        return self.tests_first(lambda split, size: self._rows(generator, split, size), **beside)

    def _rows(self, generator: Random, split: str, size: int) -> Iterator[dict[str, str]]:
        for _ in range(size):
            source, target, length, count = self._row(generator, split)
            yield {
                "source": " ".join([*source, *["_"] * len(target)]),
                "target": " ".join(target),
                "length": str(length),
                "count": str(count),
            }

    def _row(self, generator: Random, split: str) -> tuple[list[str], list[str], int, int]:
        """What is seen, what is to be written, and the two numbers of a row."""

        def some(bounds: tuple[int, int], far: bool) -> int:
            return bounds[1] * self.beyond if far else generator.randint(*bounds)

        if self.task == "copy":
            vectors = self._vectors(generator, some(self.lengths, split == "long"))
            return vectors, vectors, len(vectors), 1
        if self.task == "repeat":
            vectors = self._vectors(generator, some(self.lengths, split == "long"))
            count, mark = some(self.times, split == "more"), "0" * self.width + "1"
            data = [f"{vector}0" for vector in vectors]
            return [*data, *[mark] * count], [*data * count, mark], len(data), count
        length, count = generator.randint(*self.lengths), some(self.counts, split == "long")
        items: list[list[str]] = []
        while len(items) < count:
            item = self._vectors(generator, length)
            if item not in items:
                items.append(item)
        asked = generator.randrange(count - 1)
        empty = "0" * self.width
        begin, ask = f"{empty}10", f"{empty}01"
        source = [vector for item in items for vector in (begin, *(f"{one}00" for one in item))]
        source += [ask, *(f"{one}00" for one in items[asked]), ask]
        return source, items[asked + 1], length, count

    def _vectors(self, generator: Random, count: int) -> list[str]:
        return [f"{generator.getrandbits(self.width):0{self.width}b}" for _ in range(count)]
