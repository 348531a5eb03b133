"""Encoders: their memories do not depend on padding."""

from __future__ import annotations

import pytest
import torch

from regard.data.batch import Tokens
from regard.errors import RegardError
from regard.nn import (
    ConvolutionalEncoder,
    Embedding,
    GRUCell,
    MeanEncoder,
    RecurrentEncoder,
    RNNCell,
)
from regard.nn.cells import DeepCell
from regard.nn.encoders import MlpEncoder

from .conftest import SOURCE, VOCABULARY, tokens


def encoders():
    torch.manual_seed(0)
    embedding = Embedding(VOCABULARY, 5)
    made = {
        "mean": MeanEncoder(embedding),
        "convolutional": ConvolutionalEncoder(embedding, size=6, layers=2),
        "stacked": RecurrentEncoder(embedding, size=4, layers=3, residual=True),
        "one way": RecurrentEncoder(embedding, size=4, bidirectional=False),
        "backward": RecurrentEncoder(embedding, size=4, bidirectional=False, direction="backward"),
        "alternate": RecurrentEncoder(
            embedding, size=4, layers=3, bidirectional=False, direction="alternate"
        ),
        "deep": RecurrentEncoder(embedding, cell=DeepCell.Options(input=1, output=1), size=4),
    }
    for cell in ("rnn", "gru", "lstm"):
        made[cell] = RecurrentEncoder(embedding, cell=cell, size=4)
    made["sigmoid"] = RecurrentEncoder(embedding, cell=RNNCell.Options(activation="sigmoid"), size=4)
    made["cho"] = RecurrentEncoder(embedding, cell=GRUCell.Options(update="cho"), size=4)
    for encoder in made.values():
        for parameter in encoder.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
    return made


@pytest.mark.parametrize("name", encoders())
def test_padding_and_neighbours_change_nothing(name):
    encoder = encoders()[name].eval()
    memory = encoder(Tokens(torch.nn.functional.pad(SOURCE.ids, (0, 3)), SOURCE.lengths))
    assert memory.values.shape == (3, 8, encoder.value_size) and memory.summary.shape == (
        3,
        encoder.summary_size,
    )
    for row, length in enumerate(SOURCE.lengths.tolist()):
        alone = encoder(tokens(SOURCE.ids[row, :length].tolist()))
        torch.testing.assert_close(memory.values[row, :length], alone.values[0], atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(memory.summary[row], alone.summary[0], atol=1e-6, rtol=1e-5)
        assert bool((memory.mask[row] == (torch.arange(8) < length)).all())


@pytest.mark.parametrize(
    ("cell", "module"), [("gru", torch.nn.GRU), ("lstm", torch.nn.LSTM), ("rnn", torch.nn.RNN)]
)
def test_recurrent_equals_torch(cell, module):
    torch.manual_seed(0)
    encoder = RecurrentEncoder(Embedding(VOCABULARY, 5), cell=cell, size=4, first="zero")
    other = module(5, 4, bidirectional=True, batch_first=True)
    with torch.no_grad():
        for direction, suffix in enumerate(("", "_reverse")):
            for name, tensor in encoder.layers[0].cell(direction).named_parameters():
                getattr(other, f"{name}_l0{suffix}").copy_(tensor)
    source = tokens([4, 5, 6, 7])
    outputs, last = other(encoder.embedding(source.ids))
    memory = encoder(source)
    torch.testing.assert_close(memory.values, outputs)
    last = last[0] if cell == "lstm" else last
    torch.testing.assert_close(memory.summary[0], torch.cat([last[0, 0], last[1, 0]]))


def test_the_first_state_is_learned_unless_it_is_zero():
    for first, learned in (("learned", True), ("zero", False)):
        encoder = RecurrentEncoder(Embedding(VOCABULARY, 5), size=4, first=first)
        memory = encoder(SOURCE)
        (memory.values.sum() + memory.summary.sum()).backward()
        gradient = encoder.layers[0].first.grad
        assert (gradient is not None and bool((gradient != 0).all())) == learned


def test_mean_of_embeddings():
    encoder = MeanEncoder(Embedding(VOCABULARY, 5))
    memory = encoder(tokens([4, 5], [6]))
    weight = encoder.embedding.weight
    torch.testing.assert_close(memory.summary, torch.stack([(weight[4] + weight[5]) / 2, weight[6]]))


def test_a_perceptron_reads_each_word_and_their_mean():
    encoder = MlpEncoder(Embedding(VOCABULARY, 5), size=3, layers=2, activation="tanh")
    memory = encoder(tokens([4, 5], [6]))
    first, second = encoder.layers

    def by_hand(vector):
        return torch.tanh(second.weight @ torch.tanh(first.weight @ vector + first.bias) + second.bias)

    weight = encoder.embedding.weight
    torch.testing.assert_close(memory.values[0, 1], by_hand(weight[5]))
    torch.testing.assert_close(memory.summary[0], by_hand((weight[4] + weight[5]) / 2))
    assert not memory.values[1, 1].any()


def test_pretrained_vectors():
    vectors = torch.randn(VOCABULARY, 5)
    fixed = torch.arange(VOCABULARY) != 5
    embedding = Embedding(VOCABULARY, 5, vectors=vectors, fixed=fixed)
    torch.testing.assert_close(embedding(torch.tensor([4])), vectors[4:5])
    embedding(torch.tensor([4, 5])).sum().backward()
    assert embedding.weight.grad is not None and embedding.weight.grad.sum(-1).nonzero().tolist() == [[5]]
    assert bool((embedding(torch.tensor([0])) == 0).all())
    with pytest.raises(RegardError, match="shape"):
        Embedding(VOCABULARY, 6, vectors=vectors)


def test_an_even_width_is_refused():
    with pytest.raises(RegardError, match="odd"):
        ConvolutionalEncoder(Embedding(VOCABULARY, 5), size=4, width=2)


def test_embeddings_as_values_with_the_states_as_keys():
    torch.manual_seed(0)
    embedding = Embedding(VOCABULARY, 5)
    states = RecurrentEncoder(embedding, size=4)
    local = RecurrentEncoder(embedding, size=4, values="embeddings")
    local.load_state_dict(states.state_dict())
    read, whole = local(SOURCE), states(SOURCE)
    mask = SOURCE.mask.unsqueeze(-1)
    torch.testing.assert_close(read.values, embedding.weight[SOURCE.ids] * mask)
    torch.testing.assert_close(read.keys, whole.values)
    torch.testing.assert_close(read.summary, whole.summary)
    assert (local.value_size, local.key_size, local.summary_size) == (5, 8, 8)


def test_backward_is_the_reversed_row_read_forward():
    """torch.nn.GRU applied to the words of each row in reverse order."""
    encoder = RecurrentEncoder(
        Embedding(VOCABULARY, 5), size=4, bidirectional=False, direction="backward", first="zero"
    )
    theirs = torch.nn.GRU(5, 4, batch_first=True)
    theirs.load_state_dict(
        {f"{name}_l0": value for name, value in encoder.layers[0].cell(0).state_dict().items()}
    )
    memory = encoder(SOURCE)
    for row, length in enumerate(SOURCE.lengths.tolist()):
        words = encoder.embedding(SOURCE.ids[row, :length].flip(0))[None]
        states, last = theirs(words)
        torch.testing.assert_close(memory.values[row, :length], states[0].flip(0), atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(memory.summary[row], last[0, 0], atol=1e-6, rtol=1e-5)


def test_layers_read_in_turn_from_both_ends():
    encoder = RecurrentEncoder(
        Embedding(VOCABULARY, 5), size=4, layers=2, bidirectional=False, direction="alternate", first="zero"
    )
    first, second = (layer.cell(0) for layer in encoder.layers)
    memory = encoder(SOURCE)
    for row, length in enumerate(SOURCE.lengths.tolist()):
        words, below, above = encoder.embedding(SOURCE.ids[row, :length]), [], []
        state = torch.zeros(4)
        for word in words:
            state = first(word[None], state[None])[0]
            below.append(state)
        state = torch.zeros(4)
        for vector in reversed(below):
            state = second(vector[None], state[None])[0]
            above.append(state)
        expected = torch.stack(above[::-1])
        torch.testing.assert_close(memory.values[row, :length], expected, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(memory.summary[row], expected[0], atol=1e-6, rtol=1e-5)
