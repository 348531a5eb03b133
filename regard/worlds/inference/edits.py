"""Edits that turn a premise into a hypothesis: omit something, deny something, or attach something elsewhere.

Every edit keeps nearly all words, so that entailment depends on the structure. A bag of words does not suffice, nor do
n-grams, since anything between two words may have been omitted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from regard.worlds.inference.lexicon import MANNERS, OPPOSITE
from regard.worlds.inference.meaning import Entity, Meaning, Situation, things

HYPERNYM = 0.12


def on_things(meaning: Meaning, change: Callable[[Entity], Entity]) -> Meaning:
    """Apply a change to every thing, clothes included."""

    def changed(thing: Entity | None) -> Entity | None:
        if thing is None:
            return None
        found = change(thing)
        return found if found.wears is None else replace(found, wears=change(found.wears))

    return tuple(
        replace(event, agent=changed(event.agent), patient=changed(event.patient), place=changed(event.place))
        for event in meaning
    )


class Edits:
    """Random edits. An edit that is not applicable returns None."""

    def __init__(self, generator: Random) -> None:
        self.generator = generator
        self.moves = (
            *(self._move_trait,) * 4, *(self._swap_owners,) * 2, self._move_clothes, *(self._swap_nouns,) * 3,
            *(self._swap_verbs,) * 2, self._swap_manners, self._swap_places, *(self._swap_roles,) * 2, self._deny_other,
        )  # fmt: skip

    def shrink(self, meaning: Meaning) -> Meaning:
        """Say less, or the same in other words; the result is still entailed."""
        chance = self._chance
        if len(meaning) > 1 and chance(0.3):
            meaning = (self.generator.choice(meaning),)

        def smaller(thing: Entity) -> Entity:
            traits = [trait for trait in thing.traits if chance(0.65)]
            self.generator.shuffle(traits)
            owner = "" if chance(0.3) else thing.owner
            return replace(
                thing, traits=tuple(traits), owner=owner, wears=None if chance(0.4) else thing.wears
            )

        return tuple(self._shrink_event(event) for event in on_things(meaning, smaller))

    def _shrink_event(self, event: Situation) -> Situation:
        chance = self._chance
        if event.never:
            # An event that never happened did not happen quickly either.
            manner = self.generator.choice(MANNERS) if chance(0.2) else event.manner
            event = replace(event, manner=manner)
        else:
            event = replace(event, manner="" if chance(0.4) else event.manner)
            event = replace(event, place=None if chance(0.5) else event.place)
            if event.agent is not None and event.patient is not None and chance(0.3):
                dropped = {"patient": None} if chance(0.5) else {"agent": None}
                event = replace(event, passive="agent" in dropped, **dropped)  # type: ignore[arg-type]
        if event.agent is not None and event.patient is not None and chance(0.3):
            event = replace(event, passive=not event.passive)
        return replace(event, early=chance(0.5))

    def generalize(self, meaning: Meaning, premise: Meaning) -> Meaning:
        """Replace some nouns by their hypernyms, if the premise has only one thing of that kind."""
        kinds = [thing.kind for thing in things(premise)]

        def wider(thing: Entity) -> Entity:
            alone = kinds.count(thing.kind) == 1
            return replace(thing, shown=thing.kind) if alone and self._chance(HYPERNYM) else thing

        return on_things(meaning, wider)

    def deny(self, meaning: Meaning) -> Meaning | None:
        """Negate one event, remove its negation, or replace its verb by the opposite."""
        place = self.generator.randrange(len(meaning))
        event = meaning[place]
        if not event.never and self._chance(0.7):
            changed = replace(event, verb=OPPOSITE[event.verb])
        elif event.never:
            changed = replace(event, never=False)
        else:
            changed = replace(event, never=True, manner="", place=None)
        return (*meaning[:place], changed, *meaning[place + 1 :])

    def disturb(self, meaning: Meaning) -> Meaning | None:
        """Attach something elsewhere."""
        return self.generator.choice(self.moves)(meaning)

    def _two(self, meaning: Meaning, fits: Callable[[Entity, Entity], bool]) -> tuple[Entity, Entity] | None:
        """Two things of which the first can give something to the second."""
        known = [thing for thing in things(meaning) if thing.kind != "place"]
        pairs = [
            (one, other) for one in known for other in known if one.noun != other.noun and fits(one, other)
        ]
        return self.generator.choice(pairs) if pairs else None

    def _move_trait(self, meaning: Meaning) -> Meaning | None:
        pair = self._two(meaning, lambda one, other: bool(one.traits))
        if pair is None:
            return None
        giver, taker = pair
        given = self.generator.choice(giver.traits)
        back = self.generator.choice(taker.traits) if taker.traits and self._chance(0.5) else ""

        def moved(thing: Entity) -> Entity:
            lost, won = (given, back) if thing.noun == giver.noun else (back, given)
            if thing.noun not in (giver.noun, taker.noun):
                return thing
            kept = tuple(trait for trait in thing.traits if trait != lost)
            return replace(thing, traits=(*kept, won) if won else kept)

        return on_things(meaning, moved)

    def _swap_owners(self, meaning: Meaning) -> Meaning | None:
        pair = self._two(meaning, lambda one, other: one.owner != other.owner)
        if pair is None:
            return None
        owners = {pair[0].noun: pair[1].owner, pair[1].noun: pair[0].owner}
        return on_things(meaning, lambda thing: replace(thing, owner=owners.get(thing.noun, thing.owner)))

    def _move_clothes(self, meaning: Meaning) -> Meaning | None:
        living = ("person", "animal")
        pair = self._two(
            meaning, lambda one, other: one.wears is not None and other.wears is None and other.kind in living
        )
        if pair is None:
            return None
        clothes = {pair[0].noun: None, pair[1].noun: pair[0].wears}
        return on_things(meaning, lambda thing: replace(thing, wears=clothes.get(thing.noun, thing.wears)))

    def _swap_nouns(self, meaning: Meaning) -> Meaning | None:
        """Exchange the nouns of two things in different events; their owners and traits stay in place."""
        if len(meaning) < 2:
            return None
        first, second = (
            [thing for thing in (event.agent, event.patient) if thing is not None] for event in meaning
        )
        one, other = self.generator.choice(first), self.generator.choice(second)
        if (one.kind == "object") != (other.kind == "object"):
            return None
        nouns = {one.noun: other.noun, other.noun: one.noun}
        return on_things(meaning, lambda thing: replace(thing, noun=nouns.get(thing.noun, thing.noun)))

    def _swap_verbs(self, meaning: Meaning) -> Meaning | None:
        if len(meaning) < 2:
            return None
        first, second = meaning
        if _frame(first) != _frame(second):
            return None
        return (replace(first, verb=second.verb), replace(second, verb=first.verb))

    def _deny_other(self, meaning: Meaning) -> Meaning | None:
        """Replace the verb of one event by the opposite of the other's, which contradicts nothing."""
        if len(meaning) < 2 or _frame(meaning[0]) != _frame(meaning[1]):
            return None
        first, second = meaning
        if self._chance(0.5):
            return (replace(first, verb=OPPOSITE[second.verb]), second)
        return (first, replace(second, verb=OPPOSITE[first.verb]))

    def _swap_manners(self, meaning: Meaning) -> Meaning | None:
        if len(meaning) < 2 or meaning[0].manner == meaning[1].manner:
            return None
        return (replace(meaning[0], manner=meaning[1].manner), replace(meaning[1], manner=meaning[0].manner))

    def _swap_places(self, meaning: Meaning) -> Meaning | None:
        if len(meaning) < 2 or meaning[0].place == meaning[1].place:
            return None
        return (replace(meaning[0], place=meaning[1].place), replace(meaning[1], place=meaning[0].place))

    def _swap_roles(self, meaning: Meaning) -> Meaning | None:
        """Exchange agent and patient of a passive event; the noun after "by" shows it."""
        event = self.generator.choice(meaning)
        if (
            not event.passive
            or event.agent is None
            or event.patient is None
            or event.patient.kind == "object"
        ):
            return None
        swapped = replace(event, agent=event.patient, patient=event.agent)
        return tuple(swapped if one is event else one for one in meaning)

    def _chance(self, share: float) -> bool:
        return self.generator.random() < share


def _frame(event: Situation) -> tuple[bool, bool]:
    return event.patient is None, event.patient is not None and event.patient.kind == "object"
