"""A trace of segmental attention: best segmentation and samples of each step, from its scores."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from regard import Model
from regard.data import BEGIN
from regard.describe import answers
from regard.metrics import parse_links
from regard.trace.prediction import Prediction

from .small import build, rows, spec

SEGMENTS = {"score": "general", "select": "segments", "state": "current"}
TRUTH = {"alignment": {"type": "alignment"}}


def segmental(**parts) -> Model:
    model = build(spec(attention=SEGMENTS, **parts))
    select = model.network.decoders["target"].reading.attention("source").select
    with torch.no_grad():
        select.transitions.copy_(torch.tensor([[0.5, -0.7], [-0.2, 0.9]]))
    return model


def chain_of(model: Model, source: str, prefix: list[str]) -> np.ndarray:
    """p(z) of every labeling for the word after `prefix`, from the modules one by one."""
    decoder, column = model.network.decoders["target"], model.columns["target"]
    attention = decoder.reading.attention("source")
    batch = model.dataset([model.row(source)]).batch([0])
    memories = model.network.memories("target", model.network.encode(batch))
    state = decoder.start(memories)
    for token in [BEGIN, *column.encode(" ".join(prefix)).tolist()]:
        state = decoder.step(torch.tensor([[token]]), state, memories).state
    scores = attention.score(decoder.stack.top(state.layers), attention.keys(memories["source"]))[0, 0]
    b = attention.select.transitions
    logs = [
        sum(scores[i] for i, one in enumerate(z) if one) + sum(b[i, j] for i, j in itertools.pairwise(z))
        for z in itertools.product((0, 1), repeat=len(source))
    ]
    return torch.softmax(torch.tensor([float(log) for log in logs]), 0).numpy()


@torch.no_grad()
def test_the_trace_holds_the_best_segments_and_samples_of_every_step():
    model = segmental()
    found: Prediction = model.predict("abcd", samples=600, max_length=4)
    assert found.trace is not None
    seen = found.trace.structures["source"]
    labellings = np.array(list(itertools.product((0, 1), repeat=4)))
    assert len(found.trace.output) > 1
    for step in range(len(found.trace.output)):
        likely = chain_of(model, "abcd", list(found.trace.output[:step]))
        np.testing.assert_allclose(seen.weights[step], likely @ labellings, atol=1e-5)
        assert seen.best[step].tolist() == labellings[likely.argmax()].tolist()
        np.testing.assert_allclose(seen.samples[:, step].mean(0), likely @ labellings, atol=0.08)


def test_no_samples_unless_asked_for_and_nothing_for_other_selections():
    found = segmental().predict("abc")
    assert found.trace.structures["source"].samples is None
    again = Prediction.from_dict(found.to_dict()).trace.structures["source"]
    np.testing.assert_array_equal(again.best, found.trace.structures["source"].best)
    assert build(spec()).predict("abc").trace.structures == {}


def test_scoring_shows_the_true_segments_beside():
    model = segmental(truth=TRUTH)
    row = rows()[0]
    batch = model.dataset([row], ["target", "alignment"]).batch([0])
    (answer,) = model.score_batch(batch, "target", structures=True, samples=2)
    seen = answer.trace.structures["source"]
    links = parse_links(row["alignment"])
    assert {(s, t) for t, s in zip(*np.nonzero(seen.truth), strict=True)} == links
    assert seen.samples.shape == (2, *seen.weights.shape)


def test_a_label_decoder_shows_its_segments():
    model = build(
        spec(
            outputs={"topic": {"type": "label"}}, decoder={"type": "label"}, attention={"select": "segments"}
        )
    )
    seen = model.predict("abcd", samples=3).trace.structures["source"]
    assert seen.best.shape == (1, 4) and seen.samples.shape == (3, 1, 4)


def test_the_penalty_of_a_model_is_that_of_its_attention_and_the_board_shows_it():
    model = segmental()
    assert model.network.penalty().item() == pytest.approx(0.005 * (0.25 + 0.49 + 0.04 + 0.81))
    assert build(spec()).network.penalty() is None
    board = answers(model.spec)
    assert board["loss"][1].startswith("penalty = 0.005 (b_a[0, 0]² + b_a[0, 1]²")
    written = " ".join(board["decoder"])
    assert "b_a[z_j, z_{j+1}]" in written and "γ_t = Σ_j α_tj / 2" in written
    plain = answers(model.spec.changed("attention.select={type: sigmoid, normalize: 0}"))
    assert "γ" not in " ".join(plain["decoder"])
