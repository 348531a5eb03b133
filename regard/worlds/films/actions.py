"""What a shape can do: for each action, how its pose changes over the frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from regard.data.ragged import Array

POSE = ("x", "y", "radius", "angle", "seen")
"""Of a shape in one frame: its centre and radius in pixels (y downwards), its turn in radians, whether it is there."""
DISTANCE = 9.0
"""How far a move goes, in pixels of a frame of 24."""

Change = Callable[[Array], dict[str, Array]]


@dataclass(frozen=True)
class Action:
    """Something a shape does within some frames.

    change      progress (F,), above 0 to 1 → what is added to x, y and angle, and what multiplies radius and `seen`
    reach       (left, right, up, down) the farthest that the centre comes from where it began, in pixels
    lasting     whether the pose stays as it is at the end; else the shape is where and as it was before
    corners     whether a round shape cannot be seen to do it
    """

    name: str
    change: Change
    reach: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    lasting: bool = False
    corners: bool = False


def _alternating(progress: Array) -> Array:
    """−1, 1, −1, … over the frames, 0 in the last."""
    signs = np.where(np.arange(len(progress)) % 2, 1.0, -1.0)
    return np.where(progress < 1.0, signs, 0.0)


def _blinking(progress: Array) -> Array:
    """Away, there, away, …; there in the last."""
    return np.where(progress < 1.0, np.arange(len(progress)) % 2, 1).astype(np.float64)


ACTIONS: dict[str, Action] = {
    action.name: action
    for action in (
        Action("moves left", lambda p: {"x": -DISTANCE * p}, (DISTANCE, 0, 0, 0), lasting=True),
        Action("moves right", lambda p: {"x": DISTANCE * p}, (0, DISTANCE, 0, 0), lasting=True),
        Action("moves up", lambda p: {"y": -DISTANCE * p}, (0, 0, DISTANCE, 0), lasting=True),
        Action("moves down", lambda p: {"y": DISTANCE * p}, (0, 0, 0, DISTANCE), lasting=True),
        Action("grows", lambda p: {"radius": 1.0 + 0.5 * p}, (2.5, 2.5, 2.5, 2.5), lasting=True),
        Action("shrinks", lambda p: {"radius": 1.0 - 0.55 * p}, lasting=True),
        Action("turns", lambda p: {"angle": np.pi * p}, lasting=True, corners=True),
        Action("jumps", lambda p: {"y": -4.0 * 8.0 * p * (1.0 - p)}, (0, 0, 8.0, 0)),
        Action(
            "circles",
            lambda p: {"x": 4.0 * np.sin(2 * np.pi * p), "y": 4.0 * (1.0 - np.cos(2 * np.pi * p))},
            (4.0, 4.0, 0, 8.0),
        ),
        Action("blinks", lambda p: {"seen": _blinking(p)}),
        Action("shakes", lambda p: {"x": 3.0 * _alternating(p)}, (3.0, 3.0, 0, 0)),
    )
}


def perform(action: Action, poses: Array, first: int, last: int) -> None:
    """Change a shape's `poses` (T, 5) in place: it acts in the frames from `first` to before `last`."""
    progress = np.arange(1, last - first + 1) / (last - first)
    scale = action.change(progress)
    for name, values in scale.items():
        column = POSE.index(name)
        if name in ("radius", "seen"):
            poses[first:last, column] *= values
        else:
            poses[first:last, column] += values
    if action.lasting:
        poses[last:] = poses[last - 1]
