"""The keepings world: who keeps what where, and questions whose answer is a span of the text."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import ClassVar

from regard.data.provider import RowCount, Splits
from regard.parts import Count, register
from regard.worlds.world import SplitWorld

PEOPLE = ("anna", "boris", "clara", "david", "emma", "felix", "greta", "hugo", "irene", "jonas")
COLORS = ("red", "blue", "old", "small", "heavy", "broken")
THINGS = ("ball", "lamp", "book", "drum", "coat", "clock", "kettle", "ladder")
SIZES = ("dark", "cold", "narrow", "upper", "empty")
PLACES = ("kitchen", "cellar", "garden", "attic", "garage", "hall")
TIMES = ("since monday", "for a year", "again", "as always", "for now")


@register("world", "keepings")
class KeepingsWorld(SplitWorld):
    """Sentences about who keeps what where, and one question about one of them.

    greta keeps the small lamp in the attic . hugo keeps the drum in the cold hall for now . — where does hugo keep it
    → 16-18, the cold hall

    Fields: text, question and span, the first and the last word of the answer, counted from 0. Nobody and nothing
    occurs twice in a text, so that one place is right; the other sentences hold answers of the same kind.
    """

    train: RowCount = 6_000
    """Number of rows; the texts of all splits differ."""
    fewest: Count = 2
    """Minimum number of sentences of a text; lengths are uniform."""
    most: Count = 4
    """Maximum number of sentences of a text; at most 8."""

    fields: ClassVar[tuple[str, ...]] = ("text", "question", "span")

    def splits(self) -> Splits:
        generator, seen = Random(self.seed), set[str]()

        def rows(split: str, size: int) -> Iterator[dict[str, str]]:
            for _ in range(size):
                row = self._row(generator)
                while row["text"] in seen:
                    row = self._row(generator)
                seen.add(row["text"])
                yield row

        return self.tests_first(rows)

    def _row(self, generator: Random) -> dict[str, str]:
        count = min(generator.randint(self.fewest, max(self.fewest, self.most)), len(THINGS))
        people, things = generator.sample(PEOPLE, count), generator.sample(THINGS, count)
        asked, words = generator.randrange(count), list[str]()
        question, span = "", (0, 0)
        for number, (who, thing) in enumerate(zip(people, things, strict=True)):
            what = ["the", *generator.sample(COLORS, generator.randint(0, 1)), thing]
            where = ["the", *generator.sample(SIZES, generator.randint(0, 1)), generator.choice(PLACES)]
            when = generator.choice(TIMES).split() if generator.random() < 0.3 else []
            begin = len(words)
            words += [who, "keeps", *what, "in", *where, *when, "."]
            if number == asked:
                first = begin + 2
                there = first + len(what) + 1
                question, span = generator.choice(
                    [
                        (f"who keeps the {thing}", (begin, begin)),
                        (f"what does {who} keep", (first, first + len(what) - 1)),
                        (f"where does {who} keep it", (there, there + len(where) - 1)),
                        (f"where is the {thing}", (there, there + len(where) - 1)),
                    ]
                )
        return {"text": " ".join(words), "question": question, "span": "-".join(map(str, span))}
