"""The sum world."""

from __future__ import annotations

import json
from random import Random
from typing import ClassVar

from regard.parts import register
from regard.worlds.sequences import SequenceWorld


@register("world", "sum")
class SumWorld(SequenceWorld):
    """The sum of numbers between −1 and 1: [0.5, -0.25, 1] → 1.25."""

    fields: ClassVar[tuple[str, ...]] = ("numbers", "total")

    def example(self, generator: Random, length: int) -> dict[str, str]:
        hundredths = [generator.randint(-100, 100) for _ in range(length)]
        numbers = [number / 100 for number in hundredths]
        return {"numbers": json.dumps(numbers), "total": str(sum(hundredths) / 100)}
