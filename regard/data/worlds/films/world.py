"""The films world: small films of shapes that act one after the other, told in a sentence whose words have frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from regard.data.arrays import array_uri
from regard.data.ragged import Array
from regard.data.worlds.films.actions import ACTIONS, POSE, Action, perform
from regard.data.worlds.films.drawing import COLOURS, ROUND, SHAPES, blank, coverage, paint
from regard.data.worlds.world import Splits, numbered
from regard.errors import RegardError

RADIUS = 4.0
FRAMES = 5
"""Frames of one action; jumps and circles would be hard to tell in fewer."""


@dataclass(frozen=True)
class Actor:
    """A shape that acts in the frames from `first` to before `last`, or stands by."""

    shape: str
    colour: str
    action: Action | None = None
    first: int = 0
    last: int = 0

    @property
    def words(self) -> list[str]:
        """What is told of it; nothing where it stands by."""
        return [] if self.action is None else ["the", self.colour, self.shape, *self.action.name.split()]


@dataclass(frozen=True)
class FilmsWorld:
    """Two shapes stand in the frame; one of them acts, then perhaps the other, while everything else stands still.

        film → the red square moves left then the blue circle grows

    `action` is what the first to act does and `moment` when it does so; `places` says for each word of the caption
    that names a colour, a shape or an action in which frames that one acts, as fractions of the film.

    seed              determines everything
    train, dev, test  numbers of films
    events            the most that happens in a film: 1 or 2, each as often
    size              width and height of a frame, in pixels
    pause             the most frames in which nothing happens, before, between and after the events
    """

    seed: int = 1
    train: int = 5_000
    dev: int = 300
    test: int = 1_000
    events: int = 2
    size: int = 24
    pause: int = 2

    name: ClassVar[str] = "films"
    fields: ClassVar[tuple[str, ...]] = ("film", "action", "moment", "caption", "places")

    def __post_init__(self) -> None:
        if self.events not in (1, 2):
            raise RegardError(f"events is {self.events}, expected 1 or 2.", where=self.name)
        if self.size < 24:
            raise RegardError(
                f"size is {self.size}, expected at least 24: actions need room.", where=self.name
            )
        if self.pause < 0:
            raise RegardError(f"pause is {self.pause}, expected 0 or more frames.", where=self.name)

    def splits(self) -> Splits:
        sizes = {"train": self.train, "dev": self.dev, "test": self.test}
        return {
            # Each split has a generator of its own, so that it stays the same whatever the sizes of the others.
            split: numbered(
                self.name, split, self._rows(np.random.default_rng([self.seed, place]), sizes[split])
            )
            for place, split in enumerate(sizes)
        }

    def _rows(self, generator: np.random.Generator, size: int) -> Iterator[dict[str, str]]:
        for number in range(size):
            actors, length = self._cast(generator, acting=1 + number % self.events)
            told = [actor for actor in actors if actor.action is not None]
            yield {
                "film": array_uri(self._shoot(generator, actors, length)),
                "action": " ".join(told[0].words[3:]),
                "moment": f"0:{_span(told[0], length)}",
                "caption": " then ".join(" ".join(actor.words) for actor in told),
                "places": _places(told, length),
            }

    def _cast(self, generator: np.random.Generator, *, acting: int) -> tuple[list[Actor], int]:
        """Two shapes, of which the first or both act, one after the other; and how many frames it all takes."""
        shapes = generator.permutation(list(SHAPES)).tolist()
        colours = generator.permutation(list(COLOURS)).tolist()
        actors, frame = [], 0
        for shape, colour in zip(shapes[:acting], colours[:acting], strict=True):
            possible = [action for action in ACTIONS.values() if not (action.corners and shape in ROUND)]
            action = possible[int(generator.integers(len(possible)))]
            frame += int(generator.integers(self.pause + 1))
            actors.append(Actor(shape, colour, action, frame, frame + FRAMES))
            frame += FRAMES
        length = frame + int(generator.integers(self.pause + 1))
        return [*actors, *map(Actor, shapes[acting:2], colours[acting:2])], length

    def _shoot(self, generator: np.random.Generator, actors: list[Actor], length: int) -> Array:
        """(T, size, size, 3) uint8; nobody covers who is acting."""
        frames = blank(length, self.size)
        covered = [
            coverage(actor.shape, self._poses(generator, actor, length), self.size) for actor in actors
        ]
        turn = actors[0].last if actors[1].action is not None else length
        for part, order in ((slice(turn), (1, 0)), (slice(turn, None), (0, 1))):
            for number in order:
                paint(frames[part], covered[number][part], actors[number].colour)
        return np.rint(frames).astype(np.uint8)

    def _poses(self, generator: np.random.Generator, actor: Actor, length: int) -> Array:
        """(T, 5) where the shape is and how it looks in every frame; it never leaves the frame."""
        left, right, up, down = (0.0, 0.0, 0.0, 0.0) if actor.action is None else actor.action.reach
        start = {
            "x": generator.uniform(RADIUS + left, self.size - RADIUS - right),
            "y": generator.uniform(RADIUS + up, self.size - RADIUS - down),
            "radius": RADIUS,
            "angle": 0.0,
            "seen": 1.0,
        }
        poses = np.tile([start[name] for name in POSE], (length, 1))
        if actor.action is not None:
            perform(actor.action, poses, actor.first, actor.last)
        return poses


def _span(actor: Actor, length: int) -> str:
    return f"{actor.first / length:.4f},{actor.last / length:.4f}"


def _places(told: list[Actor], length: int) -> str:
    """`1:0.10,0.50 2:0.10,0.50 …`: the words about each actor but `the`, at the frames in which it acts."""
    found, token = [], 0
    for actor in told:
        found += [f"{token + place}:{_span(actor, length)}" for place in range(1, len(actor.words))]
        token += len(actor.words) + 1  # and the word `then`
    return " ".join(found)
