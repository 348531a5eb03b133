"""The scenes world: images with captions, questions or labels, and their true regions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import Random
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from regard.data.provider import RowCount, Splits
from regard.errors import RegardError
from regard.parts import register
from regard.worlds.scenes.captions import caption
from regard.worlds.scenes.drawing import data_uri, drawn
from regard.worlds.scenes.placing import placed
from regard.worlds.scenes.questions import ask
from regard.worlds.scenes.things import Scene
from regard.worlds.world import SplitWorld

CROWDED = 4
"""Minimum number of things in a crowded scene."""


@register("world", "scenes")
class ScenesWorld(SplitWorld):
    """Images of 1 to `most` colored shapes, without overlap.

        caption    a large red star and a small blue ring          and the region of each noun
        question   what colour is the star → red                   and the regions it is about, and the caption
        shape      star, of the leftmost thing                     and its region

    Things are named from left to right. `things` is their number, a group for `regard evaluate --by things` or for
    `training.curriculum`: add  truth: {things: {type: group}}.
    """

    train: RowCount = 10_000
    """Number of rows; all scenes are distinct, also across splits."""
    crowded: RowCount = 500
    """Rows of the split `crowded`, whose scenes have four or more things. The split exists if `most` is at least 4."""
    most: int = 5
    """Maximum number of things in a scene."""
    pixels: int = 48
    """Height and width of the image; things scale with it, and shrink as `most` grows."""
    task: Literal["caption", "question", "shape"] = "caption"
    """The other fields of a row, besides the image."""
    questions: Literal["all", "attributes"] = "all"
    """attributes: ask for the size, color or shape of a thing only; all: also how many there are, whether there is
    one, and where it is."""
    relations: bool = False
    """Join neighbors in captions by their relation (above, below, beside); false: by "and"."""

    fields: ClassVar[tuple[str, ...]] = (
        "image",
        "caption",
        "question",
        "answer",
        "shape",
        "places",
        "things",
    )

    @model_validator(mode="after")
    def _can_be_drawn(self) -> Self:
        if not 1 <= self.most <= 5:
            raise RegardError(f"most is {self.most}, expected 1 to 5 objects.")
        if self.most < CROWDED and "crowded" in self.model_fields_set and self.crowded:
            raise RegardError(
                f"crowded scenes have {CROWDED} or more objects, but most is {self.most}.",
                fix="Leave crowded out, or raise most.",
            )
        if self.relations and self.task == "shape":
            raise RegardError(
                "relations has no effect: it changes captions, and task: shape has none.",
                fix="Leave relations out.",
            )
        if self.questions != "all" and self.task != "question":
            raise RegardError(
                f"questions has no effect: the task is {self.task}.",
                fix="Leave questions out, or set task: question.",
            )
        if not 24 <= self.pixels <= 512:
            raise RegardError(
                f"pixels is {self.pixels}, expected 24 to 512: smaller shapes cannot be told apart."
            )
        return self

    def splits(self) -> Splits:
        seen, numbers = set[Scene](), count()
        return self.tests_first(
            lambda split, size: self._rows(next(numbers), split, size, seen),
            **{"crowded": self.crowded} if self.most >= CROWDED and self.crowded else {},
        )

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
                        "things": str(len(scene)),
                    }

    def _told(self, scene: Scene, asking: Random) -> dict[str, str]:
        if self.task == "caption":
            text, places = caption(scene, self.pixels, relations=self.relations)
            return {"caption": text, "places": places}
        if self.task == "question":
            question = ask(scene, self.pixels, asking, attributes=self.questions == "attributes")
            return {
                "question": question.text,
                "answer": question.answer,
                "caption": caption(scene, self.pixels, relations=self.relations)[0],
                "places": question.places(self.pixels),
            }
        return {"shape": scene[0].shape, "places": f"0:{scene[0].place(self.pixels)}"}
