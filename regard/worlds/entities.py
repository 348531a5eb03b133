"""The entities world: reports about anonymous people, and a statement about one of them with a placeholder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from pydantic import model_validator

from regard.data.provider import RowCount, Splits
from regard.errors import RegardError
from regard.parts import register
from regard.worlds.world import SplitWorld

VERBS = ("praised", "sued", "met", "hired", "warned", "beat", "paid", "called")
GAP = "@placeholder"
MOST_ENTITIES = 50
FEWEST_LINES, MOST_LINES = 3, 40


@dataclass(frozen=True)
class Deed:
    """Who did what to whom."""

    agent: str
    verb: str
    patient: str

    def words(self, *, passive: bool) -> list[str]:
        if passive:
            return [self.patient, "was", self.verb, "by", self.agent]
        return [self.agent, self.verb, self.patient]


@register("world", "entities")
class EntitiesWorld(SplitWorld):
    """Cloze questions about documents with anonymous names, after the news data of Hermann et al. (2015).

        @entity4 praised @entity1 . @entity7 was sued by @entity1 . @entity1 praised @entity7 .
        @entity7 was praised by @placeholder → @entity1, at word 12 (counted from 0)

    Names are reassigned for each document, so that a name itself carries no information. Exactly one line contains the
    answer. Another line reports the same deed of other people, another one a different deed of the person in the
    question, and a third may exchange the two roles: neither the verb nor the name alone leads to the answer.

    Fields: document, question, answer, and `place`, a link to the answer's word in the document: `12-0`.
    """

    train: RowCount = 30_000
    """Number of documents; all are distinct, also across splits."""
    entities: int = 8
    """Number of different names, 4 to 50."""
    shortest: int = 3
    """Minimum number of lines of a document; lengths are uniform."""
    longest: int = 5
    """Maximum number of lines of a document, at most 40."""
    passive: float = 0.2
    """Share of lines and questions in the passive voice."""

    fields: ClassVar[tuple[str, ...]] = ("document", "question", "answer", "place")

    @model_validator(mode="after")
    def _can_be_told(self) -> Self:
        if not 4 <= self.entities <= MOST_ENTITIES:
            raise RegardError(f"entities is {self.entities}, expected 4 to {MOST_ENTITIES}.")
        if not FEWEST_LINES <= self.shortest <= self.longest <= MOST_LINES:
            raise RegardError(
                f"shortest is {self.shortest} and longest is {self.longest}, "
                f"expected {FEWEST_LINES} ≤ shortest ≤ longest ≤ {MOST_LINES} lines."
            )
        if not 0.0 <= self.passive <= 1.0:
            raise RegardError(f"passive is {self.passive}, expected a share from 0 to 1.")
        return self

    def splits(self) -> Splits:
        generator, seen = Random(self.seed), set[str]()
        return self.tests_first(lambda _, size: self._rows(generator, size, seen))

    def _rows(self, generator: Random, size: int, seen: set[str]) -> Iterator[dict[str, str]]:
        for _ in range(size):
            row = self._row(generator)
            while row["document"] in seen:
                row = self._row(generator)
            seen.add(row["document"])
            yield row

    def _row(self, generator: Random) -> dict[str, str]:
        people = [f"@entity{number}" for number in range(self.entities)]
        agent, patient, *others = generator.sample(people, len(people))
        verb, *verbs = generator.sample(VERBS, len(VERBS))
        asked = Deed(agent, verb, patient)
        gap_first = generator.random() < 0.5
        known = patient if gap_first else agent
        deeds = {
            Deed(others[0], verb, others[1]),
            Deed(known, verbs[0], others[0]) if generator.random() < 0.5 else Deed(others[0], verbs[0], known),
        }  # fmt: skip
        lines = generator.randint(self.shortest, self.longest)
        while len(deeds) < lines - 1:
            one, other = generator.sample(people, 2)
            deed = Deed(one, generator.choice((verb, *verbs)), other)
            if not (deed.verb == verb and known == (deed.patient if gap_first else deed.agent)):
                deeds.add(deed)
        told = [asked, *sorted(deeds, key=lambda deed: (deed.agent, deed.verb, deed.patient))]
        generator.shuffle(told)
        words: list[str] = []
        place = 0
        for deed in told:
            line = deed.words(passive=generator.random() < self.passive)
            if deed is asked:
                place = len(words) + line.index(agent if gap_first else patient)
            words += [*line, "."]
        question = Deed(GAP, verb, patient) if gap_first else Deed(agent, verb, GAP)
        return {
            "document": " ".join(words),
            "question": " ".join(question.words(passive=generator.random() < self.passive)),
            "answer": agent if gap_first else patient,
            "place": f"{place}-0",
        }
