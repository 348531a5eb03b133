"""ABS: a window of previous words and smoothed attention; loss, scoring and search take the same step."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from regard.data.batch import BEGIN, END
from regard.errors import RegardError
from regard.nn import Attention, Embedding
from regard.nn.decoders import FeedForwardDecoder
from regard.nn.encoders import SmoothedEncoder
from regard.nn.search import Beam, Greedy, Limits, Stepper, score
from regard.spec import Spec

from .conftest import SOURCE, TARGET, VOCABULARY, tokens


def model(order: int = 3, window: int = 2) -> tuple[SmoothedEncoder, FeedForwardDecoder]:
    torch.manual_seed(0)
    encoder = SmoothedEncoder(Embedding(VOCABULARY, 5), window=window)
    attention = Attention(order * 4, 5, score="general")
    decoder = FeedForwardDecoder(Embedding(VOCABULARY, 4), {"source": attention}, order=order, size=6)
    for parameter in [*encoder.parameters(), *decoder.parameters()]:
        torch.nn.init.normal_(parameter, std=0.6)
    return encoder.double().eval(), decoder.double().eval()


@torch.no_grad()
def test_what_is_read_is_the_mean_of_the_words_around() -> None:
    encoder, _ = model(window=2)
    memory = encoder(SOURCE)
    vectors = encoder.embedding.weight  # type: ignore[attr-defined]
    for row, length in enumerate(SOURCE.lengths.tolist()):
        words = SOURCE.ids[row, :length].tolist()
        for place in range(length):
            around = [vectors[words[i]] for i in range(length) if abs(i - place) <= 2]
            torch.testing.assert_close(memory.values[row, place], sum(around) / 5)  # type: ignore[arg-type]
            assert memory.keys is not None
            torch.testing.assert_close(memory.keys[row, place], vectors[words[place]])
    wider = encoder(tokens([4, 5, 6, 7, 8], [9, 4], [10, 6, 4, 4], width=9))
    torch.testing.assert_close(wider.values[:, :5], memory.values)


@pytest.mark.parametrize("order", [1, 3])
@torch.no_grad()
def test_stepping_equals_teacher_forcing(order: int) -> None:
    encoder, decoder = model(order)
    memories = {"source": encoder(SOURCE)}
    loss = decoder.loss(memories, TARGET)
    scored = score(Stepper(decoder, memories), TARGET)
    assert float(loss.total) == pytest.approx(-float(scored.scores.sum()), abs=1e-9)
    assert loss.count == (TARGET.lengths + 1).sum()
    logs = decoder.distribution(memories, TARGET).log()
    assert logs.exp().sum(1).tolist() == pytest.approx([1.0] * len(logs))


@torch.no_grad()
def test_only_the_last_words_matter() -> None:
    encoder, decoder = model(2)
    memories = {"source": encoder(SOURCE)}

    def after(*words: int) -> Any:
        state = decoder.start(memories)
        for word in words:
            step = decoder.step(torch.full((3, 1), word), state, memories)
            state = step.state
        return step.logits

    torch.testing.assert_close(after(BEGIN, 5, 6, 7), after(BEGIN, 8, 6, 7))
    assert not torch.allclose(after(BEGIN, 5, 6, 7), after(BEGIN, 5, 8, 7))


@torch.no_grad()
def test_a_beam_of_one_is_greedy_and_rows_do_not_matter_to_each_other() -> None:
    encoder, decoder = model()
    limits = Limits(maximum=6)
    memories = {"source": encoder(SOURCE)}
    greedy = Greedy(limits=limits)(Stepper(decoder, memories))
    beam = Beam(size=1, limits=limits)(Stepper(decoder, memories))
    wide = Beam(size=4, limits=limits)(Stepper(decoder, memories))
    for row in range(3):
        assert greedy.content(row) == beam.content(row)
        one = {"source": encoder(tokens(SOURCE.ids[row, : int(SOURCE.lengths[row])].tolist()))}
        alone = Beam(size=4, limits=limits)(Stepper(decoder, one))
        assert alone.content(0) == wide.content(row)
    assert END not in greedy.content(0)


def test_what_does_not_fit_is_refused() -> None:
    document: dict[str, Any] = {
        "inputs": {"source": {"type": "text"}},
        "outputs": {"target": {"type": "text"}},
        "encoder": {"type": "smoothed"},
        "decoder": {"type": "feed-forward", "attention": {"score": "dot"}},
    }
    with pytest.raises(RegardError, match="queries and keys of one size"):
        Spec.parse(document)
    with pytest.raises(RegardError, match="over has no effect"):
        Spec.parse({**document, "decoder": {"type": "feed-forward", "over": "source"}})
    with pytest.raises(RegardError, match="the attention weights of the previous step"):
        Spec.parse({**document, "decoder": {"type": "feed-forward", "attention": {"score": "history"}}})


@torch.no_grad()
def test_the_contexts_of_several_inputs_are_side_by_side() -> None:
    """Each input is attended to as if it were the only one; the output layer reads both contexts."""
    encoder, _ = model()
    other = SmoothedEncoder(Embedding(VOCABULARY, 3), window=1).double().eval()
    attentions = {"source": Attention(12, 5, score="general"), "second": Attention(12, 3, score="general")}
    decoder = FeedForwardDecoder(Embedding(VOCABULARY, 4), attentions, order=3, size=6).double().eval()
    memories = {"source": encoder(SOURCE), "second": other(tokens([6, 5], [4], [7, 8, 9]))}
    step = decoder.step(torch.full((3, 1), BEGIN), decoder.start(memories), memories)
    assert step.looks["source"].shape == (3, 1, 5) and step.looks["second"].shape == (3, 1, 3)
    query = decoder.asking.weight[BEGIN].repeat(3)  # three begin markers
    contexts = []
    for name, memory in memories.items():
        keys = memory.values if memory.keys is None else memory.keys
        energies = keys @ attentions[name].score.key.weight.mT @ query  # type: ignore[union-attr]
        weights = torch.softmax(energies.masked_fill(~memory.mask, -torch.inf), -1)
        torch.testing.assert_close(step.looks[name][:, 0], weights)
        contexts.append((weights.unsqueeze(-1) * memory.values).sum(1))
    hidden = torch.tanh(decoder.hidden(decoder.embedding.weight[BEGIN].repeat(3))).expand(3, -1)
    torch.testing.assert_close(step.logits[:, 0], decoder.output(torch.cat([hidden, *contexts], -1)))
    scored = score(Stepper(decoder, memories), TARGET)
    assert float(decoder.loss(memories, TARGET).total) == pytest.approx(-float(scored.scores.sum()), abs=1e-9)
