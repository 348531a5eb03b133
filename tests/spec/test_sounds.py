"""Specs of audio: defaults, and invalid combinations."""

from __future__ import annotations

from typing import Any

import pytest

from regard.describe import answers
from regard.errors import RegardError
from regard.nn.encoders import PyramidalEncoder
from regard.spec import Spec


def spec(**parts: Any) -> Spec:
    return Spec.parse(
        {
            "inputs": {"audio": {"type": "audio"}},
            "outputs": {"text": {"type": "text", "unit": "char"}},
            "attention": {"score": "location"},
            **parts,
        }
    )


def test_a_sound_is_read_by_a_pyramidal_encoder_by_default() -> None:
    encoder = spec(encoder={"size": 20, "reductions": 1}).encoder["audio"]
    assert isinstance(encoder, PyramidalEncoder.Options)
    assert (encoder.size, encoder.layers, encoder.reductions) == (20, 3, 1)


def test_the_board_says_how_it_listens() -> None:
    board = answers(spec(encoder={"cell": "gru", "layers": 3, "reductions": 2}))
    assert "log-mel" in board["data"][1]
    assert "x_lm = [h_{l−1,2m−1}; h_{l−1,2m}]     for l > 1" in board["encoder"]
    assert any("V_a f_tj" in line for line in board["decoder"])
    plain = answers(spec(encoder={"layers": 2, "reductions": 0}))["encoder"]
    assert not any("2m" in line for line in plain)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"encoder": {"type": "recurrent"}}, "encoder recurrent cannot read audio.*Use type: pyramidal"),
        (
            {"inputs": {"words": {"type": "text"}}, "encoder": {"type": "pyramidal"}},
            "encoder pyramidal cannot read words, which is of type text.*Use type: recurrent",
        ),
        ({"encoder": {"layers": 2, "reductions": 3}}, "2 layers cannot halve the time 3 times"),
        (
            {"outputs": {"word": {"type": "label"}}},
            "the attention weights of the previous step, which a label decoder does not provide",
        ),
        (
            {"attention": {"score": "dot"}, "encoder": {"size": 10}, "decoder": {"size": 12}},
            "memory of audio has 20, the decoder 12",
        ),
        ({"inputs": {"audio": {"type": "audio", "rate": 10}}}, "rate"),
        ({"inputs": {"audio": {"type": "audio", "augment": {"echo": 1}}}}, "echo"),
    ],
)
def test_mistakes_are_named(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(RegardError, match=words):
        spec(**parts)
