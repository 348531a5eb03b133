"""The notices world: each topic has its own words, and a text has any number of topics."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import ClassVar

from regard.data.provider import RowCount, Splits
from regard.parts import Count, register
from regard.worlds.world import SplitWorld

TOPICS = {
    "food": ("bread", "cheese", "soup", "apples", "market", "bakery"),
    "health": ("doctor", "clinic", "fever", "medicine", "nurse", "vaccine"),
    "music": ("concert", "choir", "violin", "band", "song", "drums"),
    "school": ("teacher", "exam", "pupils", "lesson", "homework", "library"),
    "sport": ("match", "goal", "runner", "stadium", "team", "race"),
    "traffic": ("bridge", "train", "tunnel", "bus", "road", "detour"),
    "weather": ("rain", "storm", "snow", "fog", "frost", "heat"),
}
MENTIONS = (
    "everyone speaks about the {word} today",
    "the paper writes at length about the {word}",
    "a neighbor came by with news of the {word}",
    "the {word} is what people remember",
    "old friends argued over the {word} all evening",
)
DENIALS = (
    "there was no {word} this time",
    "nothing is known of the {word}",
    "the paper leaves out the {word}",
    "nobody asked about the {word}",
)
FILLERS = (
    "the office opens at nine",
    "please use the side door",
    "the mayor was away on friday",
    "more will follow next week",
    "somebody left a green umbrella",
    "the clock on the square is late again",
)


@register("world", "notices")
class NoticesWorld(SplitWorld):
    """Short notices with any number of topics, each from words of its own.

    the office opens at nine . everyone speaks about the choir today . there was no storm this time . → music

    Fields: text, topics ("music|sport", or nothing) and words, the words from which each topic follows ("music:12").
    A topic that is only denied is none of the text: the word alone does not tell, its sentence does.
    """

    train: RowCount = 4_000
    """Number of notices; all are distinct, also across splits."""
    shortest: Count = 2
    """Minimum number of sentences of a notice; lengths are uniform."""
    longest: Count = 6
    """Maximum number of sentences of a notice."""

    fields: ClassVar[tuple[str, ...]] = ("text", "topics", "words")

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
        words: list[str] = []
        places: dict[str, list[int]] = {}
        for _ in range(generator.randint(self.shortest, max(self.shortest, self.longest))):
            topic, chance = generator.choice(list(TOPICS)), generator.random()
            word = generator.choice(TOPICS[topic])
            forms = MENTIONS if chance < 0.45 else DENIALS if chance < 0.7 else FILLERS
            sentence = generator.choice(forms).format(word=word).split()
            if forms is MENTIONS:
                places.setdefault(topic, []).append(len(words) + sentence.index(word))
            words += [*sentence, "."]
        found = sorted(places.items())
        return {
            "text": " ".join(words),
            "topics": "|".join(topic for topic, _ in found),
            "words": " ".join(f"{topic}:{place}" for topic, several in found for place in several),
        }
