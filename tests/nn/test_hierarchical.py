"""The hierarchical encoder: the numbers of its equations, independent of the batch; and its two levels."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.data import DocumentColumn
from regard.data.batch import Sentences
from regard.nn.encoders import HierarchicalEncoder
from regard.nn.encoders.hierarchical import LevelOptions, WordsOptions
from regard.nn.selections import Softmax

TEXTS = ["a b c d e f. Aa b.", "Cc.", "B c d. E f. Aa b c d. D e f a b c d e f a. Ff."]


def made(**options: Any) -> tuple[HierarchicalEncoder, DocumentColumn]:
    column = DocumentColumn("document", case="lower")
    column.learn(TEXTS)
    torch.manual_seed(1)
    options.setdefault("words", WordsOptions(embedding=5, size=4))
    options.setdefault("sentences", LevelOptions(size=3))
    return HierarchicalEncoder.build(HierarchicalEncoder.Options(**options), column).double().eval(), column


def batch(column: DocumentColumn, texts: list[str]) -> Sentences:
    return column.collate([column.encode(text) for text in texts])


def words_of(column: DocumentColumn, text: str) -> list[Tensor]:
    return [torch.tensor(column.words.encode(sentence)) for sentence in column.sentences(text)]


def gru(layer: Any, inputs: Tensor, direction: int) -> Tensor:
    """The states of one direction, step by step, from the equations of a GRU."""
    cell, state, states = layer.cell(direction), layer.first[direction], []
    for x in inputs if direction == 0 else inputs.flip(0):
        i_r, i_z, i_n = (cell.weight_ih @ x + cell.bias_ih).chunk(3)
        h_r, h_z, h_n = (cell.weight_hh @ state + cell.bias_hh).chunk(3)
        reset, keep = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
        state = (1 - keep) * torch.tanh(i_n + reset * h_n) + keep * state
        states.append(state)
    return torch.stack(states if direction == 0 else states[::-1])


def both(layer: Any, inputs: Tensor) -> tuple[Tensor, Tensor]:
    there, back = gru(layer, inputs, 0), gru(layer, inputs, 1)
    return torch.cat([there, back], -1), torch.cat([there[-1], back[0]])


@pytest.mark.parametrize("attention", [None, {"score": {"type": "additive", "size": 6}}])
@pytest.mark.parametrize("values", ["states", "inputs"])
def test_as_the_equations_say(attention: Any, values: str) -> None:
    if attention is None and values == "inputs":
        pytest.skip("refused")
    encoder, column = made(
        attention=attention,
        words=WordsOptions(embedding=5, size=4, values=values),  # type: ignore[arg-type]
        sentences=LevelOptions(size=3, values=values),  # type: ignore[arg-type]
    )
    memory = encoder(batch(column, TEXTS))
    for row, text in enumerate(TEXTS):
        vectors = []
        for ids in words_of(column, text):
            embedded = encoder.embedding.weight[ids]
            states, last = both(encoder.words.layers[0], embedded)  # type: ignore[index]
            if encoder.attention is None:
                vectors.append(last)
                continue
            score: Any = encoder.attention.score
            bias = score.query.weight @ encoder.query
            weights = torch.softmax(torch.tanh(states @ score.key.weight.T + bias) @ score.vector, 0)
            vectors.append(weights @ (states if values == "states" else embedded))
        sentences = torch.stack(vectors)
        states, summary = both(encoder.sentences.layers[0], sentences)  # type: ignore[index]
        count = len(sentences)
        expected = states if values == "states" else sentences
        torch.testing.assert_close(memory.values[row, :count], expected)
        torch.testing.assert_close(memory.summary[row], summary)
        assert memory.mask[row].tolist() == [place < count for place in range(memory.mask.shape[1])]
        assert float(memory.values[row, count:].detach().abs().sum()) == 0


def test_a_document_is_read_alike_alone_and_among_others() -> None:
    encoder, column = made(attention={"score": "additive"})
    together = encoder(batch(column, TEXTS))
    for row, text in enumerate(TEXTS):
        alone = encoder(batch(column, [text]))
        torch.testing.assert_close(together.summary[row], alone.summary[0])
        torch.testing.assert_close(together.values[row, : alone.values.shape[1]], alone.values[0])


def test_the_words_are_the_parts_of_the_sentences() -> None:
    encoder, column = made(attention={"score": "additive"})
    given = batch(column, TEXTS)
    memory = encoder(given)
    assert memory.parts is not None
    words, weights = memory.parts.memory(memory), memory.parts.weights_of_words()
    assert words.parent is memory and words.parent_index is not None and weights is not None
    for row, text in enumerate(TEXTS):
        place = 0
        for number, ids in enumerate(words_of(column, text)):
            states, _ = both(encoder.words.layers[0], encoder.embedding.weight[ids])  # type: ignore[index]
            here = slice(place, place + len(ids))
            torch.testing.assert_close(words.values[row, here], states)
            assert words.parent_index[row, here].tolist() == [number] * len(ids)
            assert float(weights[row, here].sum().detach()) == pytest.approx(1)
            place += len(ids)
        assert int(words.mask[row].sum()) == place
    chosen = memory.select(torch.tensor([2, 0, 2]))
    assert chosen.parts is not None
    again = chosen.parts.memory(chosen)
    torch.testing.assert_close(again.values, words.values[[2, 0, 2]])
    torch.testing.assert_close(again.parent_index, words.parent_index[[2, 0, 2]])


@pytest.mark.parametrize("values", ["states", "inputs"])
def test_the_short_way_of_a_softmax_is_the_way_of_every_selection(values: str) -> None:
    class Another(Softmax):
        """A softmax that the encoder does not recognize as one."""

        def forward(self, *given: Any) -> Tensor:
            return super().forward(*given)

    encoder, column = made(
        attention={"score": "additive"},
        words=WordsOptions(embedding=5, size=4, values=values),  # type: ignore[arg-type]
    )
    found = []
    for select in (Softmax(), Another()):
        assert encoder.attention is not None
        encoder.attention.select = select
        encoder.zero_grad()
        memory = encoder(batch(column, TEXTS))
        memory.values.square().sum().backward()
        assert memory.parts is not None
        weights = memory.parts.weights_of_words()
        gradients = [
            parameter.grad.clone() for parameter in encoder.parameters() if parameter.grad is not None
        ]
        found.append((memory.values, memory.summary, weights, *gradients))
    assert len(found[0]) == len(found[1]) > 10
    for short, long in zip(*found, strict=True):
        torch.testing.assert_close(short, long)


def test_gradients_reach_every_weight() -> None:
    encoder, column = made(attention={"score": "additive"})
    memory = encoder.train()(batch(column, TEXTS))
    (memory.values.square().sum() + memory.summary.sum()).backward()
    assert all(
        parameter.grad is not None and bool(parameter.grad.any()) for parameter in encoder.parameters()
    )


def test_memory_stays_bounded_beside_a_long_sentence() -> None:
    """One long sentence does not make all short ones as long."""
    column = DocumentColumn("document", max_length=5000, max_sentences=3000)
    texts = ["Aa b. " * 2000, "a " * 4000 + "."]
    column.learn(texts)
    given = batch(column, texts)
    assert sum(bucket.ids.numel() for bucket in given.buckets) < 1.15 * int(given.words.sum())
