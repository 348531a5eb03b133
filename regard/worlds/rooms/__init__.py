"""Stories about people, rooms and objects, with questions whose supporting facts are known."""

from regard.worlds.rooms.world import RoomsWorld

__all__ = ["RoomsWorld"]
