"""The points world: sets of points in the plane, with their hull, Delaunay triangulation or a short tour."""

from regard.worlds.points.world import PointsWorld

__all__ = ["PointsWorld"]
