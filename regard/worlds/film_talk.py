"""Dialogs about films: the answer depends on a film that was mentioned some turns before."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import ClassVar, NamedTuple

from regard.data.provider import RowCount, Splits
from regard.data.turns import Turn, write_turns
from regard.parts import register
from regard.worlds.world import SplitWorld


class Film(NamedTuple):
    """Title, lead, director and year of a film; films are distinct in each of these."""

    title: str
    lead: str
    director: str
    year: str


FILMS = (
    Film("logan", "jackman", "mangold", "2017"),
    Film("alien", "weaver", "scott", "1979"),
    Film("rocky", "stallone", "avildsen", "1976"),
    Film("vertigo", "stewart", "hitchcock", "1958"),
    Film("gravity", "bullock", "cuaron", "2013"),
    Film("titanic", "winslet", "cameron", "1997"),
    Film("arrival", "adams", "villeneuve", "2016"),
    Film("amelie", "tautou", "jeunet", "2001"),
    Film("casablanca", "bogart", "curtiz", "1942"),
    Film("inception", "dicaprio", "nolan", "2010"),
    Film("jaws", "scheider", "spielberg", "1975"),
    Film("fargo", "mcdormand", "coen", "1996"),
    Film("heat", "pacino", "mann", "1995"),
    Film("tootsie", "hoffman", "pollack", "1982"),
    Film("chinatown", "nicholson", "polanski", "1974"),
    Film("ghost", "swayze", "zucker", "1990"),
    Film("whiplash", "teller", "chazelle", "2014"),
    Film("metropolis", "helm", "lang", "1927"),
    Film("goldfinger", "connery", "hamilton", "1964"),
    Film("stalker", "kaidanovsky", "tarkovsky", "1980"),
)
WISHES = (
    "can you suggest a good film ?",
    "i would like to see a film tonight",
    "what should i watch ?",
    "do you know a film for me ?",
)
OFFERS = ("yes , sure . how about {} ?", "i would see {}", "what about {} ?", "{} is good")
REFUSALS = ("i know it . another one ?", "no , something else please", "what else is there ?")
QUESTIONS = {
    "lead": ("who is the lead actor of {} ?", "okay , who plays in {} ?", "who is in {} ?"),
    "director": ("who directed {} ?", "who is the director of {} ?", "and who made {} ?"),
    "year": ("when was {} made ?", "how old is {} ?", "what year is {} from ?"),
}
ANSWERS = {"lead": "{} , of course", "director": "{} directed it", "year": "it is from {}"}
GREETINGS = (("hello", "hello , what can i do for you ?"), ("good evening", "good evening"))
THANKS = (("thank you", "you are welcome"), ("ah , i see", "yes"), ("nice", "it is"))


@register("world", "film-talk")
class FilmTalkWorld(SplitWorld):
    """A user (U) asks a bot (B) about films that the bot mentioned before. Every answer to a question is a row.

    U: can you suggest a good film ? | B: yes , sure . how about logan ? | U: who is in that one ?
    → jackman , of course, because of turn 1 (counted from 0)

    The last utterance states the question, but not the film: it is the last one mentioned. With `first`, "the first
    one" refers to the first of two.
    """

    train: RowCount = 4_000
    """Number of rows; all dialogs are distinct, also across splits."""
    first: bool = False
    """After two films, ask half of the questions about the first one, and say so. False: always about the last."""

    fields: ClassVar[tuple[str, ...]] = (
        "dialog",
        "utterance",
        "response",
        "told",
        "distance",
        "conversation",
    )

    def splits(self) -> Splits:
        generator, seen = Random(self.seed), set[str]()
        return self.tests_first(lambda _, size: _rows(generator, size, seen, self.first))


def _rows(generator: Random, size: int, seen: set[str], earlier: bool) -> Iterator[dict[str, str]]:
    """The rows of consecutive conversations; the last one may be cut short."""
    made = conversation = 0
    while made < size:
        rows = list(_conversation(generator, earlier))
        if any(row["dialog"] in seen for row in rows):
            continue
        conversation += 1
        for row in rows[: size - made]:
            seen.add(row["dialog"])
            made += 1
            yield {**row, "conversation": str(conversation)}


def _conversation(generator: Random, earlier: bool) -> Iterator[dict[str, str]]:
    """The rows of one conversation, one per answer; earlier: also ask about the first of two films."""
    said: list[Turn] = []

    def say(mine: str, answer: str) -> None:
        said.extend([Turn("U", mine), Turn("B", answer)])

    if generator.random() < 0.5:
        say(*generator.choice(GREETINGS))
    named: list[tuple[Film, int]] = []
    for film in generator.sample(FILMS, generator.choice((1, 2))):
        say(generator.choice(REFUSALS if named else WISHES), generator.choice(OFFERS).format(film.title))
        named.append((film, len(said) - 1))
    for kind in generator.sample(sorted(QUESTIONS), generator.randint(1, 3)):
        if generator.random() < 0.3:
            say(*generator.choice(THANKS))
        first = earlier and len(named) == 2 and generator.random() < 0.5
        film, turn = named[0] if first else named[-1]
        which = "the first one" if first else "that one"
        question = generator.choice(QUESTIONS[kind]).format(which)
        answer = ANSWERS[kind].format(getattr(film, kind))
        asked = [*said, Turn("U", question)]
        yield {
            "dialog": write_turns(asked),
            "utterance": question,
            "response": answer,
            "told": str(turn),
            "distance": str(len(asked) - turn),
        }
        say(question, answer)
