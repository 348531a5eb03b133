"""The reverse world."""

from __future__ import annotations

from regard.parts import register
from regard.worlds.symbols import SymbolWorld


@register("world", "reverse")
class ReverseWorld(SymbolWorld):
    """Reverse a string: b a d → d a b."""

    def order(self, length: int) -> list[int]:
        return list(range(length - 1, -1, -1))
