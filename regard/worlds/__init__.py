"""Worlds: generators of data with known ground truth. Each file or folder defines and registers one world."""

from regard.data.provider import RowCount, Splits, numbered
from regard.worlds.world import SplitWorld, World, world

__all__ = ["RowCount", "SplitWorld", "Splits", "World", "numbered", "world"]
