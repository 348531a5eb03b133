"""Meanings of sentences in the inference world, and entailment between them.

A sentence is about one or two events and the things in them, each the only one with its noun. It is true in a
situation if each thing has the stated traits, owner and clothes, and

    an event        some event of that verb with this agent, patient, manner and place happened
    never an event  no event of that verb with this agent, patient, manner and place happened

Omitted parts are unspecified: "was chased" has some agent. Nobody does two opposite things (`lexicon.OPPOSITE`), and
nobody undergoes two opposite things. A premise entails a hypothesis that is true in every situation in which the
premise is true, and contradicts a hypothesis that is true in none of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from regard.worlds.inference.lexicon import KIND_OF, OPPOSITE


@dataclass(frozen=True)
class Entity:
    """A person, an animal or an object; `shown` replaces its noun in the sentence, if given."""

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
    """agent or patient may be omitted; `passive` and `early` (manner before the verb) affect the wording only."""

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
    """All things mentioned; clothes follow those who wear them."""
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
    """The stated properties of the things."""
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
    """Whether an event (or its negation) follows from a given one."""
    if event.never != given.never:
        return False
    return _covers(given, event) if event.never else _covers(event, given)


def _exclude(event: Situation, given: Situation) -> bool:
    """Whether no situation contains both."""
    if event.never != given.never:
        return _covers(event, given) if event.never else _covers(given, event)
    if event.never or OPPOSITE[event.verb] != given.verb:
        return False
    pairs = ((event.agent, given.agent), (event.patient, given.patient))
    return any(mine is not None and _noun(mine) == _noun(theirs) for mine, theirs in pairs)


def _covers(wide: Situation, narrow: Situation) -> bool:
    """Whether every event that matches `narrow` also matches `wide`."""
    return (
        wide.verb == narrow.verb
        and (wide.agent is None or _noun(wide.agent) == _noun(narrow.agent))
        and (wide.patient is None or _noun(wide.patient) == _noun(narrow.patient))
        and wide.manner in ("", narrow.manner)
        and (wide.place is None or _noun(wide.place) == _noun(narrow.place))
    )


def _noun(thing: Entity | None) -> str:
    return "" if thing is None else thing.noun
