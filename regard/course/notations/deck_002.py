"""The notation of lecture 002."""

from __future__ import annotations

from regard.course.notations.deck import DeckNotation
from regard.course.notations.letters import LSTM, PLAIN, Letters
from regard.parts import register


@register("notation", "002")
class Deck002(DeckNotation):
    """The letters of lecture 002, structured attention networks."""

    deck = "002"
    letters = Letters(
        gates={"gru": PLAIN, "lstm": LSTM, "rnn": {"h": ""}},
        inside={"gru": {}, "lstm": {}, "rnn": {}},
        general="W_θ",
        score={"v_a·": "v_θ·", "U_a": "U_θ", "W_a": "W_θ"},
        weight="p_t(z = i)",
        scored="θ_ti",
        position="i",
        value="x",
        vector="e",
        selections=("softmax", "segments"),
        written=(),
        remarks=("the query q of the slide is the state s that the score reads",),
    )
