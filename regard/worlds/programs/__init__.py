"""The programs world."""

from regard.worlds.programs.world import ProgramsWorld

__all__ = ["ProgramsWorld"]
