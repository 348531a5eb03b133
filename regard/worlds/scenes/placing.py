"""Positions of the things in a scene: without overlap, and with unambiguous relations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from regard.worlds.scenes.things import COLORS, SHAPES, SIZES, Scene, Thing

LEVEL, APART = 0.06, 0.14
"""Shares of the image: neighbors differ in height by less than the first, or by more than the second."""
ORDERED = 0.06
"""Minimum horizontal distance of the centers of two things, so that their order is clear."""
CHUNK = 4096


def sides(pixels: int, most: int) -> tuple[int, int, int]:
    """Sides of a small, a medium and a large thing; the more things a scene may have, the smaller they are."""
    large = pixels * 0.72 / most**0.5
    return round(large * 0.57), round(large * 0.76), round(large)


def placed(
    generator: np.random.Generator, counts: NDArray[np.int64], pixels: int, most: int
) -> Iterator[Scene]:
    """A scene for each of the counts of things, by rejection sampling."""
    pools = {int(count): _pool(generator, int(count), pixels, most) for count in np.unique(counts)}
    for count in counts:
        yield next(pools[int(count)])


def _pool(generator: np.random.Generator, count: int, pixels: int, most: int) -> Iterator[Scene]:
    known = np.array(sides(pixels, most))
    shapes, colors = len(SHAPES), list(COLORS)
    while True:
        sizes = generator.integers(len(SIZES), size=(CHUNK, count))
        side = known[sizes]
        left = generator.integers(0, pixels - side + 1)
        top = generator.integers(0, pixels - side + 1)
        order = np.argsort(2 * left + side, axis=1)
        sizes, side, left, top = (
            np.take_along_axis(part, order, axis=1) for part in (sizes, side, left, top)
        )
        for row in np.flatnonzero(_clear(left, top, side, pixels)):
            kinds = generator.integers(shapes, size=count)
            paints = generator.integers(len(colors), size=count)
            yield tuple(
                Thing(SHAPES[kind], colors[paint], SIZES[size], int(x), int(y), int(width))
                for kind, paint, size, x, y, width in zip(
                    kinds, paints, sizes[row], left[row], top[row], side[row], strict=True
                )
            )


def _clear(
    left: NDArray[np.int64], top: NDArray[np.int64], side: NDArray[np.int64], pixels: int
) -> NDArray[np.bool_]:
    """(rows) whether the things (rows, count), from left to right, do not overlap and have unambiguous relations."""
    x, y = left + side / 2, top + side / 2
    room = (side[:, :, None] + side[:, None, :]) / 2 + 1
    across, down = abs(x[:, :, None] - x[:, None, :]), abs(y[:, :, None] - y[:, None, :])
    pairs = np.triu(np.ones((side.shape[1],) * 2, dtype=bool), 1)
    apart = (across >= room) | (down >= room)
    ordered = across >= ORDERED * pixels
    neighbors = abs(np.diff(y, axis=1))
    told = (neighbors <= LEVEL * pixels) | (neighbors >= APART * pixels)
    return np.logical_and((apart & ordered)[:, pairs].all(1), told.all(1))
