"""Sentences of the inference world, back to what they say: so that anything written can be proved or refused.

    sentence   clause [and clause]
    clause     phrase [was] [never] [manner] verb [phrase] [by phrase] [manner] [in phrase]
    phrase     (the | owner) trait… noun [with phrase]

With "was" the subject is the patient, and "by" names the agent. The word for a kind ("animal") is the one thing of that
kind that the premise speaks of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from regard.worlds.inference.lexicon import KINDS, MANNERS, OPPOSITE, OWNERS, TRAITS
from regard.worlds.inference.meaning import Entity, Meaning, Situation, relation, things

NOUNS = frozenset(noun for nouns in KINDS.values() for noun in nouns)


class NoSentence(ValueError):
    """No sentence of this world."""


def follows(hypothesis: str, premise: str) -> bool:
    """Whether a sentence is one of this world's and follows from another, by its logic."""
    try:
        given = read(premise)
        return relation(given, read(hypothesis, given)) == "entailment"
    except NoSentence:
        return False


def read(text: str, premise: Meaning | None = None) -> Meaning:
    """What a sentence says; premise: what "the animal" of a hypothesis is looked for in."""
    kinds: dict[str, list[str]] = {}
    for thing in things(premise or ()):
        kinds.setdefault(thing.kind, []).append(thing.noun)
    known = {kind: nouns[0] for kind, nouns in kinds.items() if len(set(nouns)) == 1}
    reader = SentenceReader(text.split(), known)
    events = [reader.clause()]
    if reader.took("and"):
        events.append(reader.clause())
    if reader.rest:
        raise NoSentence(f"{reader.rest[0]!r} stands after the end of a sentence")
    return tuple(events)


class SentenceReader:
    """Takes words from the front.

    kinds   the noun that the word for a kind stands for, where that is known
    """

    def __init__(self, words: Sequence[str], kinds: Mapping[str, str]) -> None:
        self.rest, self.kinds = list(words), kinds

    def took(self, *words: str) -> str:
        """The next word, taken where it is one of these; else nothing."""
        return self.rest.pop(0) if self.rest and self.rest[0] in words else ""

    def clause(self) -> Situation:
        subject = self.phrase()
        passive = bool(self.took("was"))
        never = bool(self.took("never"))
        early = self.took(*MANNERS)
        verb = self.took(*OPPOSITE)
        if not verb:
            raise NoSentence("a clause has no verb")
        agent, patient = (None, subject) if passive else (subject, None)
        if passive and self.took("by"):
            agent = self.phrase()
        elif not passive and self.rest and self.rest[0] in ("the", *OWNERS):
            patient = self.phrase()
        manner = early or self.took(*MANNERS)
        place = self.phrase() if self.took("in") else None
        return Situation(verb, agent, patient, manner, place, never, passive, bool(early))

    def phrase(self) -> Entity:
        owner = self.took(*OWNERS)
        if not owner and not self.took("the"):
            raise NoSentence("a phrase begins with the, or with an owner")
        traits: list[str] = []
        while trait := self.took(*TRAITS):
            traits.append(trait)
        noun, shown = self.took(*NOUNS), ""
        if not noun:
            shown = self.took(*KINDS)
            if shown not in self.kinds:
                raise NoSentence(f"{shown!r} is no noun here" if shown else "a phrase has no noun")
            noun = self.kinds[shown]
        wears = self.phrase() if self.took("with") else None
        return Entity(noun, owner, tuple(traits), wears, shown)
