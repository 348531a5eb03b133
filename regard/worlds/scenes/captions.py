"""Captions of scenes, from left to right, with the relations of neighbors."""

from __future__ import annotations

from regard.worlds.scenes.placing import LEVEL
from regard.worlds.scenes.things import Scene, Thing


def relation(first: Thing, second: Thing, pixels: int) -> str:
    """The position of a thing relative to its right neighbor."""
    lower = second.y - first.y
    if abs(lower) <= LEVEL * pixels:
        return "beside"
    return "above" if lower > 0 else "below"


def caption(scene: Scene, pixels: int, *, relations: bool = False) -> tuple[str, str]:
    """The caption, and the region of the thing that each noun names: `3:x0,y0,x1,y1 8:…`.

    a large red star and a small blue ring and a medium green square            or, with `relations`,
    a large red star above a small blue ring beside a medium green square
    """
    words: list[str] = []
    places = []
    for number, thing in enumerate(scene):
        if number:
            words.append(relation(scene[number - 1], thing, pixels) if relations else "and")
        words += ["a", thing.size, thing.color, thing.shape]
        places.append(f"{len(words) - 1}:{thing.place(pixels)}")
    return " ".join(words), " ".join(places)
