"""Prepositional phrases and their attachment, which the words alone determine."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from regard.worlds.grammar.lexicon import LICENSES
from regard.worlds.grammar.sentence import Node

Meaning = tuple[str, str]
"""A preposition and the kind of its noun."""


def licensed(host: Node, meaning: Meaning) -> bool:
    """Whether such a phrase can attach to this word."""
    return bool(LICENSES[meaning] & host.kind)


def free_meanings(host: Node, open_words: Iterable[Node]) -> list[Meaning]:
    """The phrases that can attach to `host`, except those that could also attach to a nearer word."""
    nearer: list[Node] = []
    for word in open_words:
        if word is host:
            break
        nearer.append(word)
    return [
        meaning
        for meaning in LICENSES
        if licensed(host, meaning) and not any(licensed(word, meaning) for word in nearer)
    ]


def choose_meaning(host: Node, edge: Node, generator: Random) -> Meaning | None:
    """A random phrase that would attach to `host` at the right end of `edge`; None if there is none."""
    free = free_meanings(host, edge.right_edge())
    return generator.choice(free) if free else None
