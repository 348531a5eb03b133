"""The compare world."""

from __future__ import annotations

import json
from random import Random
from typing import ClassVar

from regard.parts import register
from regard.worlds.sequences import SequenceWorld


@register("world", "compare")
class CompareWorld(SequenceWorld):
    """Compare the sums of two series of numbers between 0 and 1: [[0.5, 0.25], [0, 0.5]] → second."""

    fields: ClassVar[tuple[str, ...]] = ("pairs", "larger")

    def example(self, generator: Random, length: int) -> dict[str, str]:
        while True:  # until the sums differ
            pairs = [[generator.randint(0, 100), generator.randint(0, 100)] for _ in range(length)]
            first, second = (sum(pair[side] for pair in pairs) for side in (0, 1))
            if first != second:
                break
        return {
            "pairs": json.dumps([[left / 100, right / 100] for left, right in pairs]),
            "larger": "first" if first > second else "second",
        }
