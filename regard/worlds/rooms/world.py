"""The rooms world: stories, questions, answers and supporting facts; no story is in two splits."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import ClassVar, Self

from pydantic import model_validator

from regard.data.provider import RowCount, Splits
from regard.errors import RegardError
from regard.parts import register
from regard.worlds.rooms.life import OBJECTS, PEOPLE, ROOMS, Life
from regard.worlds.rooms.questions import questions
from regard.worlds.world import SplitWorld

LEAST = 5


@register("world", "rooms")
class RoomsWorld(SplitWorld):
    """Stories of people who move between rooms and carry objects, with one question each.

    mary went to the kitchen. mary took the milk. john moved to the office. mary travelled to the garden.
    where is the milk → garden, because of lines 1 and 3 (counted from 0)
    """

    train: RowCount = 10_000
    """Number of stories; all are distinct, also across splits."""
    people: int = 5
    """Number of people, 5 to 8; two to four of them appear in a story."""
    rooms: int = 6
    """Number of rooms, 5 to 8."""
    objects: int = 5
    """Number of objects, 5 to 8."""
    shortest: int = 4
    """Minimum number of lines of a story; lengths are uniform."""
    longest: int = 15
    """Maximum number of lines of a story."""
    facts: int = 0
    """2 or 3: only questions with that many supporting facts; 0: both, equally many."""

    fields: ClassVar[tuple[str, ...]] = ("story", "question", "answer", "facts")

    @model_validator(mode="after")
    def _can_be_told(self) -> Self:
        for option, known in (("people", PEOPLE), ("rooms", ROOMS), ("objects", OBJECTS)):
            if not LEAST <= getattr(self, option) <= len(known):
                raise RegardError(f"{option} is {getattr(self, option)}, expected {LEAST} to {len(known)}.")
        if not 4 <= self.shortest <= self.longest:
            raise RegardError(
                f"shortest is {self.shortest} and longest is {self.longest}, expected 4 ≤ shortest ≤ longest lines."
            )
        if self.facts != 2 and self.longest < 6:
            raise RegardError(
                f"stories have at most {self.longest} lines, too few for three facts.",
                fix="Set longest to 6 or more, or facts to 2.",
            )
        if self.facts not in (0, 2, 3):
            raise RegardError(f"facts is {self.facts}, expected 2, 3 or 0 for both.", fix="Leave it out.")
        return self

    def splits(self) -> Splits:
        generator, seen = Random(self.seed), set[str]()
        return self.tests_first(lambda _, size: self._rows(generator, size, seen))

    def _rows(self, generator: Random, size: int, seen: set[str]) -> Iterator[dict[str, str]]:
        for number in range(size):
            wanted = self.facts or 2 + number % 2
            row = self._row(generator, wanted)
            while row is None or row["story"] in seen:
                row = self._row(generator, wanted)
            seen.add(row["story"])
            yield row

    def _row(self, generator: Random, facts: int) -> dict[str, str] | None:
        """A story with a question of `facts` supporting facts; None if the story allows none."""
        lines = generator.randint(self.shortest, self.longest)
        cast = generator.sample(PEOPLE[: self.people], generator.randint(2, 4))
        life = Life(generator, cast, ROOMS[: self.rooms], OBJECTS[: self.objects])
        events = life.live(lines)
        possible = [question for question in questions(events) if len(question.facts) == facts]
        if not possible:
            return None
        # Choose the kind of question first, so that kinds with fewer possible questions are not rarer.
        kind = generator.choice(sorted({question.text.split()[1] for question in possible}))
        asked = generator.choice([question for question in possible if question.text.split()[1] == kind])
        return {
            "story": " ".join(f"{event.told(generator)}." for event in events),
            "question": asked.text,
            "answer": asked.answer,
            "facts": " ".join(map(str, asked.facts)),
        }
