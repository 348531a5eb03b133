"""The CTC decoder against torch's loss, all paths of small cases, and what it says of texts that do not fit."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from regard.data.batch import BEGIN, END, PAD, Tokens
from regard.data.columns.text import TextColumn
from regard.errors import RegardError
from regard.nn.decoders import BatchView, CTCDecoder
from regard.nn.imposed import Imposed
from regard.nn.memory import Memory
from regard.nn.search.prefixes import prefix_beam
from regard.spec import Spec

UNITS = 7


def made(**options: Any) -> CTCDecoder:
    torch.manual_seed(2)
    return CTCDecoder(UNITS, {"x": SimpleNamespace(value_size=3, summary_size=3)}, **options).double().eval()


def memory(*lengths: int) -> dict[str, Memory]:
    longest = max(lengths)
    values = torch.randn(
        len(lengths), longest, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3)
    )
    mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
    return {"x": Memory(3 * values, mask, values[:, 0])}


def tokens(*texts: list[int]) -> Tokens:
    longest = max(map(len, texts))
    ids = torch.tensor([[*text, *[PAD] * (longest - len(text))] for text in texts])
    return Tokens(ids, torch.tensor([len(text) for text in texts]))


def collapsed(path: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(unit for unit, _ in itertools.groupby(path) if unit != PAD)


def all_texts(logs: np.ndarray) -> Counter[tuple[int, ...]]:
    """p of every text, from all paths."""
    found: Counter[tuple[int, ...]] = Counter()
    for path in itertools.product(range(logs.shape[1]), repeat=len(logs)):
        found[collapsed(path)] += math.exp(sum(logs[n, unit] for n, unit in enumerate(path)))
    return found


@pytest.mark.parametrize("upsample", [1, 2])
def test_the_loss_is_that_of_torch(upsample: int) -> None:
    decoder, memories, target = made(upsample=upsample), memory(9, 6), tokens([4, 4, 5, 6], [5, 1])
    loss = decoder.loss(memories, target)
    logits = decoder.output(memories["x"].values).view(2, 9 * upsample, UNITS)
    logits = logits.masked_fill(torch.tensor([n in (BEGIN, END) for n in range(UNITS)]), -1e9)
    theirs = torch.nn.functional.ctc_loss(
        logits.log_softmax(-1).transpose(0, 1),
        target.ids,
        torch.tensor([9, 6]) * upsample,
        target.lengths,
        reduction="sum",
    )
    torch.testing.assert_close(loss.total, theirs, rtol=1e-9, atol=1e-9)
    assert loss.count == 6
    mine = torch.autograd.grad(loss.total, decoder.output.weight)[0]
    torch.testing.assert_close(mine, torch.autograd.grad(theirs, decoder.output.weight)[0])


@pytest.mark.parametrize("seed", range(6))
def test_a_wide_prefix_beam_finds_the_best_of_all_texts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logs = 2.0 * rng.normal(size=(5, 3))
    logs -= np.log(np.exp(logs).sum(-1, keepdims=True))
    truth = all_texts(logs)
    found = prefix_beam(logs, len(truth))
    assert [text for text, _ in found] == [text for text, _ in truth.most_common()]
    np.testing.assert_allclose([math.exp(score) for _, score in found], [truth[text] for text, _ in found])


def test_the_most_probable_text_is_not_that_of_the_best_path() -> None:
    """Each frame is most probably blank, yet "1" is more probable than nothing (Graves 2006)."""
    logs = np.log(np.array([[0.6, 0.4], [0.6, 0.4]]))
    ((text, score), *_) = prefix_beam(logs, 4)
    assert text == (1,) and math.isclose(math.exp(score), 0.64)


def test_a_narrow_beam_never_claims_more_than_the_text_has() -> None:
    rng = np.random.default_rng(8)
    logs = rng.normal(size=(6, 3))
    logs -= np.log(np.exp(logs).sum(-1, keepdims=True))
    truth = all_texts(logs)
    for size in (1, 2, 3):
        for text, score in prefix_beam(logs, size):
            assert math.exp(score) <= truth[text] + 1e-12


@pytest.mark.parametrize("beam", [1, 50])
def test_the_written_text_and_its_score(beam: int) -> None:
    decoder, memories = made(beam=beam), memory(4, 2)
    found = decoder.predict(memories)
    logs = decoder(memories).detach().numpy()
    for row, frames in enumerate((4, 2)):
        truth = all_texts(logs[row, :frames])
        text = tuple(found.ids[row, : found.lengths[row]].tolist())
        best = collapsed(tuple(logs[row, :frames].argmax(-1).tolist()))
        assert text == (best if beam == 1 else truth.most_common(1)[0][0])
        assert math.isclose(math.exp(float(found.scores[row])), truth[text], rel_tol=1e-9)


def test_the_trace_holds_the_alignment() -> None:
    """Marginals of frames by units, from all paths; the attention of a unit is its share of them."""
    column = TextColumn("y", unit="char")
    column.learn(["abc"])
    decoder, memories, target = made(), memory(4, 3), tokens([4, 5], [6])
    found = decoder.score(memories, target)
    logs = decoder(memories).detach().numpy()[0]
    weights, paths = [], []
    for path in itertools.product(range(UNITS), repeat=4):
        if collapsed(path) == (4, 5):
            paths.append(path)
            weights.append(math.exp(sum(logs[n, unit] for n, unit in enumerate(path))))
    shares = np.array(weights) / sum(weights)
    truth = np.array(
        [[shares[[path[n] == unit for path in paths]].sum() for n in range(4)] for unit in (4, 5)]
    )
    view = BatchView({"x": [list("1234"), list("123")]}, {})
    answers = decoder.predictions(found, column, view)
    trace = answers[0].trace
    assert answers[0].text == "ab" and trace is not None and list(trace.output) == ["a", "b"]
    np.testing.assert_allclose(trace.attention["x"], truth / truth.sum(-1, keepdims=True), rtol=1e-9)
    shown = decoder.with_structures(answers, found, lambda: memories, samples=3, seed=1)[0].trace
    assert shown is not None
    segments: Any = shown.structures["x"]
    np.testing.assert_allclose(segments.weights, truth, rtol=1e-6)
    best = paths[int(shares.argmax())]
    assert segments.best.tolist() == [[int(best[n] == unit) for n in range(4)] for unit in (4, 5)]
    assert segments.samples.shape == (3, 2, 4)


def test_a_text_that_does_not_fit_is_named_with_the_remedy() -> None:
    decoder = made()
    decoder.loss(memory(3), tokens([4, 4]))
    with pytest.raises(RegardError, match=r"an output of 3 units needs 4 frames .* its input has 3") as error:
        decoder.loss(memory(3), tokens([4, 4, 5]))
    assert "upsample: 2" in str(error.value)
    assert decoder.score(memory(3), tokens([4, 4, 5])).scores[0] == -math.inf


def test_nothing_can_be_said() -> None:
    decoder = made()
    with torch.no_grad():
        decoder.output.bias[PAD] = 100.0
    found = decoder.predict(memory(4, 2))
    assert found.lengths.tolist() == [0, 0]
    column = TextColumn("y", unit="char")
    column.learn(["abc"])
    (first, _) = decoder.predictions(found, column, BatchView({"x": [list("1234"), list("12")]}, {}))
    assert first.text == "" and math.isclose(first.score, 0.0, abs_tol=1e-9)


def test_its_alignment_cannot_be_overridden() -> None:
    given = memory(3)["x"]
    told = replace(given, override=Imposed(torch.zeros(1, 1, 3)))
    with pytest.raises(RegardError, match="no attention to override"):
        made().predict({"x": told})


def test_it_reads_one_input() -> None:
    texts = {"inputs": {"a": {"type": "text"}, "b": {"type": "text"}}, "outputs": {"y": {"type": "text"}}}
    with pytest.raises(RegardError, match="a ctc decoder reads the positions of one input"):
        Spec.parse(texts | {"decoder": "ctc"})
    Spec.parse(texts | {"decoder": {"type": "ctc", "over": "a"}, "encoder": {"a": "recurrent", "b": "bag"}})
