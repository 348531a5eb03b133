"""Verbs with their auxiliaries, in agreement with a subject."""

from __future__ import annotations

from random import Random

from regard.worlds.grammar.lexicon import EARLY_ADVERBS, EnglishVerb
from regard.worlds.grammar.sentence import Node

TENSES = {"past": 38, "present": 24, "progressive": 10, "perfect": 8, "modal": 12, "negative": 8}
MODALS = ("will", "can", "must", "may")


def inflect(verb: EnglishVerb, subject: Node, generator: Random, *, passive: bool = False) -> Node:
    """The verb with subject and auxiliaries before it: "the dog has chased", "they do not sleep", "it was seen"."""
    tense = generator.choices(list(TENSES), list(TENSES.values()))[0]
    auxiliaries: list[Node]
    if passive:
        form, auxiliaries = verb.participle, [Node(be(subject, past=tense == "past"), "AUX", "aux:pass")]
    elif tense == "past":
        form, auxiliaries = verb.past, []
    elif tense == "present":
        form, auxiliaries = verb.base if subject.plural else verb.third, []
    elif tense == "progressive":
        form, auxiliaries = verb.progressive, [Node(be(subject, past=generator.random() < 0.4), "AUX", "aux")]
    elif tense == "perfect":
        form, auxiliaries = verb.participle, [Node("have" if subject.plural else "has", "AUX", "aux")]
    elif tense == "modal":
        form, auxiliaries = verb.base, [Node(generator.choice(MODALS), "AUX", "aux")]
    else:
        do = "did" if generator.random() < 0.5 else "do" if subject.plural else "does"
        form, auxiliaries = verb.base, [Node(do, "AUX", "aux"), Node("not", "PART", "advmod")]
    subject.relation = "nsubj:pass" if passive else "nsubj"
    root = Node(form, "VERB", kind=verb.traits, before=[subject, *auxiliaries])
    if tense != "negative" and generator.random() < 0.08:
        root.before.append(Node(generator.choice(EARLY_ADVERBS), "ADV", "advmod"))
    return root


def be(subject: Node, *, past: bool) -> str:
    """The form of be: I am, she is, they are; I was, they were."""
    if subject.word == "I":
        return "was" if past else "am"
    return ("were" if past else "are") if subject.plural else ("was" if past else "is")
