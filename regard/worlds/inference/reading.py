"""Parse sentences of the inference world to their meanings, so that generated sentences can be verified.

    sentence   clause [and clause]
    clause     phrase [was] [never] [manner] verb [phrase] [by phrase] [manner] [in phrase]
    phrase     (the | owner) trait… noun [with phrase]

With "was", the subject is the patient, and "by" names the agent. A hypernym ("animal") refers to the only thing of that
kind in the premise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from regard.worlds.inference.lexicon import KINDS, MANNERS, OPPOSITE, OWNERS, TRAITS
from regard.worlds.inference.meaning import Entity, Meaning, Situation, relation, things

NOUNS = frozenset(noun for nouns in KINDS.values() for noun in nouns)


class NoSentence(ValueError):
    """The text is not a sentence of this world."""


def follows(hypothesis: str, premise: str) -> bool:
    """Whether a text is a sentence of this world and follows from the premise, by its logic."""
    try:
        given = read(premise)
        return relation(given, read(hypothesis, given)) == "entailment"
    except NoSentence:
        return False


def read(text: str, premise: Meaning | None = None) -> Meaning:
    """The meaning of a sentence; premise: resolves hypernyms such as "the animal" in a hypothesis."""
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
    """Parses words from left to right.

    kinds   hypernym → the noun it refers to, if known
    """

    def __init__(self, words: Sequence[str], kinds: Mapping[str, str]) -> None:
        self.rest, self.kinds = list(words), kinds

    def took(self, *words: str) -> str:
        """Take the next word if it is one of these, and return it; otherwise return an empty text."""
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
                raise NoSentence(
                    f"{shown!r} is not a noun of this world" if shown else "a phrase has no noun"
                )
            noun = self.kinds[shown]
        wears = self.phrase() if self.took("with") else None
        return Entity(noun, owner, tuple(traits), wears, shown)
