"""Worlds: generators of data whose truth is known. Each file or folder holds one world and registers it."""

from regard.data.provider import RowCount, Splits, numbered
from regard.worlds.world import SplitWorld, World, world

__all__ = ["RowCount", "SplitWorld", "Splits", "World", "numbered", "world"]
