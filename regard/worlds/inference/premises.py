"""Random premises. Each noun occurs only once, so that it identifies a thing."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from regard.worlds.inference.lexicon import (
    ABOUT_LIVING,
    ABOUT_THINGS,
    ALONE,
    ANIMALS,
    CLOTHES,
    MANNERS,
    OWNERS,
    PEOPLE,
    PLACES,
    THINGS,
    TRAITS,
)
from regard.worlds.inference.meaning import Entity, Meaning, Situation

FRAMES = {"living": 4, "thing": 3, "alone": 2}
NEVER, PASSIVE, MANNER, PLACE, WEARS, OWNED = 0.12, 0.3, 0.3, 0.15, 0.15, 0.6
TRAIT_COUNTS = (20, 60, 20)
"""Weights of zero, one and two traits."""


class Premises:
    """Draws meanings of one or two events; `joined` is the share of premises with two."""

    def __init__(self, generator: Random, *, joined: float) -> None:
        self.generator, self.joined = generator, joined
        self.used: set[str] = set()

    def draw(self) -> Meaning:
        self.used = set()
        first = self._event()
        return (first, self._event()) if self._chance(self.joined) else (first,)

    def _event(self) -> Situation:
        frame = self.generator.choices(list(FRAMES), list(FRAMES.values()))[0]
        pairs = {"living": ABOUT_LIVING, "thing": ABOUT_THINGS, "alone": ALONE}[frame]
        # No verb is repeated, and no verb occurs with its opposite.
        pair = self.generator.choice([pair for pair in pairs if pair[0] not in self.used])
        self.used |= set(pair)
        patient = None
        if frame != "alone":
            patient = self._thing((*PEOPLE, *ANIMALS) if frame == "living" else THINGS)
        agent = self._thing(PEOPLE if frame == "thing" else (*PEOPLE, *ANIMALS))
        never = self._chance(NEVER)
        return Situation(
            self.generator.choice(pair),
            agent,
            patient,
            manner=self._unused(MANNERS) if not never and self._chance(MANNER) else "",
            place=Entity(self._unused(PLACES)) if not never and self._chance(PLACE) else None,
            never=never,
            passive=patient is not None and self._chance(PASSIVE),
            early=self._chance(0.5),
        )

    def _thing(self, nouns: Sequence[str]) -> Entity:
        noun = self._unused(nouns)
        count = self.generator.choices(range(len(TRAIT_COUNTS)), TRAIT_COUNTS)[0]
        traits = tuple(self._unused(TRAITS) for _ in range(count))
        wears = Entity(self._unused(CLOTHES)) if noun in PEOPLE and self._chance(WEARS) else None
        owned = self._chance(OWNED) and any(owner not in self.used for owner in OWNERS)
        return Entity(noun, self._unused(OWNERS) if owned else "", traits, wears)

    def _unused(self, words: Sequence[str]) -> str:
        word = self.generator.choice([word for word in words if word not in self.used])
        self.used.add(word)
        return word

    def _chance(self, share: float) -> bool:
        return self.generator.random() < share
