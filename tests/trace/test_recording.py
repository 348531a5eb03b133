"""What is recorded beside the attention: gates and states by the equations of the cells, and what stays fast."""

import numpy as np
import pytest
import torch

from regard import Model, RegardError, Spec, Trace
from regard.nn.path import asking

WORDS = ["attention", "gate", "no", "look", "inside"]
END = 3


def made(encoder: dict, decoder: dict) -> Model:
    """An untrained model that writes the letters of a word in capitals."""
    torch.manual_seed(0)
    sizes = {"size": 6, "embedding": 5}
    if "condition" not in decoder:
        decoder = {"condition": ["start", "attention"], "attention": {}, **decoder}
    spec = Spec.model_validate(
        {
            "inputs": {"word": {"type": "text", "unit": "char"}},
            "outputs": {"loud": {"type": "text", "unit": "char"}},
            "encoder": {"type": "recurrent", **sizes, **encoder},
            "decoder": {"type": "recurrent", **sizes, **decoder},
            "data": {"train": ["none.tsv"]},
        }
    )
    return Model.build(spec, rows=[{"word": word, "loud": word.upper()} for word in WORDS]).eval()


def sigmoid(numbers):
    return 1 / (1 + np.exp(-numbers))


def by_hand(cell, inputs, first):
    """The gates and states of a GRU or an LSTM of torch, from its equations in numpy, step by step."""
    W, U, b, c = (one.detach().double().numpy() for one in cell.torch_weights())
    size, found = cell.size, []
    hidden, carry = first[:size], first[size:]
    for x in inputs:
        given, recurrent = np.split(W @ x + b, len(W) // size), np.split(U @ hidden + c, len(W) // size)
        if len(given) == 3:
            r, z = sigmoid(given[0] + recurrent[0]), sigmoid(given[1] + recurrent[1])
            n = np.tanh(given[2] + r * recurrent[2])
            hidden = (1 - z) * n + z * hidden
            found.append({"reset": r, "update": z, "candidate": n, "hidden": hidden})
        else:
            i, f, o = (sigmoid(given[k] + recurrent[k]) for k in (0, 1, 3))
            g = np.tanh(given[2] + recurrent[2])
            carry = f * carry + i * g
            hidden = o * np.tanh(carry)
            gates = {"input": i, "forget": f, "output": o, "candidate": g}
            found.append({**gates, "cell": carry, "hidden": hidden})
    return {name: np.stack([step[name] for step in found]) for name in found[0]}


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("reads", [{}, {"bidirectional": False, "direction": "backward"}])
def test_the_states_of_an_encoder_follow_the_equations(cell, reads):
    model = made({"cell": cell, **reads}, {"cell": cell})
    states = model.predict("attention", record="states:encoder").trace.states
    encoder = model.network.reader("word")
    ids = torch.as_tensor(np.asarray(model.columns["word"].encode("attention")).astype(np.int64))
    vectors = encoder.embedding.weight[ids].detach().double().numpy()
    (layer,) = encoder.layers
    for direction, one in enumerate(layer.each()):
        name = ("forward", "backward")[direction or int("direction" in reads)]
        turned = slice(None, None, -1 if name == "backward" else 1)
        expected = by_hand(one, vectors[turned], layer.first[direction].detach().double().numpy())
        for gate, rows in expected.items():
            assert np.abs(states[f"encoder.{name}.{gate}"] - rows[turned]).max() < 1e-6
    assert len(states) == len(expected) * len(layer.each())


@pytest.mark.parametrize("cell", ["gru", "lstm", "rnn", "mrnn", "jordan", "deep"])
def test_the_states_of_a_decoder_give_the_scores_of_its_answer(cell):
    """The output of the top cell at every step, through the output layer, is the probability of every piece."""
    model = made({"layers": 2}, {"cell": cell, "condition": ["start"], "layers": 2})
    answer = model.predict("gate", record="states", method="greedy", max_length=7)
    states, decoder = answer.trace.states, model.network.decoders["loud"]
    hidden = torch.as_tensor(states["decoder.2.output" if cell == "jordan" else "decoder.2.hidden"])
    logs = torch.log_softmax(decoder.output(hidden.float()), -1).detach()
    ids = [*map(int, model.columns["loud"].encode("".join(answer.trace.output[:-1]))), END]
    scores = [float(logs[step, number]) for step, number in enumerate(ids)]
    assert np.abs(np.array(scores) - answer.trace.scores).max() < 1e-6
    assert {name.split(".")[1] for name in states if name.startswith("encoder")} == {"1", "2"}


def test_recording_changes_no_number():
    model = made({"cell": "gru"}, {"cell": "lstm"})
    plain = model.predict(WORDS, n_best=3)
    recorded = model.predict(WORDS, n_best=3, record=("states", "beam", "times"))
    for one, other in zip(plain, recorded, strict=True):
        assert one.text == other.text and abs(one.score - other.score) < 1e-6
        assert np.abs(one.trace.attention["word"] - other.trace.attention["word"]).max() < 1e-6
        assert [text for text, _ in one.trace.hypotheses] == [text for text, _ in other.trace.hypotheses]
        assert not (one.trace.states or one.trace.beam or one.trace.times)
        tree = other.trace.beam
        best = next(node for node in tree if node.rank == 1)
        assert tree.prefix(best.number) == list(other.trace.output)
        for step, number in enumerate(tree.path(best.number)):
            row = tree.node(number).attention["word"]
            assert np.abs(row - other.trace.attention["word"][step]).max() < 1e-6
        assert set(other.trace.times) == {"encoder", "decoder", "trace", "states"}


def test_only_what_is_recorded_leaves_its_fast_path():
    """Paths are asked once for every layer; a watched cell is refused by all of them, the others are served."""
    model = made({"layers": 2, "cell": "lstm"}, {"cell": "gru"})
    asked = {}
    for record in ((), "states:encoder.2.forward", "states:decoder"):
        with asking() as seen:
            model.predict("attention", record=record, beam=2, max_length=5)
        asked[record] = seen
    layers = {record: [one for one in seen if one.call == "layer.run"] for record, seen in asked.items()}
    assert [len(one) for one in layers.values()] == [1, 2, 1]  # equal calls are kept once
    refused = {bool(one.serving("cpu")) for one in layers["states:encoder.2.forward"]}
    assert refused == {True, False}
    steps = {record: {bool(one.serving("cpu")) for one in seen if one.call == "decoder.step"}
             for record, seen in asked.items()}  # fmt: skip
    assert steps[()] == steps["states:encoder.2.forward"] == {True}
    assert steps["states:decoder"] == {True, False}


def test_one_step_and_one_gate_can_be_asked_for():
    model = made({}, {})
    every = model.predict("gate", record="states").trace.states
    some = model.predict(
        "gate", record=["states:encoder.forward.update@2", "states:decoder.reset"]
    ).trace.states
    assert set(some) == {"encoder.forward.update@2", "decoder.reset"}
    assert np.array_equal(some["encoder.forward.update@2"], every["encoder.forward.update"][2:3])


def test_the_heads_of_one_layer_can_be_asked_for():
    model = made({"type": "transformer", "layers": 2, "heads": 2}, {})
    every = model.predict("gate").trace.heads
    (name,) = (some := model.predict("gate", record="heads:encoder layer 2").trace.heads)
    assert name == "word: encoder layer 2" and set(every) == {"word: encoder layer 1", name}
    assert np.array_equal(some[name].weights, every[name].weights)
    assert model.predict("gate", record="states:decoder").trace.states


def test_given_outputs_have_states_too():
    model = made({}, {})
    answer = model.predict("gate", record="states", max_length=4)
    scored = model.score("gate", answer.text, record="states")
    for name, rows in answer.trace.states.items():
        if name.startswith("encoder"):
            assert np.abs(rows - scored.trace.states[name]).max() < 1e-6
    assert scored.trace.states["decoder.update"].shape == (len(scored.trace.output), 6)


@pytest.mark.parametrize(
    ("record", "message"),
    [("gates", "nothing to record"), ("beam:3", "nothing to record"), ("states:nobody", "no such gates"),
     ("states:decoder@x", "not the number of a step")],
)  # fmt: skip
def test_what_cannot_be_recorded_is_refused(record, message):
    with pytest.raises(RegardError, match=message):
        made({}, {}).predict("gate", record=record)
    with pytest.raises(RegardError, match="record works with a trace"):
        made({}, {}).predict("gate", record="states", trace=False)


def test_what_was_recorded_survives_a_file(tmp_path):
    trace = made({}, {}).predict("gate", record=("states", "beam", "times")).trace
    trace.save(tmp_path / "x.trace")
    assert Trace.load(tmp_path / "x.trace").to_dict() == trace.to_dict()
