"""Sentences of a report: news, which the headline repeats in fewer words, and others."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

ROLES = ("mayor", "baker", "pilot", "doctor", "farmer", "painter", "teacher", "singer")
DEEDS = (
    ("opened", "opens"),
    ("bought", "buys"),
    ("sold", "sells"),
    ("found", "finds"),
    ("lost", "loses"),
    ("built", "builds"),
    ("closed", "closes"),
    ("burned", "burns"),
)
"""Verbs of news, and their form in headlines."""
HABITS = (
    ("likes", "liked"),
    ("owns", "owned"),
    ("knows", "known"),
    ("paints", "painted"),
    ("visits", "visited"),
    ("wants", "wanted"),
    ("repairs", "repaired"),
    ("guards", "guarded"),
)
"""Verbs of other sentences, active and passive."""
KINDS = ("old", "new", "small", "red", "famous")
THINGS = ("bridge", "school", "boat", "garden", "tower", "mill", "theater", "museum")
DAYS = ("monday", "tuesday", "friday", "sunday")


@dataclass(frozen=True)
class Happening:
    """Somebody does something to a thing in a town; `deed` is from DEEDS for news, otherwise from HABITS."""

    role: str
    given: str
    family: str
    deed: str
    kind: str
    thing: str
    town: str

    @staticmethod
    def drawn(generator: Random, names: list[str], *, news: bool) -> Happening:
        given, family, town = generator.sample(names, 3)
        deed = generator.choice(DEEDS if news else HABITS)[0]
        return Happening(
            generator.choice(ROLES),
            given,
            family,
            deed,
            generator.choice(KINDS),
            generator.choice(THINGS),
            town,
        )

    def told(self, generator: Random) -> list[str]:
        """The words of the sentence, in one of several orders, with words that a headline omits and a final period."""
        who = ["the", self.role, self.given, self.family]
        what = [self.deed, "the", self.kind, self.thing]
        where = ["in", self.town]
        when = ["on", generator.choice(DAYS)]
        orders = (
            [*when, *who, *what, *where],
            [*where, *who, *what, *when],
            [*who, "of", self.town, *what, *when],
            [*when, *self._done(), "by", *who, *where],
        )
        first, *others = generator.choice(orders)
        return [first.capitalize(), *others, "."]

    def _done(self) -> list[str]:
        """`the old bridge was opened`."""
        habits = dict(HABITS)
        done = ["is", habits[self.deed]] if self.deed in habits else ["was", self.deed]
        return ["the", self.kind, self.thing, *done]

    def headline(self) -> list[str]:
        said = dict(DEEDS)[self.deed]
        return [self.role, self.given, self.family, said, self.kind, self.thing, "in", self.town]

    def source_of(self, word: str) -> str:
        """The word of the sentence from which a word of the headline comes; only the verb changes its form."""
        return self.deed if word == dict(DEEDS)[self.deed] else word
