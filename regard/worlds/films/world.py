"""The films world: short videos of acting shapes, with captions whose words refer to frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from pydantic import model_validator

from regard.data.arrays import array_uri
from regard.data.provider import RowCount, Splits
from regard.data.ragged import Array
from regard.errors import RegardError
from regard.parts import register
from regard.worlds.films.actions import ACTIONS, POSE, Action, perform
from regard.worlds.films.drawing import COLORS, ROUND, SHAPES, blank, coverage, paint
from regard.worlds.world import SplitWorld

RADIUS = 5.0
FRAMES = 5
"""Frames of one action; jumps and circles would be hard to recognize in fewer."""
MOST_EVENTS = 5


@dataclass(frozen=True)
class Shot:
    """A shape rests, acts, and rests again.

    start, stop    first frame of the shot in the video, and the frame after its last
    first, last    first frame of the action, and the frame after its last
    others         shapes that do not act, with their colors
    """

    shape: str
    color: str
    action: Action
    start: int
    first: int
    last: int
    stop: int
    others: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> list[str]:
        """The words of the caption about this shot."""
        return ["the", self.color, self.shape, *self.action.name.split()]


@register("world", "films")
class FilmsWorld(SplitWorld):
    """Videos of one or more shots; in each shot, a shape performs an action.

        film → the red square moves left then the blue ring grows

    `action` is the action of the first shape and `moment` its frames. `places` maps words of the caption to frames, as
    fractions of the video: a color or shape to the frames in which it is visible, an action to those in which it
    happens.
    """

    train: RowCount = 4_000
    """Number of videos."""
    dev: RowCount = 300
    """Rows of the split `dev`."""
    events: int = 2
    """Maximum number of shots per video; videos of 1, 2, … shots are equally frequent."""
    others: int = 0
    """Number of shapes per shot that do not act and are not mentioned."""
    size: int = 24
    """Width and height of a frame, in pixels."""
    pause: int = 1
    """Maximum number of frames without action at the start and at the end of each shot."""

    fields: ClassVar[tuple[str, ...]] = ("film", "action", "moment", "caption", "places")

    @model_validator(mode="after")
    def _within_bounds(self) -> Self:
        for option, least, most in (
            ("events", 1, MOST_EVENTS),
            ("others", 0, len(SHAPES) - 1),
            ("size", 24, 512),
            ("pause", 0, 100),
        ):
            if not least <= getattr(self, option) <= most:
                raise RegardError(f"{option} is {getattr(self, option)}, expected {least} to {most}.")
        return self

    def splits(self) -> Splits:
        return self.splits_apart(self._rows)

    def _rows(self, generator: np.random.Generator, size: int) -> Iterator[dict[str, str]]:
        for number in range(size):
            shots = self._script(generator, 1 + number % self.events)
            length = shots[-1].stop
            yield {
                "film": array_uri(np.concatenate([self._frames(generator, shot) for shot in shots])),
                "action": shots[0].action.name,
                "moment": f"0:{_span(shots[0].first, shots[0].last, length)}",
                "caption": " then ".join(" ".join(shot.words) for shot in shots),
                "places": _places(shots),
            }

    def _script(self, generator: np.random.Generator, events: int) -> list[Shot]:
        """Random shots: shapes, actions and their frames."""
        shots: list[Shot] = []
        start = 0
        for _ in range(events):
            shape, *shapes = generator.permutation(list(SHAPES)).tolist()
            color, *colors = generator.permutation(list(COLORS)).tolist()
            possible = [action for action in ACTIONS.values() if not (action.corners and shape in ROUND)]
            action = possible[int(generator.integers(len(possible)))]
            before, after = generator.integers(self.pause + 1, size=2).tolist()
            first, last = start + before, start + before + FRAMES
            others = tuple(zip(shapes, colors, strict=False))[: self.others]
            shots.append(Shot(shape, color, action, start, first, last, last + after, others))
            start = last + after
        return shots

    def _frames(self, generator: np.random.Generator, shot: Shot) -> Array:
        """(T, size, size, 3) uint8 of a shot; the acting shape is in front."""
        length = shot.stop - shot.start
        frames = blank(length, self.size)
        for shape, color in shot.others:
            still = self._poses(generator, (0.0, 0.0, 0.0, 0.0), length)
            paint(frames, coverage(shape, still, self.size), color)
        poses = self._poses(generator, shot.action.reach, length)
        perform(shot.action, poses, shot.first - shot.start, shot.last - shot.start)
        paint(frames, coverage(shot.shape, poses, self.size), shot.color)
        return np.rint(frames).astype(np.uint8)

    def _poses(
        self, generator: np.random.Generator, reach: tuple[float, float, float, float], length: int
    ) -> Array:
        """(T, 5) poses of a shape at rest, placed so that no displacement within its reach leaves the frame."""
        left, right, up, down = reach
        start = {
            "x": generator.uniform(RADIUS + left, self.size - RADIUS - right),
            "y": generator.uniform(RADIUS + up, self.size - RADIUS - down),
            "radius": RADIUS,
            "angle": 0.0,
            "seen": 1.0,
        }
        return np.tile([start[name] for name in POSE], (length, 1))


def _span(first: int, last: int, length: int) -> str:
    return f"{first / length:.4f},{last / length:.4f}"


def _places(shots: list[Shot]) -> str:
    """`1:0.0000,0.5000 2:0.0000,0.5000 3:0.1000,0.4000 …`: the frames of each word except `the` and `then`."""
    found, token, length = [], 0, shots[-1].stop
    for shot in shots:
        there, acting = _span(shot.start, shot.stop, length), _span(shot.first, shot.last, length)
        found += [f"{token + 1}:{there}", f"{token + 2}:{there}"]
        found += [f"{token + place}:{acting}" for place in range(3, len(shot.words))]
        token += len(shot.words) + 1  # + 1 for the word `then`
    return " ".join(found)
