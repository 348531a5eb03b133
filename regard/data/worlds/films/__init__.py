"""The films world: moving shapes and what is told of them."""

from regard.data.worlds.films.world import FilmsWorld

__all__ = ["FilmsWorld"]
