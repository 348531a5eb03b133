"""Events in the rooms: people move, take objects, carry them around and put them down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

PEOPLE = ("mary", "john", "sandra", "daniel", "julie", "bill", "fred", "emily")
ROOMS = ("kitchen", "garden", "office", "bedroom", "hallway", "bathroom", "cellar", "library")
OBJECTS = ("football", "milk", "apple", "book", "lamp", "basket", "letter", "key")

PHRASES = {
    "move": ("{who} went to the {what}", "{who} moved to the {what}", "{who} travelled to the {what}"),
    "take": ("{who} took the {what}", "{who} picked up the {what}", "{who} got the {what}"),
    "drop": ("{who} dropped the {what}", "{who} put down the {what}", "{who} left the {what}"),
}
Deed = Literal["move", "take", "drop"]


@dataclass(frozen=True)
class Event:
    """One line of a story: the person, the deed, and the room or object."""

    deed: Deed
    who: str
    what: str

    def told(self, generator: Random) -> str:
        return generator.choice(PHRASES[self.deed]).format(who=self.who, what=self.what)


class Life:
    """Draws a story line by line; each line is consistent with those before it.

    Nobody takes anything before their location is known. An object that was put down is taken only by someone in that
    room. Nobody holds two objects.
    """

    def __init__(
        self, generator: Random, people: Sequence[str], rooms: Sequence[str], objects: Sequence[str]
    ):
        self.generator, self.people, self.rooms, self.objects = generator, people, rooms, objects
        self.at: dict[str, str] = {}
        """The location of each person, and of each object that was put down."""
        self.holding: dict[str, str] = {}
        """The object each person carries."""
        self.events: list[Event] = []

    def live(self, lines: int) -> list[Event]:
        while len(self.events) < lines:
            # Moves are most frequent: without them, nothing has a location.
            attempt = self.generator.choices((self._move, self._take, self._drop), (6, 3, 2))[0]
            event = attempt()
            if event is not None:
                self.events.append(event)
        return self.events

    def _move(self) -> Event:
        who = self.generator.choice(self.people)
        room = self.generator.choice([room for room in self.rooms if room != self.at.get(who)])
        self.at[who] = room
        return Event("move", who, room)

    def _take(self) -> Event | None:
        free = [who for who in self.people if who in self.at and who not in self.holding]
        if not free:
            return None
        who = self.generator.choice(free)
        held = set(self.holding.values())
        near = [
            thing
            for thing in self.objects
            if thing not in held and self.at.get(thing, self.at[who]) == self.at[who]
        ]
        if not near:
            return None
        thing = self.generator.choice(near)
        self.holding[who] = thing
        self.at.pop(thing, None)
        return Event("take", who, thing)

    def _drop(self) -> Event | None:
        if not self.holding:
            return None
        who = self.generator.choice(sorted(self.holding))
        thing = self.holding.pop(who)
        self.at[thing] = self.at[who]
        return Event("drop", who, thing)
