"""The addition world (Zaremba and Sutskever 2014, "Learning to Execute")."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Annotated, ClassVar

from pydantic import Field

from regard.parts import register
from regard.worlds.levels import LevelWorld


@register("world", "addition")
class AdditionWorld(LevelWorld):
    """The sum of two numbers with equally many digits: print(398345+425098). → 823443."""

    digits: Annotated[int, Field(ge=1, le=100)] = 4
    """Number of digits of each summand at the target level; the field `length` holds that of each row."""

    fields: ClassVar[tuple[str, ...]] = ("program", "result", "length")

    def target(self) -> Mapping[str, int]:
        return {"length": self.digits}

    def example(self, generator: Random, level: Mapping[str, int]) -> dict[str, str]:
        low, high = 10 ** (level["length"] - 1), 10 ** level["length"]
        first, second = (generator.randrange(low if high > 10 else 0, high) for _ in range(2))
        return {"program": f"print({first}+{second}).", "result": f"{first + second}."}
