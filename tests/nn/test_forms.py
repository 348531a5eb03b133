"""Forms: the allowed outputs are exactly the complete tours, convex polygons or triangulations.

Counts come from mathematics: n! tours, the convex polygons among points in convex position, Catalan's triangulations.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb, factorial

import numpy as np
import pytest
import torch

from regard.data.media import Series
from regard.errors import RegardError
from regard.nn.decoders import PointerDecoder
from regard.nn.encoders.points import Coordinates, PointsEncoder
from regard.nn.forms import begin_form
from regard.nn.memory import Memory
from regard.nn.search import Beam, Ensemble, Greedy, Sample, Stepper


def memory_of(points: np.ndarray, rows: int = 1) -> Memory:
    values = torch.as_tensor(points, dtype=torch.float64).expand(rows, -1, -1)
    mask = torch.ones(values.shape[:2], dtype=torch.bool)
    return Memory(torch.zeros(*values.shape[:2], 1), mask, torch.zeros(rows, 1), points=values)


def everything(form: str, points: np.ndarray) -> list[tuple[int, ...]]:
    """All outputs that a form allows, one choice after another."""
    found = []

    def go_on(state: object, written: tuple[int, ...]) -> None:
        for choice in state.allowed()[0, 0].nonzero().flatten().tolist():  # type: ignore[attr-defined]
            if choice == 0:
                found.append(written)
            else:
                go_on(state.advance(torch.tensor([[choice]])), (*written, choice))  # type: ignore[attr-defined]

    go_on(begin_form(form, memory_of(points)), ())
    return found


def circle(count: int) -> np.ndarray:
    angles = 2 * np.pi * np.arange(count) / count
    return np.stack([np.cos(angles), np.sin(angles)], 1)


def test_all_tours_are_allowed() -> None:
    found = everything("tour", circle(5))
    assert len(set(found)) == factorial(5)
    assert {tuple(sorted(one)) for one in found} == {(1, 2, 3, 4, 5)}


@pytest.mark.parametrize("count", [3, 5, 6])
def test_of_points_on_a_circle_every_polygon_is_allowed_from_each_of_its_corners(count: int) -> None:
    found = everything("polygon", circle(count))
    assert (
        len(set(found))
        == len(found)
        == sum(corners * comb(count, corners) for corners in range(3, count + 1))
    )


@pytest.mark.parametrize(("count", "catalan"), [(3, 1), (4, 2), (5, 5), (6, 14)])
def test_of_points_on_a_circle_all_triangulations_are_allowed(count: int, catalan: int) -> None:
    found = everything("triangles", circle(count)) if count < 6 else sampled(circle(count), 600)
    assert len({frozenset(triangles(one)) for one in found}) == catalan


def sampled(points: np.ndarray, times: int) -> list[tuple[int, ...]]:
    """`times` hypotheses for one source, each with random choices."""
    torch.manual_seed(0)
    state = begin_form("triangles", memory_of(points))
    assert state is not None
    state, written = state.reorder(torch.zeros(1, times, dtype=torch.int64)), []
    while not written or int(written[-1].max()):
        written.append(torch.multinomial(state.allowed()[0].double(), 1).T)
        state = state.advance(written[-1])
    return [tuple(choice for choice in one if choice) for one in torch.cat(written).T.tolist()]


def triangles(pointers: object) -> list[tuple[int, ...]]:
    numbers = list(pointers)  # type: ignore[call-overload]
    return [tuple(numbers[low : low + 3]) for low in range(0, len(numbers), 3)]


# Outputs of an untrained model.


def turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def is_convex(points: np.ndarray, corners: list[int]) -> bool:
    """Every other corner lies to the left of every edge."""
    way = [points[corner - 1] for corner in corners]
    edges = list(pairwise([*way, way[0]]))
    return len(set(corners)) == len(corners) >= 3 and all(
        turn(a, b, c) > 0 for a, b in edges for c in way if c is not a and c is not b
    )


def is_triangulation(points: np.ndarray, pointers: list[int]) -> bool:
    """The triangles fill the hull's area, contain no other point, and no two of their sides cross."""
    scipy = pytest.importorskip("scipy.spatial")
    found = triangles(pointers)
    corners = [[points[place - 1] for place in one] for one in found]
    area = sum(abs(turn(*one)) / 2 for one in corners)
    sides = {side for one in found for side in combinations(one, 2)}
    crossing = any(
        turn(points[a - 1], points[b - 1], points[c - 1]) * turn(points[a - 1], points[b - 1], points[d - 1])
        < 0
        and turn(points[c - 1], points[d - 1], points[a - 1])
        * turn(points[c - 1], points[d - 1], points[b - 1])
        < 0
        for (a, b), (c, d) in combinations(sides, 2)
    )
    used = {place for one in found for place in one}
    whole = scipy.ConvexHull(points).volume  # `volume` is the area in two dimensions
    return abs(area - whole) < 1e-9 and not crossing and used == set(range(1, len(points) + 1))


def is_tour(points: np.ndarray, pointers: list[int]) -> bool:
    return sorted(pointers) == list(range(1, len(points) + 1))


CHECKS = {"polygon": is_convex, "triangles": is_triangulation, "tour": is_tour}


def point_sets() -> list[np.ndarray]:
    """Random points; points with many on one line; a grid, whose squares have two triangulations."""
    generator = np.random.default_rng(3)
    grid = np.array([[x, y] for x in range(3) for y in range(3)], dtype=float)
    line = np.array([[0, 0], [1, 0], [2, 0], [3, 0], [1, 1]], dtype=float)
    return [generator.random((count, 2)) for count in (3, 4, 5, 7, 8)] + [grid, line]


def model(form: str, seed: int) -> tuple[PointerDecoder, PointsEncoder]:
    torch.manual_seed(seed)
    encoder = PointsEncoder(Coordinates([0.5, 0.5], 0.3, 4), size=6)
    decoder = PointerDecoder("points", encoder, size=8, form=form)
    for parameter in [*encoder.parameters(), *decoder.parameters()]:
        parameter.data.normal_(std=1.5)
    return decoder.eval(), encoder.eval()


@pytest.mark.parametrize("form", list(CHECKS))
@torch.no_grad()
def test_every_output_of_an_untrained_model_is_whole(form: str) -> None:
    sets = point_sets()
    lengths = torch.tensor([len(one) for one in sets])
    values = torch.nn.utils.rnn.pad_sequence([torch.as_tensor(one) for one in sets], batch_first=True)
    for seed in range(3):
        decoder, encoder = model(form, seed)
        stepper = Stepper(decoder, {"points": encoder(Series(values, lengths))})
        searches = [
            Greedy(),
            Beam(size=4, best=4),
            Sample(samples=4, seed=seed),
            Sample(samples=2, temperature=9.0),
        ]
        for search in searches:
            found = search(stepper)
            for row, points in enumerate(sets):
                for rank, length in enumerate(found.lengths[row].tolist()):
                    written = found.content(row, rank)
                    assert not length or CHECKS[form](points, written), (search, points, written)
        other = Stepper(model(form, seed + 9)[0], stepper.memories)
        assert CHECKS[form](sets[3], Beam(size=3)(Ensemble([stepper, other])).content(3))


@torch.no_grad()
def test_what_is_left_out_changes_no_probability() -> None:
    """Excluding choices does not renormalize: search scores equal those of `score` for the same output."""
    decoder, encoder = model("tour", 1)
    memories = {"points": encoder(Series(torch.rand(2, 5, 2).double(), torch.tensor([5, 4])))}
    found = Greedy()(Stepper(decoder, memories))
    from regard.data.batch import Tokens

    lengths = found.lengths[:, 0] - 1
    given = decoder.score(memories, Tokens(found.tokens[:, 0, :-1], lengths))
    torch.testing.assert_close(given.scores, found.scores)


@pytest.mark.parametrize("form", ["polygon", "triangles"])
def test_points_on_one_line_are_refused_with_their_row(form: str) -> None:
    decoder, encoder = model(form, 0)
    points = torch.tensor([[[0.0, 0], [1, 0], [0, 1]], [[0, 0], [1, 1], [3, 3]]]).double()
    memories = {"points": encoder(Series(points, torch.tensor([3, 3])))}
    with pytest.raises(RegardError, match=r"row 2 of the batch: the 3 points lie on one line"):
        Greedy()(Stepper(decoder, memories))


def test_a_limit_that_leaves_no_whole_output_is_told() -> None:
    from regard.nn.search import Limits

    decoder, encoder = model("tour", 0)
    memories = {"points": encoder(Series(torch.rand(1, 5, 2).double(), torch.tensor([5])))}
    with pytest.raises(RegardError, match=r"no choice is possible.*Raise max_length"):
        Greedy(Limits(maximum=3))(Stepper(decoder, memories))
