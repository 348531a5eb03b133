"""Actions of shapes: how an action changes the pose over the frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from regard.data.ragged import Array

POSE = ("x", "y", "radius", "angle", "seen")
"""Pose of a shape in one frame: center and radius in pixels (y downward), rotation in radians, visibility."""
DISTANCE = 9.0
"""Distance of a move, in pixels of a frame of 24."""

Change = Callable[[Array], dict[str, Array]]


@dataclass(frozen=True)
class Action:
    """An action of a shape over some frames.

    change      progress (F,), in (0, 1] → increments of x, y and angle, factors of radius and `seen`
    reach       (left, right, up, down) largest displacements of the center from its start, in pixels
    lasting     whether the final pose persists; otherwise the shape returns to its earlier pose
    corners     whether the action is invisible for a round shape
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
    """Invisible, visible, invisible, …; visible in the last frame."""
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
    """Apply an action to the `poses` (T, 5) of a shape in place, in the frames from `first` up to, excluding,
    `last`."""
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
