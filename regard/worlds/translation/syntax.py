"""The abstract syntax of sentences in the translation world, independent of the language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regard.worlds.translation.lexicon import Adjective, Determiner, Noun, Pronoun, Verb

Tense = Literal["present", "progressive", "past", "past progressive", "future", "can", "should"]


@dataclass(frozen=True)
class NounPhrase:
    """the big cat | in the house | who is sleeping"""

    noun: Noun
    determiner: Determiner
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()
    place: Place | None = None
    relative: Predicate | None = None


@dataclass(frozen=True)
class Pair:
    """the boy and the girl"""

    first: NounPhrase
    second: NounPhrase


Subject = NounPhrase | Pronoun | Pair


@dataclass(frozen=True)
class Place:
    """in the house"""

    preposition: str
    inside: NounPhrase


@dataclass(frozen=True)
class Predicate:
    """is (not) seeing the cat in the house today; is (not) happy"""

    verb: Verb | Adjective
    tense: Tense = "present"
    negative: bool = False
    object: NounPhrase | Pronoun | None = None
    place: Place | None = None
    adverb: str = ""


@dataclass(frozen=True)
class Clause:
    subject: Subject
    predicate: Predicate


@dataclass(frozen=True)
class Sentence:
    """Clauses with conjunctions between them, one fewer than there are clauses."""

    clauses: tuple[Clause, ...]
    conjunctions: tuple[str, ...] = ()
