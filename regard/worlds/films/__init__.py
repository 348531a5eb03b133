"""The films world: moving shapes and what is told of them."""

from regard.worlds.films.world import FilmsWorld

__all__ = ["FilmsWorld"]
