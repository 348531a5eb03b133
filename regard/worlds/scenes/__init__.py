"""Drawn scenes of colored shapes, with captions and questions whose words refer to known regions."""

from regard.worlds.scenes.world import ScenesWorld

__all__ = ["ScenesWorld"]
