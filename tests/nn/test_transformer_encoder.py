"""The Transformer encoder against torch's layers, with the same weights."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from regard import RegardError, Spec
from regard.nn import Embedding
from regard.nn.encoders.transformer import EncoderLayer, TransformerEncoder
from regard.nn.transformer_layers import PositionVectors

from .conftest import SOURCE, VOCABULARY, tokens


def made(**options: object) -> TransformerEncoder:
    torch.manual_seed(0)
    encoder = TransformerEncoder(Embedding(VOCABULARY, 8), size=8, heads=2, hidden=12, **options)  # type: ignore[arg-type]
    for parameter in encoder.parameters():
        nn.init.normal_(parameter, std=0.4)
    return encoder.double().eval()


def as_torch(layer: EncoderLayer, norm: str) -> nn.TransformerEncoderLayer:
    """torch's layer with the weights of ours."""
    theirs = (
        nn.TransformerEncoderLayer(8, 2, 12, 0.0, batch_first=True, norm_first=norm == "pre").double().eval()
    )
    ours = layer.attention
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(
            torch.cat([ours.query.weight, ours.key.weight, ours.value.weight])
        )
        theirs.self_attn.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
        theirs.self_attn.out_proj.load_state_dict(ours.output.state_dict())
        theirs.linear1.load_state_dict(layer.feed[0].state_dict())
        theirs.linear2.load_state_dict(layer.feed[3].state_dict())
        theirs.norm1.load_state_dict(layer.attended.norm.state_dict())
        theirs.norm2.load_state_dict(layer.fed.norm.state_dict())
    return theirs


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_it_is_the_transformer_of_torch(norm: str) -> None:
    encoder = made(norm=norm, layers=2)
    memory = encoder(SOURCE)
    places = torch.arange(SOURCE.ids.shape[1])
    angles = places[:, None] / 10000 ** (torch.arange(0, 8, 2) / 8)
    positions = torch.zeros(len(places), 8, dtype=torch.float64)
    positions[:, 0::2], positions[:, 1::2] = angles.sin(), angles.cos()
    x = nn.functional.embedding(SOURCE.ids, encoder.embedding.weight) * math.sqrt(8) + positions
    for layer in encoder.layers:
        x = as_torch(layer, norm)(x, src_key_padding_mask=~SOURCE.mask)
    if encoder.norm is not None:
        x = encoder.norm(x)
    for row, length in enumerate(SOURCE.lengths.tolist()):
        torch.testing.assert_close(memory.values[row, :length], x[row, :length], atol=1e-6, rtol=1e-6)
        torch.testing.assert_close(memory.summary[row], x[row, :length].mean(0), atol=1e-6, rtol=1e-6)
        assert (memory.values[row, length:] == 0).all()


def test_distances_are_added_to_the_scores_of_each_head() -> None:
    encoder = made(distances=2)
    layer = encoder.layers[0]
    x, mask = encoder._start(SOURCE)
    seen = layer.attended.enter(x)
    attention = layer.attention
    queries, keys = attention.query(seen), attention.key(seen)
    for row, length in enumerate(SOURCE.lengths.tolist()):
        for head in range(2):
            part = slice(4 * head, 4 * head + 4)
            for place in range(length):
                energies = [
                    queries[row, place, part] @ keys[row, other, part] / 2
                    + attention.distance[head, min(max(other - place, -2), 2) + 2]
                    for other in range(length)
                ]
                expected = torch.softmax(torch.stack(energies), 0)
                found = encoder.self_looks(SOURCE)["encoder layer 1"][row, head, place, :length]
                torch.testing.assert_close(found, expected)
    read = (attention.weights(seen, attention.prepare(seen)[0], mask) @ attention.prepare(seen)[1]).transpose(
        1, 2
    )
    torch.testing.assert_close(
        attention(seen, attention.prepare(seen), mask), attention.output(read.flatten(2))
    )


def test_padding_changes_nothing() -> None:
    encoder = made(positions="learned")
    wide = tokens([4, 5, 6, 7, 8], [9, 4], [10, 6, 4, 4], width=9)
    memory, wider = encoder(SOURCE), encoder(wide)
    torch.testing.assert_close(memory.values, wider.values[:, :5])
    torch.testing.assert_close(memory.summary, wider.summary)


def test_every_head_of_every_layer_is_seen() -> None:
    encoder = made(layers=2)
    looks = encoder.self_looks(SOURCE)
    assert list(looks) == ["encoder layer 1", "encoder layer 2"]
    for weights in looks.values():
        assert weights.shape == (3, 2, 5, 5)
        torch.testing.assert_close(weights.sum(-1), torch.ones(3, 2, 5, dtype=torch.float64))
        assert (weights[1, :, :, 2:] == 0).all()  # the second row has two words
    # The first layer's output uses the weights of its heads.
    layer = encoder.layers[0]
    x, mask = encoder._start(SOURCE)
    seen = layer.attended.enter(x)
    keys, values = layer.attention.prepare(seen)
    by_hand = layer.attention.output((looks["encoder layer 1"] @ values).transpose(1, 2).flatten(2))
    torch.testing.assert_close(layer.attention(seen, (keys, values), mask), by_hand)


def test_all_weights_learn_and_positions_tell_orders_apart() -> None:
    encoder = made(positions="learned").train()
    memory = encoder(SOURCE)
    (memory.values.square().sum() + memory.summary.sum()).backward()
    assert [name for name, one in encoder.named_parameters() if one.grad is None] == []
    one, other = encoder.eval()(tokens([4, 5])), encoder(tokens([5, 4]))
    assert not torch.allclose(one.summary, other.summary)


def test_sines_and_cosines_as_published() -> None:
    found = PositionVectors("sinusoidal", 6)(torch.tensor([0, 3]))
    expected = [f(3 / 10000 ** (i / 6)) for i in (0, 2, 4) for f in (math.sin, math.cos)]
    torch.testing.assert_close(found, torch.tensor([[0.0, 1, 0, 1, 0, 1], expected]))


def test_a_spec_names_it_and_heads_divide_the_size() -> None:
    document = {
        "inputs": {"source": {"type": "text"}},
        "outputs": {"label": {"type": "label"}},
        "encoder": {"type": "transformer", "size": 12, "heads": 3, "norm": "post"},
    }
    assert Spec.parse(document).encoder["source"].part is TransformerEncoder
    with pytest.raises(RegardError, match="cannot be divided among 5 heads"):
        Spec.parse(document, ["encoder.heads=5"])
