"""The recurrent decoder: loss, scoring and search all take the same step."""

from __future__ import annotations

import itertools

import pytest
import torch

from regard.data.batch import BEGIN, END, Tokens
from regard.errors import RegardError
from regard.nn import Attention, Embedding, GRUCell, MeanEncoder, RecurrentDecoder, RNNCell, TextObjective
from regard.nn.decoders.step_by_step import ScheduledSamplingOptions
from regard.nn.packing import Packing, shifted
from regard.nn.search import Greedy, Limits, Stepper, score

from .conftest import SOURCE, TARGET, VOCABULARY, model, tokens

CONDITIONS = [
    combination
    for count in (1, 2, 3)
    for combination in itertools.combinations(("start", "every-step", "attention"), count)
]


def stepped_log_probabilities(encoder, decoder, source, target, truth=None):
    """log p of each row's target by the chain rule, one word at a time through `step`."""
    memories = {"source": encoder(source)}
    state = decoder.start(memories, truth=truth)
    rows = len(target.ids)
    previous, totals = torch.full((rows, 1), BEGIN), torch.zeros(rows, dtype=memories["source"].values.dtype)
    for t in range(target.ids.shape[1] + 1):
        step = decoder.step(previous, state, memories)
        state = step.state
        ids = torch.cat([target.ids, torch.zeros(rows, 1, dtype=torch.int64)], 1)[:, t]
        ids = torch.where(t == target.lengths, END, ids)
        logs = torch.log_softmax(step.logits[:, 0], -1).gather(1, ids[:, None])[:, 0]
        totals = totals + torch.where(t <= target.lengths, logs, 0)
        previous = ids[:, None]
    return totals


@pytest.mark.parametrize("condition", CONDITIONS, ids="+".join)
@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("looking", ["previous", "current"])
def test_stepping_equals_teacher_forcing(condition, cell, looking):
    encoder, decoder = model(condition=condition, cell=cell, state=looking)
    loss = decoder.loss({"source": encoder(SOURCE)}, TARGET)
    stepped = stepped_log_probabilities(encoder, decoder, SOURCE, TARGET)
    assert loss.count == (TARGET.lengths + 1).sum()
    torch.testing.assert_close(loss.total, -stepped.sum(), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"layers": 2},
        {"layers": 3, "residual": True},
        {"deep": True},
        {"deep": True, "state": "current"},
        {"tied": True},
        {"tied": True, "state": "current"},
        {"cell": GRUCell.Options(update="cho")},
        {"cell": RNNCell.Options(activation="relu")},
        {"score": "general"},
        {"score": "linear"},
        {"score": "dot", "size": 8},
        {"score": "scaled-dot", "size": 8},
        {"score": "location"},
        {"score": "location", "cell": "lstm", "layers": 2},
        {"score": "location", "state": "current"},
        {"score": "location", "state": "current", "feed": False},
        {"select": "uniform"},
        {"select": "sigmoid"},
        {"select": "local"},
        {"select": "sigmoid", "state": "current"},
        {"state": "current", "feed": False},
        {"state": "current", "feed": False, "cell": "lstm", "layers": 2, "residual": True},
        {"state": "current", "feed": False, "select": "local", "deep": True},
        {"state": "current", "feed": False, "condition": ["every-step", "attention"], "cell": "rnn"},
        {"condition": ["start", "every-step"], "cell": "lstm", "layers": 2},
        {"bridge": "linear"},
        {"gated": ["source"]},
        {"gated": ["source"], "state": "current", "select": "sigmoid"},
        {"condition": ["first-input"]},
        {"condition": ["start", "first-input", "every-step"], "cell": "lstm", "layers": 2},
        {"condition": ["output"]},
        {"condition": ["gate"], "tied": True},
        {"condition": ["start", "output", "gate"], "deep": True},
        {"condition": ["output", "gate", "attention"]},
        {"condition": ["output", "gate", "attention"], "state": "current"},
        {"condition": ["output", "gate", "attention"], "state": "current", "feed": False},
        {"bridge": "copy", "size": 8},
        {"bridge": "copy", "size": 8, "cell": "lstm", "encoder_options": {"cell": "lstm"}},
        {"bridge": "copy", "size": 8, "encoder_options": {"cell": "lstm"}, "condition": ["start"]},
    ],
    ids=str,
)
def test_stepping_equals_teacher_forcing_with(options):
    encoder, decoder = model(**options)
    loss = decoder.loss({"source": encoder(SOURCE)}, TARGET)
    stepped = stepped_log_probabilities(encoder, decoder, SOURCE, TARGET)
    torch.testing.assert_close(loss.total, -stepped.sum(), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("condition", ["first-input", "output", "gate"])
def test_ways_of_conditioning_against_torch(condition):
    """p(y_t) of the first row by torch.nn.GRU: read before the words, merged at the output, or as a gate."""
    encoder, decoder = model(condition=(condition,), dtype=torch.float64)
    memory, cell = encoder(SOURCE), decoder.stack.cells[0]
    run = torch.nn.GRU(5, 6, batch_first=True).double()
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        setattr(run, f"{name}_l0", torch.nn.Parameter(getattr(cell, name).detach()))
    seen, words = memory.summary[0], torch.tensor([BEGIN, 5, 6])
    read = decoder.embedding(words)
    if condition == "first-input":
        read = torch.cat([(decoder.before.weight @ seen + decoder.before.bias)[None], read])
    states = run(read[None], decoder.first[None, None])[0][0, -len(words) :]
    if condition == "output":
        said = torch.cat([states, seen.expand(len(words), -1)], -1)
        states = torch.tanh(said @ decoder.combine.weight.T + decoder.combine.bias)
    if condition == "gate":
        states = torch.sigmoid(decoder.gate.weight @ seen + decoder.gate.bias) * states
    logits = states @ decoder.output.weight.T + decoder.output.bias
    found = decoder.distribution({"source": memory}, TARGET)
    rows = Packing.of(TARGET.lengths + 1, 5).rows()
    torch.testing.assert_close(found[rows == 0], torch.softmax(logits, -1))


def torch_states(encoder):
    """The last hidden and cell states of torch.nn.LSTM with the encoder's weights, (layers, B, …) each."""
    both, layers = len(encoder.layers[0].cells) == 2, len(encoder.layers)
    run = torch.nn.LSTM(5, 4, layers, batch_first=True, bidirectional=both).double()
    for index, layer in enumerate(encoder.layers):
        for cell, back in zip(layer.cells, ("", "_reverse"), strict=False):
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                setattr(run, f"{name}_l{index}{back}", torch.nn.Parameter(getattr(cell, name).detach()))
    found = []
    for row, length in zip(SOURCE.ids, SOURCE.lengths, strict=True):
        words = row[:length].flip(0) if encoder.layers[0].backward else row[:length]
        _, last = run(encoder.embedding(words)[None])
        found.append([one[:, 0].unflatten(0, (layers, -1)).flatten(1) for one in last])
    return (torch.stack(one, 1) for one in zip(*found, strict=True))


@pytest.mark.parametrize(
    ("both", "backward", "size"), [(True, False, 8), (False, False, 4), (False, True, 4)]
)
def test_a_decoder_may_begin_with_what_the_encoder_ends_with(both, backward, size):
    """s_0 = h_T, layer by layer, and c_0 = c_T of an LSTM, against torch.nn.LSTM (Sutskever 2014)."""
    reading = {"bidirectional": both, "direction": "backward" if backward else "forward", "first": "zero"}
    encoder, decoder = model(
        cell="lstm",
        layers=2,
        size=size,
        bridge="copy",
        condition=("start",),
        dtype=torch.float64,
        encoder_options={"cell": "lstm", "layers": 2, **reading},
    )
    for layer in encoder.layers:
        torch.nn.init.zeros_(layer.first)
    states, carried = torch_states(encoder)
    found = torch.stack([layer[:, 0] for layer in decoder.start({"source": encoder(SOURCE)}).layers])
    torch.testing.assert_close(found, torch.cat([states, carried], -1))
    assert not [name for name, _ in decoder.named_parameters() if "bridge" in name or name == "first"]


def test_a_linear_bridge_is_not_squashed():
    encoder, decoder = model(bridge="linear", dtype=torch.float64)
    memory = encoder(SOURCE)
    found = decoder.start({"source": memory}).layers[0][:, 0]
    expected = memory.summary @ decoder.bridge.weight.T + decoder.bridge.bias
    torch.testing.assert_close(found, expected)
    assert found.abs().max() > 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": 6}, "size 8, the decoder 6"),
        ({"size": 8, "layers": 2}, "the encoder has 1 layers, the decoder 2"),
        ({"size": 8, "cell": "lstm"}, "the state of the encoder has 1 vector, that of the decoder 2"),
    ],
)
def test_states_that_do_not_fit_are_not_copied(options, words):
    with pytest.raises(RegardError, match=words) as refused:
        model(bridge="copy", **options)
    assert refused.value.where == "decoder.bridge"


@pytest.mark.parametrize("looking", ["previous", "current"])
@pytest.mark.parametrize("condition", CONDITIONS, ids="+".join)
def test_padding_changes_nothing(condition, looking):
    encoder, decoder = model(condition=condition, state=looking)
    plain = decoder.loss({"source": encoder(SOURCE)}, TARGET)
    width = SOURCE.ids.shape[1] + 3
    wide_source = Tokens(torch.nn.functional.pad(SOURCE.ids, (0, 3)), SOURCE.lengths)
    wide_target = Tokens(torch.nn.functional.pad(TARGET.ids, (0, 2)), TARGET.lengths)
    assert wide_source.ids.shape[1] == width
    padded = decoder.loss({"source": encoder(wide_source)}, wide_target)
    torch.testing.assert_close(plain.total, padded.total, atol=1e-6, rtol=1e-6)
    assert plain.count == padded.count


def test_rows_do_not_see_each_other():
    encoder, decoder = model()
    together = decoder.loss({"source": encoder(SOURCE)}, TARGET).total
    alone = torch.stack(
        [
            decoder.loss(
                {"source": encoder(tokens(SOURCE.ids[row, : SOURCE.lengths[row]].tolist()))},
                tokens(TARGET.ids[row, : TARGET.lengths[row]].tolist()),
            ).total
            for row in range(3)
        ]
    ).sum()
    torch.testing.assert_close(together, alone, atol=1e-6, rtol=1e-6)


def test_hypotheses_are_queries_of_one_memory():
    encoder, decoder = model(state="current")
    memories = {"source": encoder(SOURCE)}
    state = decoder.start(memories).reorder(torch.zeros(3, 2, dtype=torch.int64))
    words = torch.tensor([[4, 5], [6, 7], [8, 9]])
    both = decoder.step(words, state, memories)
    for k in range(2):
        one = decoder.step(words[:, k : k + 1], decoder.start(memories), memories)
        torch.testing.assert_close(both.logits[:, k : k + 1], one.logits, atol=1e-6, rtol=1e-6)
        torch.testing.assert_close(both.looks["source"][:, k : k + 1], one.looks["source"])


def test_without_start_the_first_state_is_learned():
    encoder, decoder = model(condition=("attention",))
    decoder.loss({"source": encoder(SOURCE)}, TARGET).total.backward()
    assert decoder.first.grad.abs().max() > 0
    assert all(layer.first.grad.abs().max() > 0 for layer in encoder.layers)


def test_tied_embeddings_are_one_tensor():
    encoder, decoder = model(tied=True, size=7)
    assert decoder.output.weight is decoder.embedding.weight
    assert sum(parameter is decoder.embedding.weight for parameter in decoder.parameters()) == 1
    decoder.loss({"source": encoder(SOURCE)}, TARGET).total.backward()
    assert (
        decoder.embedding.weight.grad[3].abs().max() > 0
    )  # END is never an input, so this gradient is from the output


def test_embedding_shared_with_the_source():
    embedding = Embedding(VOCABULARY, 5)
    encoder = MeanEncoder(embedding)
    decoder = RecurrentDecoder(embedding, {"source": encoder}, size=6, condition=("start",), tied=True)
    assert encoder.embedding.weight is decoder.output.weight


def test_no_sampling_is_teacher_forcing_and_full_sampling_is_not():
    encoder, decoder = model(deep=True, sampling=ScheduledSamplingOptions(share=1.0, steps=2))
    memories = {"source": encoder(SOURCE)}
    forced = decoder.loss(memories, TARGET).total  # the share rises from 0 at this step
    assert int(decoder.seen) == 1
    decoder.seen.fill_(2)
    assert not torch.allclose(decoder.loss(memories, TARGET).total, forced)
    decoder.eval()
    torch.testing.assert_close(decoder.loss(memories, TARGET).total, forced)


def test_sampling_from_nan_leaves_nan_in_the_loss():
    encoder, decoder = model(deep=True, sampling=ScheduledSamplingOptions(share=1.0, steps=1))
    decoder.seen.fill_(2)
    with torch.no_grad():
        decoder.output.bias[3] = torch.nan
    assert decoder.loss({"source": encoder(SOURCE)}, TARGET).total.isnan()


def test_label_smoothing_against_torch():
    encoder, decoder = model(objective=TextObjective(smoothing=0.1))
    memories = {"source": encoder(SOURCE)}
    previous, following, lengths = shifted(TARGET)
    packing = Packing.of(lengths, 5)
    logits = decoder.output(decoder.unroll(memories, previous, packing).readouts)
    answers = packing.pack(following)
    expected = torch.nn.functional.cross_entropy(logits, answers, label_smoothing=0.1, reduction="sum")
    plain = torch.nn.functional.cross_entropy(logits, answers, reduction="sum")
    loss = decoder.loss(memories, TARGET)
    torch.testing.assert_close(loss.total, expected)
    torch.testing.assert_close(loss.parts["likelihood"], plain)
    with torch.no_grad():
        torch.testing.assert_close(decoder.loss(memories, TARGET).total, expected)


def test_guide_pulls_the_selection_towards_the_truth():
    encoder, decoder = model(objective=TextObjective(guide={"source": 0.5}))
    truth = torch.zeros(3, 4, 5)
    truth[:, 0, 0] = 1
    truth[1, 1, 1] = 1
    memories = {"source": encoder(SOURCE)}
    loss = decoder.loss(memories, TARGET, truth=truth)
    previous, _, lengths = shifted(TARGET)
    packing = Packing.of(lengths, 5)
    weights = packing.unpack(decoder.unroll(memories, previous, packing).looks["source"])
    expected = -(weights[:, 0, 0].log().sum() + weights[1, 1, 1].log())
    torch.testing.assert_close(loss.parts["guide"], expected)
    torch.testing.assert_close(loss.total, loss.parts["likelihood"] + 0.5 * expected)


def test_oracle_looks_where_it_is_told():
    encoder, decoder = model(select="oracle")
    truth = torch.zeros(3, 4, 5)
    truth[0, 0, 2] = 1
    truth[0, 1, 4] = 1
    truth[1, 0, :2] = 0.5
    memories = {"source": encoder(SOURCE)}
    stepped = stepped_log_probabilities(encoder, decoder, SOURCE, TARGET, truth)
    torch.testing.assert_close(
        decoder.loss(memories, TARGET, truth=truth).total, -stepped.sum(), atol=1e-6, rtol=1e-6
    )
    found = score(Stepper(decoder, memories, truth=truth), TARGET)
    torch.testing.assert_close(found.attention["source"][0, 0, :3], truth[0, :3])
    with pytest.raises(RegardError, match="true alignment"):
        decoder.loss(memories, TARGET)


def test_two_memories_by_name():
    torch.manual_seed(3)
    first, second = MeanEncoder(Embedding(VOCABULARY, 5)), MeanEncoder(Embedding(VOCABULARY, 7))
    attention = {"left": Attention(6, 5), "right": Attention(6, 7, score="general")}
    decoder = RecurrentDecoder(
        Embedding(VOCABULARY, 4),
        {"left": first, "right": second},
        size=6,
        attention=attention,
        state="current",
    )
    memories = {"left": first(SOURCE), "right": second(TARGET)}
    target = tokens([4, 5], [6], [7, 8])
    loss = decoder.loss(memories, target)
    loss.total.backward()
    assert second.embedding.weight.grad.abs().max() > 0
    found = decoder.predict(memories, Greedy(Limits(maximum=3)))
    assert found.attention["left"].shape[-1] == 5 and found.attention["right"].shape[-1] == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"condition": ("end",)}, "any combination"),
        ({"state": "sideways"}, "state must be 'previous' or 'current'"),
        ({"cell": "gruu"}, "no cell 'gruu'. Did you mean gru"),
        ({"score": "dot"}, "one size"),
        ({"score": "cosine"}, "no score"),
        ({"select": "harder"}, "no selection"),
    ],
)
def test_mistakes_are_named(options, message):
    with pytest.raises(RegardError, match=message):
        model(**options)
