"""Convolution and pooling, one window at a time.

    y[i, j] = Σ_{a, b} kernel[a, b] · x[s i + a − p, s j + b − p]        (cross-correlation, as networks compute it)

Pooling takes the largest, or the mean, of each window of the result.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from regard.course.lab.lab import Lab, LabResult
from regard.errors import RegardError
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.layout import Block, below, beside, frame
from regard.inspect.palette import Over, Shade
from regard.inspect.scene import Group, Mark, Rect, Text
from regard.inspect.section import Card
from regard.inspect.writing import text_width
from regard.parts import register
from regard.trace import Array

KERNELS = {
    "vertical": [[-1, 0, 1], [-1, 0, 1], [-1, 0, 1]],
    "horizontal": [[-1, -1, -1], [0, 0, 0], [1, 1, 1]],
    "blur": [[0.1, 0.1, 0.1], [0.1, 0.2, 0.1], [0.1, 0.1, 0.1]],
    "sharpen": [[0, -1, 0], [-1, 5, -1], [0, -1, 0]],
    "diagonal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
}
PICTURES = {
    "seven": ("........", ".#####..", ".....#..", "....#...", "...#....", "...#....", "...#....", "........"),
    "cross": ("........", "...##...", "...##...", ".######.", ".######.", "...##...", "...##...", "........"),
    "square": (
        "........",
        ".######.",
        ".#....#.",
        ".#....#.",
        ".#....#.",
        ".#....#.",
        ".######.",
        "........",
    ),
}
CELL = 24.0


@register("lab", "convolution")
class ConvolutionLab(Lab):
    """Convolution and pooling of a small image, as tables."""

    class Options(Lab.Options):
        """Convolution and pooling of a small image, as tables."""

        picture: Literal["seven", "cross", "square"] = "seven"
        """The input image of 8 × 8 pixels."""
        kernel: Literal["vertical", "horizontal", "blur", "sharpen", "diagonal"] = "vertical"
        """The 3 × 3 weights: edges, a blur, …"""
        stride: Annotated[int, Field(ge=1, le=4)] = 1
        """Pixels from one window to the next."""
        padding: Annotated[int, Field(ge=0, le=3)] = 0
        """Width of the border of zeros around the image."""
        pool: Literal["max", "mean"] = "max"
        """Keep the maximum or the mean of each window of the result."""
        window: Annotated[int, Field(ge=1, le=4)] = 2
        """Side of the pooling windows."""

    summary = "one kernel slides over an image, and pooling keeps one number of each window"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        picture = np.array([[float(sign == "#") for sign in row] for row in PICTURES[options.picture]])
        kernel = np.array(KERNELS[options.kernel], dtype=np.float64)
        found = convolve(picture, kernel, options.stride, options.padding)
        if min(found.shape) < options.window:
            raise RegardError(
                f"the convolution leaves {found.shape[0]} × {found.shape[1]} numbers, too few for windows of "
                f"{options.window}.",
                where="--set window",
                fix="Choose a smaller window or stride.",
            )
        pooled = pool(found, options.window, options.pool)
        places = [(i, j) for i in range(found.shape[0]) for j in range(found.shape[1])]
        best = tuple(int(v) for v in np.unravel_index(np.abs(found).argmax(), found.shape))
        rows = [
            ("picture", "×".join(map(str, picture.shape)), float(picture.min()), float(picture.max())),
            (
                f"kernel {options.kernel}",
                "×".join(map(str, kernel.shape)),
                float(kernel.min()),
                float(kernel.max()),
            ),
            ("convolved", "×".join(map(str, found.shape)), float(found.min()), float(found.max())),
            (
                f"{options.pool}-pooled",
                "×".join(map(str, pooled.shape)),
                float(pooled.min()),
                float(pooled.max()),
            ),
        ]
        return LabResult(
            title="Convolution and pooling",
            see="The outlined window of the image, multiplied by the kernel and summed, gives the outlined number "
            f"{found[best]:g}: "
            f"the same weights respond wherever their pattern occurs. Pooling keeps the {options.pool} of each "
            f"{options.window} × {options.window} window.",
            blocks=_drawn(picture, kernel, found, pooled, options, best),
            table=(("", "size", "smallest", "largest"), rows),
            numbers={"picture": picture, "kernel": kernel, "convolved": found, "pooled": pooled},
            steps=[
                Card(
                    frame(
                        below(_drawn(picture, kernel, found, pooled, options, place), gap=14),
                        description=f"The window whose result is row {place[0] + 1}, column {place[1] + 1}.",
                    ),
                    heading=f"row {place[0] + 1}, column {place[1] + 1}: {found[place]:g}",
                )
                for place in places
            ],
        )


def convolve(picture: Array, kernel: Array, stride: int = 1, padding: int = 0) -> Array:
    """The sum of kernel times window, for every window."""
    padded = np.pad(picture, padding)
    height, width = (
        (side - size) // stride + 1 for side, size in zip(padded.shape, kernel.shape, strict=True)
    )
    return np.array(
        [
            [
                float((_window(padded, i * stride, j * stride, kernel.shape) * kernel).sum())
                for j in range(width)
            ]
            for i in range(height)
        ]
    )


def pool(values: Array, window: int, how: str) -> Array:
    """The maximum or the mean of each window; incomplete windows at the edges are dropped."""
    height, width = (side // window for side in values.shape)
    blocks = values[: height * window, : width * window].reshape(height, window, width, window)
    return np.asarray(blocks.max((1, 3)) if how == "max" else blocks.mean((1, 3)))


def _window(values: Array, i: int, j: int, shape: tuple[int, ...]) -> Array:
    return values[i : i + shape[0], j : j + shape[1]]


def _drawn(
    picture: Array, kernel: Array, found: Array, pooled: Array, options: Any, place: tuple[int, ...]
) -> list[Block]:
    i, j = (at * options.stride for at in place)
    p, w = options.padding, options.window
    padded = np.pad(picture, p)
    seen = np.zeros_like(padded)
    seen[i : i + kernel.shape[0], j : j + kernel.shape[1]] = 1
    result, kept = np.zeros_like(found), np.zeros_like(pooled)
    result[place] = 1
    if place[0] // w < pooled.shape[0] and place[1] // w < pooled.shape[1]:
        kept[place[0] // w, place[1] // w] = 1
    top = float(np.abs(found).max()) or 1.0
    return [
        beside(
            [_grid("picture", padded, 1.0, seen), _grid("kernel", kernel, float(np.abs(kernel).max()))],
            gap=14,
        ),
        beside(
            [_grid("convolved", found, top, result), _grid(f"{options.pool}-pooled", pooled, top, kept)],
            gap=14,
        ),
    ]


def _grid(title: str, values: Array, limit: float, outlined: Array | None = None) -> Block:
    """A grid of small cells, so that the image and its kernel fit side by side on a narrow screen."""
    matrix = Matrix(
        tuple(str(i + 1) for i in range(values.shape[0])),
        tuple(str(j + 1) for j in range(values.shape[1])),
        values,
        truth=outlined,
        title=title,
        limit=limit,
        shades=np.abs(values) / limit,
        numbers=True,
        digits="{:.2g}",
        outlined="window",
    )
    marks: list[Mark] = [Text(0, 11, title, size=12.5, bold=True)]
    outlines: list[Mark] = []
    for (i, j), value in np.ndenumerate(values):
        x, y, shade = j * (CELL + 1), 20 + i * (CELL + 1), Shade(abs(float(value)) / limit)
        marks.append(Rect(x, y, CELL, CELL, fill=shade, radius=2))
        number = f"{value:.2g}".replace("-", "−")
        marks.append(
            Text(x + CELL / 2, y + CELL / 2 + 4, number, size=10.5, anchor="middle", color=Over(shade))
        )
        if outlined is not None and outlined[i, j]:
            outlines.append(
                Rect(x + 0.75, y + 0.75, CELL - 1.5, CELL - 1.5, stroke="truth", stroke_width=2, radius=2)
            )
    group = Group((*marks, *outlines), kind="matrix", content=matrix)
    width = max(values.shape[1] * (CELL + 1), text_width(title, 13.5))
    return Block((group,), width, 20 + values.shape[0] * (CELL + 1))
