"""The notation of lecture 003."""

from __future__ import annotations

from regard.course.notations.deck import DeckNotation
from regard.course.notations.letters import LSTM, PLAIN, Letters
from regard.parts import register


@register("notation", "003")
class Deck003(DeckNotation):
    """The letters of lecture 003, recurrent neural networks."""

    deck = "003"
    letters = Letters(
        gates={"gru": PLAIN, "lstm": LSTM, "rnn": {"h": ""}},
        inside={"gru": {"n": "h̃"}, "lstm": {"g": "c̃", "m": "c", "m′": "c′"}, "rnn": {}},
        weight="α_ti",
        scored="e_ti",
        context="C",
        bias="c",
        position="i",
        unbiased=("gru", "lstm"),
    )
