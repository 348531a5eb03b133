"""The points world: sets of points in the plane, and their hull, Delaunay triangulation or shortest tour."""

from regard.worlds.points.world import PointsWorld

__all__ = ["PointsWorld"]
