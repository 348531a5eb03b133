"""The reviews world: among several opinions about films, the strongest decides."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import ClassVar, Self

from pydantic import model_validator

from regard.data.provider import RowCount, Splits, numbered
from regard.errors import RegardError
from regard.parts import Count, register
from regard.worlds.world import SplitWorld

FILMS = {
    "comedy": ("comedy", "farce", "satire", "parody"),
    "crime": ("thriller", "mystery", "whodunit", "heist"),
    "drama": ("drama", "tragedy", "romance", "melodrama"),
}
WORDS = {
    "good": ("wonderful", "brilliant", "charming", "delightful", "superb", "gripping"),
    "bad": ("dreadful", "boring", "clumsy", "tedious", "awful", "silly"),
}
STRENGTHS = ("slightly", "somewhat", "rather", "very", "extremely", "utterly")
"""From weakest to strongest."""
PEOPLE = (
    "I",
    "We",
    "My brother",
    "My mother",
    "The critics",
    "Our neighbors",
    "A friend of mine",
    "Some people",
    "His sister",
    "The papers",
)
OPINIONS = (
    "{who} thought the {film} was {strength} {word}.",
    "{who} found the {film} {strength} {word}.",
    "{who} told everyone that the {film} was {strength} {word}.",
    "{who} called the {film} {strength} {word} more than once.",
    "{who} said on the way out that it was a {strength} {word} {film}.",
)
FILLERS = (
    "{who} walked home in the {weather}.",
    "{who} bought {food} before the show.",
    "{who} had to wait a long time for the tickets.",
    "{who} sat in the {place} row.",
    "{who} met an old friend at the door.",
    "The {thing} was almost empty that evening.",
    "There was a long line at the {thing}.",
    "The lights went out in the {place} part of the room.",
    "It was the first night of {weather} in weeks.",
    "The {food} cost more than the ticket.",
    "Nobody spoke a word until the end.",
    "The projector stopped twice in the {place} half.",
)
SLOTS = {
    "weather": ("rain", "snow", "fog", "wind"),
    "food": ("popcorn", "lemonade", "chocolate", "coffee"),
    "place": ("first", "second", "last", "middle"),
    "thing": ("cinema", "bar", "hall", "street"),
}
TIMES = 8
"""Length of the reviews of `long`, as a multiple of the longest others."""


@register("world", "reviews")
class ReviewsWorld(SplitWorld):
    """Reviews of films; among several opinions, the most strongly worded one decides.

    The bar was almost empty that evening. My brother found the farce rather awful. We thought the thriller was utterly
    superb. … → good crime, because of thriller, utterly and superb in sentence 2 (counted from 0)

    Fields: document, label ("good crime"), sentiment ("good"), stars from 1 (utterly bad) to 10 (utterly good), and
    evidence, the three words that decide ("2:3 2:5 2:6"). The strongest opinion of a review is unique.
    """

    train: RowCount = 10_000
    """Number of reviews; all are distinct, also across splits."""
    long: RowCount = 200
    """Rows of the split `long`, whose reviews have eight times as many sentences as the longest others."""
    shortest: Count = 6
    """Minimum number of sentences of a review; lengths are uniform."""
    longest: Count = 16
    """Maximum number of sentences of a review."""

    fields: ClassVar[tuple[str, ...]] = ("document", "label", "sentiment", "stars", "evidence")

    @model_validator(mode="after")
    def _can_be_written(self) -> Self:
        if not self.shortest <= self.longest:
            raise RegardError(
                f"shortest is {self.shortest} and longest is {self.longest}, expected shortest ≤ longest sentences."
            )
        return self

    def splits(self) -> Splits:
        generator, seen = Random(self.seed), set[str]()
        # Test splits are drawn first, so that they do not depend on the size of train.
        usual, many = (self.shortest, self.longest), (TIMES * self.longest, TIMES * self.longest)
        plans = {
            "dev": (self.dev, usual, generator),
            "test": (self.test, usual, generator),
            "train": (self.train, usual, generator),
            "long": (self.long, many, Random(f"{self.seed} long")),
        }
        rows = {
            split: numbered(self.type, split, self._rows(chance, size, counts, seen))
            for split, (size, counts, chance) in plans.items()
        }
        return {split: rows[split] for split in ("train", "dev", "test", "long")}

    def _rows(
        self, generator: Random, size: int, counts: tuple[int, int], seen: set[str]
    ) -> Iterator[dict[str, str]]:
        for _ in range(size):
            row = self._row(generator, counts)
            while row["document"] in seen:
                row = self._row(generator, counts)
            seen.add(row["document"])
            yield row

    def _row(self, generator: Random, counts: tuple[int, int]) -> dict[str, str]:
        count = generator.randint(*counts)
        key = generator.randrange(count)
        most = generator.randrange(1, len(STRENGTHS))
        sentences = [
            _opinion(generator, generator.choice(STRENGTHS[:most]))
            if generator.random() < 0.4
            else (_filler(generator), ())
            for _ in range(count)
        ]
        sentences[key] = _opinion(generator, STRENGTHS[most])
        text, deciding = sentences[key]
        film, word, _ = deciding
        kind = next(kind for kind, films in FILMS.items() if film in films)
        mood = next(mood for mood, words in WORDS.items() if word in words)
        places = sorted(text.rstrip(".").split().index(one) for one in deciding)
        return {
            "document": " ".join(sentence for sentence, _ in sentences),
            "label": f"{mood} {kind}",
            "sentiment": mood,
            "stars": str(5 + most if mood == "good" else 6 - most),
            "evidence": " ".join(f"{key}:{place}" for place in places),
        }


def _opinion(generator: Random, strength: str) -> tuple[str, tuple[str, ...]]:
    """An opinion about a film, and its three decisive words."""
    film = generator.choice(FILMS[generator.choice(list(FILMS))])
    word = generator.choice(WORDS[generator.choice(list(WORDS))])
    form, who = generator.choice(OPINIONS), generator.choice(PEOPLE)
    return form.format(who=who, film=film, word=word, strength=strength), (film, word, strength)


def _filler(generator: Random) -> str:
    slots = {name: generator.choice(words) for name, words in SLOTS.items()}
    return generator.choice(FILLERS).format(who=generator.choice(PEOPLE), **slots)
