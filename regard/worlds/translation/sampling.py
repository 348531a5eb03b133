"""Random sentences of the translation world, of any requested length."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate
from random import Random
from typing import TypeVar

from regard.worlds.translation.lexicon import (
    ADJECTIVES,
    ADVERBS,
    CONJUNCTIONS,
    DETERMINERS,
    NOUNS,
    PREPOSITIONS,
    PRONOUNS,
    VERBS,
    Pronoun,
)
from regard.worlds.translation.syntax import (
    Clause,
    NounPhrase,
    Pair,
    Place,
    Predicate,
    Subject,
    Tense,
)
from regard.worlds.translation.transfer import Phrase, clause_phrase, written

SHORTEST_CLAUSE, LONGEST_CLAUSE = 3, 11
"""Words per clause. Longer sentences have more clauses, not longer ones, so that reordering stays local."""
FEW_WORDS = 5

TENSES: dict[Tense, int] = {
    "present": 20,
    "progressive": 30,
    "past": 20,
    "past progressive": 8,
    "future": 12,
    "can": 5,
    "should": 5,
}
_ARTICLE = DETERMINERS[0]
_DETERMINERS = {
    number: [one for one in DETERMINERS[1:] if one.number in ("both", number)]
    for number in ("singular", "plural")
}
_NOUNS = {kind: [noun for noun in NOUNS if noun.kind == kind] for kind in {noun.kind: None for noun in NOUNS}}
_ADVERBS, _CONJUNCTIONS, _PREPOSITIONS = list(ADVERBS), list(CONJUNCTIONS), list(PREPOSITIONS)
_TENSES, _TENSE_SHARES = list(TENSES), list(accumulate(TENSES.values()))

T = TypeVar("T")


class Sampler:
    """Draws sentences, determined by the given generator.

    The English side is unambiguous, so that the translation is a function of it: a place after the verb belongs to the
    verb, a place before it to the subject, and nothing follows a final relative clause.
    """

    def __init__(self, generator: Random) -> None:
        self.generator = generator
        self._clauses: dict[int, list[Phrase]] = defaultdict(list)

    def pair(self, words: int) -> tuple[str, str, str]:
        """English of exactly `words` words (at least 3), target, links."""
        clauses = [self._clause_of(length) for length in self._lengths(words)]
        return written(clauses, [self.one_of(_CONJUNCTIONS) for _ in clauses[1:]])

    def _lengths(self, words: int) -> list[int]:
        """The length of each clause; together with the conjunctions they add up to the number of words."""
        fewest = -(-(words + 1) // (LONGEST_CLAUSE + 1))
        most = (words + 1) // (SHORTEST_CLAUSE + 1)
        usual = max(fewest, min(most, round((words + 1) / 7)))
        count = self.one_of(
            [number for number in (usual - 1, usual, usual, usual + 1) if fewest <= number <= most]
        )
        lengths, left = [], words - (count - 1)
        for after in range(count - 1, -1, -1):
            low = max(SHORTEST_CLAUSE, left - after * LONGEST_CLAUSE)
            high = min(LONGEST_CLAUSE, left - after * SHORTEST_CLAUSE)
            even = left // (after + 1)
            length = left if after == 0 else self.generator.randint(max(low, even - 2), min(high, even + 2))
            lengths.append(length)
            left -= length
        return lengths

    def _clause_of(self, words: int) -> Phrase:
        """A clause of this length. Clauses of other lengths that are drawn meanwhile are kept for later."""
        while not self._clauses[words]:
            phrase = clause_phrase(self.clause() if words > FEW_WORDS else self.brief_clause())
            self._clauses[len(phrase.english)].append(phrase)
        return self._clauses[words].pop()

    def clause(self) -> Clause:
        return Clause(self.subject(), self.predicate(tail=self.chance(0.5)))

    def brief_clause(self) -> Clause:
        """A random short clause, which `clause` rarely returns."""
        subject = (
            self.one_of(PRONOUNS)
            if self.chance(0.5)
            else self.noun_phrase(("person", "animal"), adjectives=0.1)
        )
        return Clause(subject, self.predicate(tail=self.chance(0.2), brief=True))

    def subject(self) -> Subject:
        if self.chance(0.35):
            return self.one_of(PRONOUNS)
        kinds = ("person", "animal") if self.chance(0.3) else ("person",)
        if self.chance(0.15):
            return Pair(self.noun_phrase(kinds, adjectives=0.25), self.noun_phrase(kinds, adjectives=0.25))
        extension = self.generator.random()
        if extension < 0.15:
            return self.noun_phrase(kinds, adjectives=0.3, place=self.place())
        if extension < 0.3:
            return self.noun_phrase(kinds, adjectives=0.2, relative=self.predicate(short=True))
        return self.noun_phrase(kinds, adjectives=0.5)

    def predicate(self, *, tail: bool = False, short: bool = False, brief: bool = False) -> Predicate:
        """tail: with a place or an adverb at the end; short: as in a relative clause; brief: with as few words as
        possible."""
        if self.chance(0.12):
            return Predicate(self.one_of(ADJECTIVES), self.one_of(("present", "past")), self.chance(0.2))
        verb = self.one_of(VERBS)
        tense = self.generator.choices(_TENSES, cum_weights=_TENSE_SHARES)[0]
        negative = self.chance(0.12)
        thing: NounPhrase | Pronoun | None = None
        if verb.objects:
            if "person" in verb.objects and self.chance(0.2):
                thing = self.one_of(PRONOUNS)
            elif not (short or brief or tail) and self.chance(0.2):
                thing = self.noun_phrase(verb.objects, relative=self.predicate(short=True))
            else:
                thing = self.noun_phrase(verb.objects, adjectives=0.1 if short or brief else 0.4)
        followed = tail and not short
        far = followed and not brief and self.chance(0.6)
        place = self.place() if far or (short and thing is None) else None
        adverb = ""
        if followed and (place is None or self.chance(0.25)):
            adverb = "home" if verb.motion and self.chance(0.4) else self.one_of(_ADVERBS)
        return Predicate(verb, tense, negative, thing, place, adverb)

    def noun_phrase(
        self,
        kinds: Sequence[str],
        *,
        adjectives: float = 0.0,
        place: Place | None = None,
        relative: Predicate | None = None,
    ) -> NounPhrase:
        plural = self.chance(0.35)
        determiner = (
            _ARTICLE if self.chance(0.45) else self.one_of(_DETERMINERS["plural" if plural else "singular"])
        )
        noun = self.one_of(_NOUNS[self.one_of(kinds)])
        count = 0 if not self.chance(adjectives) else 2 if self.chance(0.2) else 1
        return NounPhrase(
            noun, determiner, plural, tuple(self.generator.sample(ADJECTIVES, count)), place, relative
        )

    def place(self) -> Place:
        kinds = ("place",) if self.chance(0.7) else ("thing", "person")
        return Place(self.one_of(_PREPOSITIONS), self.noun_phrase(kinds, adjectives=0.2))

    def chance(self, probability: float) -> bool:
        return self.generator.random() < probability

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[self.generator.randrange(len(choices))]
