"""The restaurants world: small records, the sentence that says them, and the cell that each word comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Annotated, ClassVar

from pydantic import Field

from regard.data.provider import RowCount, Splits, numbered
from regard.parts import register
from regard.worlds.world import SplitWorld

FIRST = ("Blue", "Golden", "Old", "Green", "Silver", "Little", "Red", "Happy")
SECOND = ("Spoon", "Mill", "Garden", "Lantern", "Anchor", "Oak", "Bridge", "Kettle")
PLACES = ("Station", "Harbor", "Museum", "Park", "Market", "Castle")
VALUES: dict[str, dict[str, str]] = {
    "price": {"less than £20": "cheap", "£20-25": "moderate", "more than £30": "expensive"},
    "food": {one: one for one in ("Italian", "Indian", "French", "Chinese", "English", "Greek")},
    "kind": {"pub": "pub", "coffee shop": "cafe", "restaurant": "restaurant"},
    "area": {"city centre": "center", "riverside": "riverside", "suburbs": "suburbs"},
    "rating": {"1 out of 5": "poor", "3 out of 5": "decent", "5 out of 5": "great"},
    "children": {"yes": "welcome", "no": "unwelcome"},
}
"""The values of each field, and the word of the sentence that says each."""
OPTIONAL = ("price", "food", "area", "near", "rating", "children")
"""Fields that a record may lack."""
Said = list[tuple[str, str]]
"""Words, each with the field that it comes from; empty for words that come from none."""


@register("world", "restaurants")
class RestaurantsWorld(SplitWorld):
    """Records of restaurants, their cells in random order, and a sentence that says all of them in a fixed order.

    area=riverside|name=Old Mill|price=less than £20|kind=pub → Old Mill is a cheap pub in the riverside .

    `alignment` links each word that says a value to its cell; the other words come from no cell.
    """

    train: RowCount = 6_000
    """Number of records."""
    dev: RowCount = 300
    """Rows of the split `dev`."""
    test: RowCount = 1_000
    """Rows of the split `test`."""
    lacking: Annotated[float, Field(ge=0, le=1)] = 0.4
    """Probability that a record lacks a field other than its name and kind."""

    fields: ClassVar[tuple[str, ...]] = ("record", "sentence", "alignment")

    def splits(self) -> Splits:
        sizes = {"train": self.train, "dev": self.dev, "test": self.test}
        return {
            split: numbered(self.type, split, self._rows(Random(f"{self.seed} {split}"), size))
            for split, size in sizes.items()
        }

    def _rows(self, generator: Random, size: int) -> Iterator[dict[str, str]]:
        for _ in range(size):
            record = drawn(generator, self.lacking)
            said = sentence(record)
            order = list(record)
            generator.shuffle(order)
            links = [f"{order.index(field)}-{place}" for place, (_, field) in enumerate(said) if field]
            yield {
                "record": json.dumps({field: record[field] for field in order}, ensure_ascii=False),
                "sentence": " ".join(word for word, _ in said),
                "alignment": " ".join(links),
            }


def drawn(generator: Random, lacking: float) -> dict[str, str]:
    """A random record."""
    record = {"name": f"{generator.choice(FIRST)} {generator.choice(SECOND)}"}
    record["kind"] = generator.choice(list(VALUES["kind"]))
    for field in OPTIONAL:
        if generator.random() >= lacking:
            record[field] = generator.choice(PLACES if field == "near" else list(VALUES[field]))
    return record


def sentence(record: dict[str, str]) -> Said:
    """The words of the sentence of a record, with their fields."""

    def value(field: str) -> Said:
        return [(VALUES[field][record[field]], field)] if field in record else []

    words: Said = [(word, "name") for word in record["name"].split()]
    words += [("is", ""), ("a", ""), *value("price"), *value("food"), *value("kind")]
    if "area" in record:
        words += [("in", ""), ("the", ""), *value("area")]
    if "near" in record:
        words += [("near", ""), ("the", ""), (record["near"], "near")]
    if "rating" in record:
        words += [("with", ""), *value("rating"), ("reviews", "")]
    if "children" in record:
        words += [(",", ""), ("children", ""), ("are", ""), *value("children")]
    return [*words, (".", "")]
