"""The notation of lecture 004."""

from __future__ import annotations

from regard.course.notations.deck import DeckNotation
from regard.course.notations.letters import LSTM, Letters
from regard.parts import register

PARAMETERS = {
    ("language", "language"): "U, V, W, b, c",
    ("recurrent", "recurrent"): "U_dec, V, W_dec, U_enc, W_enc, b",
    ("recurrent", "attention"): "U_dec, V, W_dec, U_enc, W_enc, b, U_attn, V_attn",
    ("image", "recurrent"): "U_dec, V, W_dec, W_conv, b",
    ("video", "recurrent"): "U_dec, W_dec, V, b, W_conv, U_enc, W_enc, b",
    ("video", "label"): "V, b, W_conv, U_enc, W_enc, b",
    ("question", "label"): "V, b, U_q, W_q, W_conv, b",
    ("hierarchical", "label"): "W_enc^1, U_enc^1, W_enc^2, U_enc^2, V, b",
    ("hierarchical", "attention"): "W_w, W_s, V, b_w, b_s, b, u_w, u_s",
}


@register("notation", "004")
class Deck004(DeckNotation):
    """The letters of lecture 004, encoder-decoder models."""

    deck = "004"
    letters = Letters(
        gates={"gru": {"r": "o", "z": "i", "n": ""}, "lstm": LSTM, "rnn": {"h": ""}},
        inside={"gru": {"r": "o", "z": "i", "n": "s̃"}, "lstm": {"g": "s̃", "m": "s", "m′": "s′"}, "rnn": {}},
        decoder={"h": "s"},
        score={"v_a·": "V_attnᵀ ", "U_a": "W_attn", "W_a": "U_attn"},
        general="W_attn",
        weight="α_jt",
        scored="e_jt",
        encoders=("recurrent", "image", "video", "hierarchical"),
        condition=True,
        parameters=PARAMETERS,
    )
