"""The notation of lecture 000."""

from __future__ import annotations

from regard.course.notations.deck import DeckNotation
from regard.course.notations.letters import PLAIN, Letters
from regard.parts import register


@register("notation", "000")
class Deck000(DeckNotation):
    """The letters of lecture 000, recurrent neural nets and attention."""

    deck = "000"
    letters = Letters(
        gates={"gru": PLAIN, "lstm": {"i": "i", "f": "f", "o": "o", "g": "g"}, "rnn": {"h": ""}},
        inside={"gru": {}, "lstm": {"m": "c", "m′": "c′"}, "rnn": {}},
        weight="α_ij",
        scored="α̃_ij",
        output="v",
        step="i",
        input="u",
        state="w",
        above=True,
        written=("rnn", "lstm"),
        unbiased=("rnn", "lstm"),
        remarks=(
            "the slide has u, w and v of a network of one unit, and stacks the gates of an LSTM into one W",
        ),
    )
