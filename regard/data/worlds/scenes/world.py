"""The scenes world: pictures with captions, questions or labels, and the true place to look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import ClassVar

import numpy as np

from regard.data.worlds.scenes.captions import caption
from regard.data.worlds.scenes.drawing import data_uri, drawn
from regard.data.worlds.scenes.placing import placed
from regard.data.worlds.scenes.questions import ask
from regard.data.worlds.scenes.things import Scene
from regard.data.worlds.world import Splits, numbered
from regard.errors import RegardError

TASKS = ("caption", "question", "shape")
CROWDED = 4
"""From so many things a scene is crowded."""


@dataclass(frozen=True)
class ScenesWorld:
    """Scenes of 1 to `most` coloured shapes, none of which hides another.

        caption    a large red star and a small blue ring          and where each noun's thing is
        question   what colour is the star → red                   and where the things it is about are, and the caption
        shape      star, of the leftmost thing                     and where it is

    Things are named from left to right.

    seed          determines everything
    train … test  numbers of rows; no scene occurs twice, in one split or in two
    crowded       rows of a further split whose scenes hold four things or more; only where `most` allows them
    most          things in a scene, at most
    pixels        height and width of the picture; things grow with it, and shrink with `most`
    task          what a row has beside the picture: caption, question, shape
    relations     captions say how each thing lies to the next: above, below, beside instead of and
    """

    seed: int = 1
    train: int = 10_000
    dev: int = 500
    test: int = 1_000
    crowded: int = 500
    most: int = 5
    pixels: int = 48
    task: str = "caption"
    relations: bool = False

    name: ClassVar[str] = "scenes"
    fields: ClassVar[tuple[str, ...]] = ("image", "caption", "question", "answer", "shape", "places")

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise RegardError(
                f"task is {self.task!r}, expected one of {', '.join(TASKS)}.", where=f"world {self.name}"
            )
        if not 1 <= self.most <= 5:
            raise RegardError(f"most is {self.most}, expected 1 to 5 things.", where=f"world {self.name}")
        if not 24 <= self.pixels <= 512:
            raise RegardError(
                f"pixels is {self.pixels}, expected 24 to 512: smaller shapes cannot be told apart.",
                where=f"world {self.name}",
            )

    def splits(self) -> Splits:
        # Those to be tested on come first, so that they stay the same whatever the size of train.
        sizes = {"dev": self.dev, "test": self.test, "crowded": self.crowded, "train": self.train}
        if self.most < CROWDED:
            del sizes["crowded"]
        seen: set[Scene] = set()
        rows = {
            split: numbered(self.name, split, self._rows(number, split, size, seen))
            for number, (split, size) in enumerate(sizes.items())
        }
        return {split: rows[split] for split in ("train", "dev", "test", "crowded") if split in rows}

    def _rows(self, number: int, split: str, size: int, seen: set[Scene]) -> Iterator[dict[str, str]]:
        generator = np.random.default_rng([self.seed, number])
        asking = Random(f"{self.seed} {split}")
        fewest = CROWDED if split == "crowded" else 1
        while size > 0:
            counts = generator.integers(fewest, self.most + 1, size=size)
            for scene in placed(generator, counts, self.pixels, self.most):
                if scene not in seen:
                    seen.add(scene)
                    size -= 1
                    yield {
                        "image": data_uri(drawn(scene, self.pixels, generator)),
                        **self._told(scene, asking),
                    }

    def _told(self, scene: Scene, asking: Random) -> dict[str, str]:
        if self.task == "caption":
            text, places = caption(scene, self.pixels, relations=self.relations)
            return {"caption": text, "places": places}
        if self.task == "question":
            question = ask(scene, self.pixels, asking)
            return {
                "question": question.text,
                "answer": question.answer,
                "caption": caption(scene, self.pixels, relations=self.relations)[0],
                "places": question.places(self.pixels),
            }
        return {"shape": scene[0].shape, "places": f"0:{scene[0].place(self.pixels)}"}
