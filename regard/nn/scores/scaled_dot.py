"""The scaled dot product (Vaswani et al. 2017)."""

from __future__ import annotations

import math
from typing import Any

from regard.nn.scores.dot import Dot
from regard.nn.symbols import LookSymbols
from regard.parts import register


@register("score", "scaled-dot")
class ScaledDot(Dot):
    """q · h / √D; query and key must have the same size."""

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__(query_size, key_size)
        self.scale = 1 / math.sqrt(key_size)

    @classmethod
    def equation(cls, options: Any, query: str, key: str, mark: str) -> str:
        return f"{query}·{key} / √D_{mark}"

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        (line,) = super().equations(options, look)
        return [f"{line}     — D_{look.mark} features"]
