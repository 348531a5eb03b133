"""From meanings to sentences in the style of the grammar world, with their trees."""

from __future__ import annotations

from regard.worlds.grammar.sentence import Node, ParsedSentence
from regard.worlds.inference.meaning import Entity, Meaning, Situation


def say(meaning: Meaning) -> ParsedSentence:
    """her old dog chased the fox and my king slept"""
    root = _clause(meaning[0], "root")
    for event in meaning[1:]:
        second = _clause(event, "conj")
        second.before.insert(0, Node("and", "CCONJ", "cc"))
        root.after.append(second)
    return root.sentence()


def _clause(event: Situation, relation: str) -> Node:
    verb = Node(event.verb, "VERB", relation)
    subject = event.patient if event.passive else event.agent
    if subject is None:
        raise ValueError("a clause needs a subject: the agent, or the patient of a passive one")
    verb.before.append(_phrase(subject, "nsubj:pass" if event.passive else "nsubj"))
    if event.passive:
        verb.before.append(Node("was", "AUX", "aux:pass"))
    if event.never:
        verb.before.append(Node("never", "ADV", "advmod"))
    if event.manner and event.early:
        verb.before.append(Node(event.manner, "ADV", "advmod"))
    if event.passive and event.agent is not None:
        verb.after.append(_phrase(event.agent, "obl:agent", "by"))
    if not event.passive and event.patient is not None:
        verb.after.append(_phrase(event.patient, "obj"))
    if event.manner and not event.early:
        verb.after.append(Node(event.manner, "ADV", "advmod"))
    if event.place is not None:
        verb.after.append(_phrase(event.place, "obl", "in"))
    return verb


def _phrase(thing: Entity, relation: str, preposition: str = "") -> Node:
    noun = Node(thing.shown or thing.noun, "NOUN", relation)
    if preposition:
        noun.before.append(Node(preposition, "ADP", "case"))
    noun.before.append(Node(thing.owner, "DET", "nmod:poss") if thing.owner else Node("the", "DET", "det"))
    noun.before += [Node(trait, "ADJ", "amod") for trait in thing.traits]
    if thing.wears is not None:
        noun.after.append(_phrase(thing.wears, "nmod", "with"))
    return noun
