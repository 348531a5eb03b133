"""The points world against scipy and against brute force."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from regard.errors import RegardError
from regard.worlds import world

spatial = pytest.importorskip("scipy.spatial")


def rows(**options: object) -> list[tuple[np.ndarray, list[int]]]:
    """Points (n, 2), and positions from 0."""
    made = world("points", **{"train": 60, "dev": 1, "test": 1, **options}).splits()["train"]
    return [
        (
            np.array([[float(cell) for cell in point.split()] for point in row["points"].split(";")]),
            [int(word) - 1 for word in row["pointers"].replace(";", " ").split()],
        )
        for row in made
    ]


@pytest.mark.parametrize("count", [3, 10, [4, 40]])
def test_hulls_are_scipys_from_the_lowest_position(count: object) -> None:
    for points, corners in rows(task="hull", count=count):
        true = spatial.ConvexHull(points).vertices.tolist()  # counter-clockwise in the plane
        lowest = true.index(min(true))
        assert corners == true[lowest:] + true[:lowest]


@pytest.mark.parametrize("count", [3, 5, 10])
def test_triangulations_are_scipys_by_incenter(count: int) -> None:
    for points, pointers in rows(task="delaunay", count=count):
        triangles = [tuple(pointers[low : low + 3]) for low in range(0, len(pointers), 3)]
        true = {tuple(sorted(map(int, one))) for one in spatial.Delaunay(points).simplices}
        assert len(triangles) == len(true)
        assert set(triangles) == true
        centers = [_incenter(points[list(one)]) for one in triangles]
        assert centers == sorted(centers)


def test_many_points_are_triangulated_too() -> None:
    ((points, pointers),) = rows(task="delaunay", count=20, train=1)
    edge = len(spatial.ConvexHull(points).vertices)
    assert len(pointers) == 3 * (2 * 20 - 2 - edge)


def _incenter(corners: np.ndarray) -> tuple[float, float]:
    a, b, c = (np.linalg.norm(corners[i] - corners[j]) for i, j in ((1, 2), (0, 2), (0, 1)))
    center = (a * corners[0] + b * corners[1] + c * corners[2]) / (a + b + c)
    return float(center[0]), float(center[1])


def _length(points: np.ndarray, tour: object) -> float:
    way = points[list(tour)]  # type: ignore[call-overload]
    return float(np.linalg.norm(way - np.roll(way, -1, 0), axis=1).sum())


def test_tours_of_few_points_are_the_shortest() -> None:
    for points, tour in rows(task="tsp", count=7, train=15):
        best = min(_length(points, (0, *rest)) for rest in permutations(range(1, 7)))
        assert _length(points, tour) == pytest.approx(best)


@pytest.mark.parametrize("count", [2, 3, 9, 15])
def test_tours_pass_every_point_once_counter_clockwise_from_the_first(count: int) -> None:
    for points, tour in rows(task="tsp", count=count, train=20):
        assert tour[0] == 0
        assert sorted(tour) == list(range(count))
        x, y = points[tour].T
        assert (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() >= -1e-12


def test_no_exchange_of_two_edges_shortens_a_tour_of_many_points() -> None:
    for points, tour in rows(task="tsp", count=16, train=10):
        length = _length(points, tour)
        for i in range(16):
            for j in range(i + 2, 17):
                other = tour[:i] + tour[i:j][::-1] + tour[j:]
                assert _length(points, other) >= length - 1e-9


def test_splits_do_not_depend_on_the_sizes_of_others() -> None:
    few, many = (world("points", train=train, dev=5, test=5).splits() for train in (3, 9))
    assert few["test"] == many["test"]
    assert few["train"] == many["train"][:3]
    assert world("points", seed=2, train=3).splits()["train"] != few["train"]


@pytest.mark.parametrize("count", [2, 500, [5], [9, 5], []])
def test_impossible_counts_are_refused(count: object) -> None:
    with pytest.raises(RegardError, match="count is"):
        world("points", count=count)
