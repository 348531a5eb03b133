"""The copy world."""

from __future__ import annotations

from regard.parts import register
from regard.worlds.symbols import SymbolWorld


@register("world", "copy")
class CopyWorld(SymbolWorld):
    """Copy a string: b a d → b a d."""

    def order(self, length: int) -> list[int]:
        return list(range(length))
