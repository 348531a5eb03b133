"""Worlds: generators of data whose truth is known. Each file or folder holds one world and registers it."""

from regard.worlds.world import World, world

__all__ = ["World", "world"]
