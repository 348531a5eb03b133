"""The Transformer decoder against torch's layers; its steps against teacher forcing; its heads."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn

from regard import Model, RegardError, Spec
from regard.data import Row
from regard.data.batch import BEGIN
from regard.model.building import fit_columns, make_columns
from regard.nn import Embedding, MeanEncoder
from regard.nn.decoders.transformer import TransformerDecoder
from regard.nn.decoders.transformer_layer import DecoderLayer
from regard.nn.packing import shifted
from regard.nn.search import Beam, Greedy, Limits, Stepper, score

from .conftest import SOURCE, TARGET, VOCABULARY


def made(
    *, norm: str = "pre", sources: int = 1, tied: bool = False, distances: int | None = None
) -> tuple[MeanEncoder, TransformerDecoder]:
    torch.manual_seed(0)
    encoder = MeanEncoder(Embedding(VOCABULARY, 6))
    names = ["source", "other"][:sources]
    decoder = TransformerDecoder(
        Embedding(VOCABULARY, 8),
        dict.fromkeys(names, encoder),
        size=8,
        layers=2,
        heads=2,
        hidden=12,
        norm=norm,  # type: ignore[arg-type]
        tied=tied,
        distances=distances,
    )
    for parameter in [*encoder.parameters(), *decoder.parameters()]:
        nn.init.normal_(parameter, std=0.4)
    return encoder.double().eval(), decoder.double().eval()


def as_torch(layer: DecoderLayer, norm: str) -> nn.TransformerDecoderLayer:
    theirs = (
        nn.TransformerDecoderLayer(8, 2, 12, 0.0, batch_first=True, norm_first=norm == "pre").double().eval()
    )
    theirs.multihead_attn = nn.MultiheadAttention(8, 2, kdim=6, vdim=6, batch_first=True).double().eval()
    with torch.no_grad():
        own, over = layer.itself, layer.over
        theirs.self_attn.in_proj_weight.copy_(torch.cat([own.query.weight, own.key.weight, own.value.weight]))
        theirs.self_attn.in_proj_bias.copy_(torch.cat([own.query.bias, own.key.bias, own.value.bias]))
        theirs.self_attn.out_proj.load_state_dict(own.output.state_dict())
        theirs.multihead_attn.q_proj_weight.copy_(over.query.weight)
        theirs.multihead_attn.k_proj_weight.copy_(over.key.weight)
        theirs.multihead_attn.v_proj_weight.copy_(over.value.weight)
        theirs.multihead_attn.in_proj_bias.copy_(torch.cat([over.query.bias, over.key.bias, over.value.bias]))
        theirs.multihead_attn.out_proj.load_state_dict(over.output.state_dict())
        theirs.linear1.load_state_dict(layer.feed[0].state_dict())
        theirs.linear2.load_state_dict(layer.feed[3].state_dict())
        for mine, norms in (
            (layer.first, theirs.norm1),
            (layer.second, theirs.norm2),
            (layer.third, theirs.norm3),
        ):
            norms.load_state_dict(mine.norm.state_dict())
    return theirs


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_it_is_the_transformer_of_torch(norm: str) -> None:
    encoder, decoder = made(norm=norm)
    memory = encoder(SOURCE)
    previous, following, lengths = shifted(TARGET)
    count = previous.shape[1]
    angles = torch.arange(count)[:, None] / 10000 ** (torch.arange(0, 8, 2) / 8)
    positions = torch.stack([angles.sin(), angles.cos()], -1).flatten(1).double()
    x = nn.functional.embedding(previous, decoder.embedding.weight) * math.sqrt(8) + positions
    causal = nn.Transformer.generate_square_subsequent_mask(count, dtype=torch.float64)
    for layer in decoder.layers:
        x = as_torch(layer, norm)(x, memory.values, tgt_mask=causal, memory_key_padding_mask=~memory.mask)
    logits = decoder.output(x if decoder.norm is None else decoder.norm(x))
    expected = nn.functional.cross_entropy(logits.transpose(1, 2), following, reduction="none")
    real = torch.arange(count) < lengths[:, None]
    loss = decoder.loss({"source": memory}, TARGET)
    torch.testing.assert_close(loss.total, expected[real].sum(), atol=1e-6, rtol=1e-6)
    assert int(loss.count) == int(lengths.sum())


@pytest.mark.parametrize(("sources", "distances"), [(1, None), (2, None), (1, 2)])
def test_steps_with_kept_keys_equal_teacher_forcing(sources: int, distances: int | None) -> None:
    encoder, decoder = made(sources=sources, distances=distances)
    memories = {"source": encoder(SOURCE), "other": encoder(TARGET)}
    memories = {name: memories[name] for name in decoder.names}
    found = score(Stepper(decoder, memories), TARGET)
    torch.testing.assert_close(-found.scores.sum(), decoder.loss(memories, TARGET).total)
    looked = sum(found.attention[name].sum(-1) for name in decoder.names)
    for row, length in enumerate((TARGET.lengths + 1).tolist()):
        torch.testing.assert_close(looked[row, 0, :length], torch.ones(length, dtype=torch.float64))


def test_beam_search_reorders_what_was_written() -> None:
    encoder, decoder = made()
    memories = {"source": encoder(SOURCE)}
    found = decoder.predict(memories, Beam(size=3, best=3, length_penalty=0.0, limits=Limits(maximum=5)))
    for rank in range(3):
        for row in range(3):
            ids = found.content(row, rank)
            previous = torch.tensor([[BEGIN, *ids]])
            one = {"source": memories["source"].select(torch.tensor([row]))}
            logs = torch.log_softmax(decoder.output(decoder.states(one, previous)), -1)[0]
            words = torch.tensor([*ids, 3])[: int(found.lengths[row, rank])]
            total = logs[torch.arange(len(words)), words].sum()
            torch.testing.assert_close(found.scores[row, rank], total, atol=1e-6, rtol=1e-6)


def test_a_tied_output_is_the_embedding_and_all_weights_learn() -> None:
    encoder, decoder = made(tied=True, sources=2)
    assert decoder.output.weight is decoder.embedding.weight
    memories = {"source": encoder(SOURCE), "other": encoder(SOURCE)}
    decoder.loss(memories, TARGET).total.backward()
    assert [name for name, one in decoder.named_parameters() if one.grad is None] == []


SPEC: dict[str, Any] = {
    "inputs": {"source": {"type": "text", "unit": "char"}},
    "outputs": {"target": {"type": "text", "unit": "char"}},
    "encoder": {"type": "transformer", "size": 16, "embedding": 16, "heads": 2, "layers": 2},
    "decoder": {"type": "transformer", "size": 16, "embedding": 16, "heads": 2, "layers": 2},
}


def small(*changes: str) -> Model:
    torch.manual_seed(0)
    spec = Spec.parse(SPEC, changes)
    columns = make_columns(spec)
    rows = [
        Row({"source": word, "target": word[::-1]}, file="words", line=1) for word in ("abc", "cab", "bb")
    ]
    fit_columns(columns, spec, lambda: rows)
    return Model.build(spec, columns).eval()


def test_a_trace_shows_every_head_of_every_layer() -> None:
    trace = small("search.max_length=4").predict("abca").trace
    assert trace is not None
    assert list(trace.heads) == [
        "source: encoder layer 1",
        "source: encoder layer 2",
        "decoder layer 1 over the output so far",
        "decoder layer 1 over source",
        "decoder layer 2 over the output so far",
        "decoder layer 2 over source",
    ]
    last = trace.heads["decoder layer 2 over source"]
    assert last.weights.shape == (2, len(trace.output), 4) and list(last.keys) == list("abca")
    torch.testing.assert_close(
        torch.tensor(last.weights.mean(0)), torch.tensor(trace.attention["source"]), atol=1e-5, rtol=1e-4
    )
    before = trace.heads["decoder layer 1 over the output so far"].weights
    assert (before[:, 0, 1:] == 0).all()  # no attention to future words


def test_attention_can_be_overridden() -> None:
    model = small("search.max_length=3")
    trace = model.predict("abca", look="2-0").trace
    assert trace is not None and trace.attention["source"][0].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert trace.overridden == ("source",)


def test_greedy_is_a_beam_of_one_and_specs_are_checked() -> None:
    encoder, decoder = made()
    memories = {"source": encoder(SOURCE)}
    greedy = decoder.predict(memories, Greedy(Limits(maximum=6)))
    beam = decoder.predict(memories, Beam(size=1, limits=Limits(maximum=6)))
    assert torch.equal(greedy.tokens, beam.tokens)
    with pytest.raises(RegardError, match="tied output weights need embeddings of the decoder's size"):
        small("decoder.tie=output", "decoder.embedding=12")
