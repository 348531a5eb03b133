"""Memory tasks on bit vectors: copy, repeat copy and associative recall (Graves, Wayne and Danihelka 2014).

    copy     1011 0110 _ _                          → 1011 0110
    repeat   10110 01100 00001 00001 _ _ _ _ _      → 10110 01100 10110 01100 00001
    recall   000010 101100 … 000010 011000 … 000001 101100 … 000001 _ …   → 0110 …

`_` is a step at which the output has a vector. It replaces the delimiter of the paper, and lasts until the end. In
repeat, the number of repetitions is the number of vectors with the bit after the data set (the paper has a number
there), and the output ends with such a vector. In recall, each item starts with a vector in which the first bit after
the data is set. The queried item stands between two vectors with the second bit set, and the item after it is the
output. The items of a row are distinct, so that the output is unique.

The field `length` is the number of vectors of the sequence or of each item; `count` is the number of repetitions or of
items. Use them for a curriculum or for figures by group.
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
"""Minimum and maximum."""
LONGEST = 10_000


@register("world", "bits")
class BitsWorld(SplitWorld):
    """Memory tasks on random bit vectors; `_` marks the steps at which the output has a vector."""

    task: Task = "copy"
    """copy: repeat the vectors once; repeat: several times; recall: the item after the queried one."""
    length: Bounds | None = None
    """Minimum and maximum number of vectors of a sequence or item; default: [1, 10], for recall [3, 3]."""
    width: int = 8
    """Number of bits of a vector, 1 to 60."""
    repeats: Bounds | None = None
    """For repeat: minimum and maximum number of repetitions; default: [1, 5]."""
    items: Bounds | None = None
    """For recall: minimum and maximum number of items; default: [2, 6]."""
    beyond: int = 2
    """Factor by which the split `long` exceeds the maximum number of vectors (for recall: of items), and for repeat the
    split `more` the maximum number of repetitions."""
    train: RowCount = 20_000
    """Number of rows."""
    dev: RowCount = 200
    """Rows of the split `dev`."""
    test: RowCount = 500
    """Rows of the split `test`."""
    long: RowCount = 500
    """Rows of the split `long` and, for repeat, of `more`."""

    fields: ClassVar[tuple[str, ...]] = ("source", "target", "length", "count")

    @model_validator(mode="after")
    def _within_bounds(self) -> Self:
        for option, task in (("repeats", "repeat"), ("items", "recall")):
            if getattr(self, option) is not None and self.task != task:
                raise ValueError(f"{option} has no effect: it belongs to task: {task}. Remove it.")
        for option, bounds in (("length", self.lengths), ("repeats", self.times), ("items", self.counts)):
            least = 2 if option == "items" else 1
            if not least <= bounds[0] <= bounds[1] <= LONGEST:
                raise ValueError(
                    f"{option} is {list(bounds)}, expected two numbers from {least} to {LONGEST}, the smaller first"
                )
        if not 1 <= self.width <= 60:
            raise ValueError(f"width is {self.width}, expected 1 to 60")
        if not 1 <= self.beyond <= 1000:
            raise ValueError(f"beyond is {self.beyond}, expected 1 to 1000")
        there, most = 2 ** (self.width * self.lengths[0]), self.counts[1] * self.beyond
        if self.task == "recall" and there < most:
            raise ValueError(
                f"a row of the split long has {most} different items, but {self.width} × {self.lengths[0]} bits make "
                f"{there}. Make width or length larger, or items or beyond smaller."
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
        """The source and target vectors, and the fields `length` and `count`."""

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
