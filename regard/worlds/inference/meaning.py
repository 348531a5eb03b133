"""What a sentence of the inference world says, and when it follows from another.

A sentence speaks of one or two events and of the things in them, each the only one of its noun. It is true in a
situation when each thing has the traits, the owner and the clothes it is said to have, and

    an event        happened: some event of that verb with this agent, patient, manner and place
    never an event  did not: no event of that verb with this agent, patient, manner and place

Whatever is left out is left open: "was chased" has some agent. No one does two things that are opposites
(`lexicon.OPPOSITE`), and to no one are two such things done. A premise entails a hypothesis that is true in every
situation in which the premise is, and contradicts one that is true in none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from regard.worlds.inference.lexicon import KIND_OF, OPPOSITE


@dataclass(frozen=True)
class Entity:
    """A person, an animal or an object; `shown` is the word for it where that is not its noun."""

    noun: str
    owner: str = ""
    traits: tuple[str, ...] = ()
    wears: Entity | None = None
    shown: str = ""

    @property
    def kind(self) -> str:
        return KIND_OF[self.noun]


@dataclass(frozen=True)
class Situation:
    """agent or patient may be left out; `passive` and `early` (the manner before the verb) are wording alone."""

    verb: str
    agent: Entity | None
    patient: Entity | None = None
    manner: str = ""
    place: Entity | None = None
    never: bool = False
    passive: bool = False
    early: bool = False


Meaning = tuple[Situation, ...]
"""One or two events that both happened."""


def things(meaning: Meaning) -> Iterator[Entity]:
    """Everything spoken of, clothes after those who wear them."""
    for event in meaning:
        for thing in (event.agent, event.patient, event.place):
            if thing is not None:
                yield thing
                if thing.wears is not None:
                    yield thing.wears


def relation(premise: Meaning, hypothesis: Meaning) -> str:
    """entailment, contradiction or neutral."""
    if any(_exclude(one, other) for one in hypothesis for other in premise):
        return "contradiction"
    said = _qualities(premise)
    follows = _qualities(hypothesis) <= said and all(
        any(_follows(one, other) for other in premise) for one in hypothesis
    )
    return "entailment" if follows else "neutral"


def _qualities(meaning: Meaning) -> set[tuple[str, str, str]]:
    """What is said of the things by themselves."""
    found: set[tuple[str, str, str]] = set()
    for thing in things(meaning):
        found.add((thing.noun, "exists", ""))
        found |= {(thing.noun, "is", trait) for trait in thing.traits}
        if thing.owner:
            found.add((thing.noun, "of", thing.owner))
        if thing.wears is not None:
            found.add((thing.noun, "wears", thing.wears.noun))
    return found


def _follows(event: Situation, given: Situation) -> bool:
    """Whether an event (or that it never was) follows from a given one."""
    if event.never != given.never:
        return False
    return _covers(given, event) if event.never else _covers(event, given)


def _exclude(event: Situation, given: Situation) -> bool:
    """Whether no situation has both."""
    if event.never != given.never:
        return _covers(event, given) if event.never else _covers(given, event)
    if event.never or OPPOSITE[event.verb] != given.verb:
        return False
    pairs = ((event.agent, given.agent), (event.patient, given.patient))
    return any(mine is not None and _noun(mine) == _noun(theirs) for mine, theirs in pairs)


def _covers(wide: Situation, narrow: Situation) -> bool:
    """Whether every event that is as `narrow` says is also as `wide` says."""
    return (
        wide.verb == narrow.verb
        and (wide.agent is None or _noun(wide.agent) == _noun(narrow.agent))
        and (wide.patient is None or _noun(wide.patient) == _noun(narrow.patient))
        and wide.manner in ("", narrow.manner)
        and (wide.place is None or _noun(wide.place) == _noun(narrow.place))
    )


def _noun(thing: Entity | None) -> str:
    return "" if thing is None else thing.noun
