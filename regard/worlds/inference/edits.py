"""From a premise to what might follow from it: less is said, something is denied, or something hangs elsewhere.

Every edit keeps the words, or nearly: whether a hypothesis follows is then a matter of what belongs to what. Words in
their bags do not tell, and neither do neighbours, since anything between two words may have been left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from regard.worlds.inference.lexicon import MANNERS, OPPOSITE
from regard.worlds.inference.meaning import Entity, Meaning, Situation, things

HYPERNYM = 0.12


def on_things(meaning: Meaning, change: Callable[[Entity], Entity]) -> Meaning:
    """The meaning with every thing changed, clothes included."""

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
    """Edits drawn from one generator. Those that may find nothing to do return None."""

    def __init__(self, generator: Random) -> None:
        self.generator = generator
        self.moves = (
            *(self._move_trait,) * 4, *(self._swap_owners,) * 2, self._move_clothes, *(self._swap_nouns,) * 3,
            *(self._swap_verbs,) * 2, self._swap_manners, self._swap_places, *(self._swap_roles,) * 2, self._deny_other,
        )  # fmt: skip

    def shrink(self, meaning: Meaning) -> Meaning:
        """Say less, or the same in other words: what is left still follows."""
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
            # What never happened did not happen quickly either.
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

    def generalise(self, meaning: Meaning, premise: Meaning) -> Meaning:
        """Some nouns become the word for their kind, where the premise has one thing of that kind only."""
        kinds = [thing.kind for thing in things(premise)]

        def wider(thing: Entity) -> Entity:
            alone = kinds.count(thing.kind) == 1
            return replace(thing, shown=thing.kind) if alone and self._chance(HYPERNYM) else thing

        return on_things(meaning, wider)

    def deny(self, meaning: Meaning) -> Meaning | None:
        """One event never was, or was after all, or its opposite happened."""
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
        """Something hangs elsewhere."""
        return self.generator.choice(self.moves)(meaning)

    def _two(self, meaning: Meaning, fits: Callable[[Entity, Entity], bool]) -> tuple[Entity, Entity] | None:
        """Two things of which the first may give to the second."""
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
        """Two things of different events change places; their owners and traits stay where they are."""
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
        """One event becomes the opposite of the other: nothing is said against it."""
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
        """Agent and patient of a passive event change places: who is after "by" tells."""
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
