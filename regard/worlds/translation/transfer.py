"""Generate both sides of a sentence together, so that the alignment is known.

English is subject, verb, object, place, adverb. The target language is made up, with Hindi words:

- "the" is dropped, "a" is a word; other determiners precede the noun
- adjectives follow their noun and agree with it in gender, number and case
- postpositions follow their phrase, which is in the oblique case; some are two words (with → ke saath)
- a clause is subject, adverb, place, object, negation, verb; a relative clause follows its noun (who → jo)
- the verb agrees with the subject in person, number and gender; one English word may become several
  (goes → jata hai, helps → madad karta hai) and several may become one (will go → jaega)

Every target word has exactly one source word, the one it translates (am going → ja raha hoon: going–ja, am–raha,
am–hoon). Source words that become an ending or nothing (the, will, did) have no link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from regard.worlds.translation import inflection
from regard.worlds.translation.lexicon import (
    ADVERBS,
    CONJUNCTIONS,
    HOME,
    PREPOSITIONS,
    Adjective,
    Gender,
    Noun,
    Pronoun,
    Verb,
)
from regard.worlds.translation.syntax import (
    Clause,
    NounPhrase,
    Pair,
    Place,
    Predicate,
    Sentence,
    Subject,
)


class Word:
    """An English word at one position of a sentence; two of the same spelling are different objects."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


@dataclass
class Phrase:
    """English words, and target words with the English word that each comes from."""

    english: list[Word] = field(default_factory=list)
    target: list[tuple[str, Word]] = field(default_factory=list)


@dataclass(frozen=True)
class Agreement:
    """The features of a subject with which the verb agrees."""

    person: int
    plural: bool
    gender: Gender


def translate(sentence: Sentence) -> tuple[str, str, str]:
    """English, target, and the links between their words in the Pharaoh format."""
    return written([clause_phrase(clause) for clause in sentence.clauses], sentence.conjunctions)


def written(clauses: Sequence[Phrase], conjunctions: Sequence[str]) -> tuple[str, str, str]:
    """The result of `translate` for clauses that have their words already."""
    english, target = list(clauses[0].english), list(clauses[0].target)
    for text, clause in zip(conjunctions, clauses[1:], strict=True):
        conjunction = Word(text)
        english += [conjunction, *clause.english]
        target += [(CONJUNCTIONS[text], conjunction), *clause.target]
    position = {id(word): place for place, word in enumerate(english)}
    links = sorted((position[id(word)], place) for place, (_, word) in enumerate(target))
    return (
        " ".join(word.text for word in english),
        " ".join(text for text, _ in target),
        " ".join(f"{source}-{place}" for source, place in links),
    )


def clause_phrase(clause: Clause) -> Phrase:
    subject = subject_phrase(clause.subject)
    predicate = predicate_phrase(clause.predicate, agreement(clause.subject))
    return Phrase(subject.english + predicate.english, subject.target + predicate.target)


def agreement(subject: Subject) -> Agreement:
    """The agreement of a subject. A pair is plural, and feminine only if both are."""
    if isinstance(subject, Pronoun):
        return Agreement(subject.person, subject.plural, subject.gender)
    if isinstance(subject, Pair):
        both = (subject.first.noun.gender, subject.second.noun.gender)
        return Agreement(3, True, "f" if both == ("f", "f") else "m")
    return Agreement(3, subject.plural, subject.noun.gender)


def subject_phrase(subject: Subject) -> Phrase:
    if isinstance(subject, Pronoun):
        word = Word(subject.english)
        return Phrase([word], [(subject.target, word)])
    if isinstance(subject, NounPhrase):
        return noun_phrase(subject)
    first, second, conjunction = noun_phrase(subject.first), noun_phrase(subject.second), Word("and")
    return Phrase(
        [*first.english, conjunction, *second.english],
        [*first.target, (CONJUNCTIONS["and"], conjunction), *second.target],
    )


def noun_phrase(phrase: NounPhrase, *, oblique: bool = False) -> Phrase:
    noun, plural = phrase.noun, phrase.plural
    determiner, head = Word(phrase.determiner.english), Word(noun.plural if plural else noun.english)
    adjectives = [Word(adjective.english) for adjective in phrase.adjectives]
    made = Phrase([determiner, *adjectives, head])
    if phrase.determiner.target:
        made.target.append((_agreeing(phrase.determiner.target, noun, plural, oblique), determiner))
    made.target.append((inflection.decline(noun, plural=plural, oblique=oblique), head))
    for adjective, word in zip(phrase.adjectives, adjectives, strict=True):
        made.target.append((_agreeing(adjective.target, noun, plural, oblique), word))
    if phrase.place is not None:
        place = place_phrase(phrase.place)
        made.english += place.english
        made.target += place.target
    if phrase.relative is not None:
        pronoun = Word("who" if noun.kind == "person" else "which")
        relative = predicate_phrase(phrase.relative, Agreement(3, plural, noun.gender))
        made.english += [pronoun, *relative.english]
        made.target += [("jo", pronoun), *relative.target]
    return made


def _agreeing(word: str, noun: Noun, plural: bool, oblique: bool) -> str:
    return inflection.agree(word, gender=noun.gender, plural=plural, oblique=oblique)


def place_phrase(place: Place) -> Phrase:
    word, inside = Word(place.preposition), noun_phrase(place.inside, oblique=True)
    postposition = [(part, word) for part in PREPOSITIONS[place.preposition].split()]
    return Phrase([word, *inside.english], inside.target + postposition)


def predicate_phrase(predicate: Predicate, subject: Agreement) -> Phrase:
    verb = predicate.verb
    if isinstance(verb, Adjective):
        english, negation, target = copula(verb, predicate.tense == "past", predicate.negative, subject)
    else:
        english, negation, target = verb_group(verb, predicate, subject)
    made = Phrase(english)
    thing, place, adverb = Phrase(), Phrase(), Phrase()
    if isinstance(predicate.object, Pronoun):
        word = Word(predicate.object.object)
        thing = Phrase([word], [(predicate.object.target_object, word)])
    elif predicate.object is not None:
        thing = noun_phrase(predicate.object)
    if predicate.place is not None:
        place = place_phrase(predicate.place)
    if predicate.adverb:
        word = Word(predicate.adverb)
        adverb = Phrase([word], [((ADVERBS | HOME)[predicate.adverb], word)])
    made.english += thing.english + place.english + adverb.english
    made.target += adverb.target + place.target + thing.target
    # A predicate adjective precedes its negation, a verb follows it: khush nahin hai, nahin ja raha hai.
    made.target += target[:1] + negation + target[1:] if isinstance(verb, Adjective) else negation + target
    return made


Group = tuple[list[Word], list[tuple[str, Word]], list[tuple[str, Word]]]
"""English words, the negation, and the target words of a verb."""


def copula(adjective: Adjective, past: bool, negative: bool, subject: Agreement) -> Group:
    """is happy → khush hai"""
    to_be, word, negation = Word(english_to_be(subject, past)), Word(adjective.english), Word("not")
    agreed = inflection.agree(adjective.target, gender=subject.gender, plural=subject.plural, oblique=False)
    english = [to_be, negation, word] if negative else [to_be, word]
    return (
        english,
        [("nahin", negation)] if negative else [],
        [(agreed, word), (target_to_be(subject, past), to_be)],
    )


def verb_group(verb: Verb, predicate: Predicate, subject: Agreement) -> Group:
    """The verb with its auxiliaries; for a light verb, "kar" after the stem takes the endings."""
    tense, negative = predicate.tense, predicate.negative
    stem, gender, plural = "kar" if verb.light else verb.stem, subject.gender, subject.plural
    auxiliary, main = english_verb(verb, tense, negative, subject)
    negation = Word("not")
    to_be = inflection.present(subject.person, plural)
    end = inflection.ending(gender, plural)
    # Each target word of the group, and whether it translates the auxiliary, not the main verb.
    forms: list[tuple[str, bool]] = {
        "present": [(inflection.habitual(stem, gender, plural), False), (to_be, negative)],
        "progressive": [(stem, False), ("rah" + end, True), (to_be, True)],
        "past": [(inflection.perfective(stem, gender, plural), False)],
        "past progressive": [(stem, False), ("rah" + end, True), (inflection.past(gender, plural), True)],
        "future": [(inflection.future(stem, subject.person, gender, plural), False)],
        "can": [(stem, False), ("sakt" + end, True), (to_be, True)],
        "should": [(inflection.infinitive(stem), False), ("chahiye", True)],
    }[tense]
    if verb.light:
        forms = [(verb.stem, False), *forms]
    english = [*auxiliary, main]
    if negative:
        english.insert(1, negation)
    target = [(form, auxiliary[0] if of_auxiliary else main) for form, of_auxiliary in forms]
    return english, [("nahin", negation)] if negative else [], target


def english_verb(verb: Verb, tense: str, negative: bool, subject: Agreement) -> tuple[list[Word], Word]:
    """Auxiliaries and main verb; "not" follows the first auxiliary, which is "do" in the simple present and past."""
    third = subject.person == 3 and not subject.plural
    if tense in ("progressive", "past progressive"):
        return [Word(english_to_be(subject, tense != "progressive"))], Word(verb.participle)
    if tense in ("future", "can", "should"):
        return [Word("will" if tense == "future" else tense)], Word(verb.base)
    if negative:
        return [Word("did" if tense == "past" else "does" if third else "do")], Word(verb.base)
    return [], Word(verb.past if tense == "past" else verb.third if third else verb.base)


def english_to_be(subject: Agreement, past: bool) -> str:
    if past:
        return "were" if subject.plural else "was"
    return "are" if subject.plural else "am" if subject.person == 1 else "is"


def target_to_be(subject: Agreement, past: bool) -> str:
    if past:
        return inflection.past(subject.gender, subject.plural)
    return inflection.present(subject.person, subject.plural)
