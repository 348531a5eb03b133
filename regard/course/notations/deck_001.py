"""The notation of lecture 001, which shares its slides on attention with lecture 000."""

from __future__ import annotations

from dataclasses import replace

from regard.course.notations.deck_000 import Deck000
from regard.parts import register


@register("notation", "001")
class Deck001(Deck000):
    """The letters of lecture 001, attention."""

    deck = "001"
    letters = replace(Deck000.letters, written=(), remarks=())
