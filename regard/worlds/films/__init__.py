"""The films world: videos of moving shapes, with captions."""

from regard.worlds.films.world import FilmsWorld

__all__ = ["FilmsWorld"]
