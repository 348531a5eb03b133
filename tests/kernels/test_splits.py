"""Rows divided among threads give the same numbers as the plain code, for any division."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from regard.fast.cpu import attentive, cost, recurrence
from regard.fast.paths.encoder_cpu import LayerOnCPU
from regard.nn.packing import Packing
from regard.nn.recurrence import RecurrentLayer


@pytest.fixture
def divided(monkeypatch):
    """Yields three times: rows are divided into 1, 2 and 3 parts, however few there are, on two threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)

    def ways():
        for parts in (1, 2, 3):
            for module in (attentive, cost, recurrence):
                monkeypatch.setattr(module, "shares", lambda rows, parts=parts: parts)
            yield parts

    yield ways
    torch.set_num_threads(before)


@pytest.fixture
def counts(thorough):
    """1 to 70 rows, or those around the widths of vectors and blocks."""
    return range(1, 71) if thorough else (1, 2, 3, 4, 5, 7, 9, 15, 17, 33, 65, 70)


def close(fast, plain):
    for mine, theirs in zip(fast, plain, strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            scale = max(1.0, float(theirs.abs().max()))
            torch.testing.assert_close(mine / scale, theirs / scale, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"state": "current"},
        {"select": "segments"},
        {"cell": "lstm", "layers": 2, "score": "location", "state": "current"},
    ],
    ids=str,
)
def test_a_decoder_of_1_to_70_rows(taught, divided, options, counts):
    def found(case, *, plain):
        loss, looks = case.loss(plain=plain)
        total = loss + (looks * torch.arange(looks.shape[1])).sum()
        gradients = torch.autograd.grad(total, list(case.decoder.parameters()), allow_unused=True)
        return [loss.detach(), looks.detach(), *gradients]

    for rows in counts:
        case = taught(rows, **options)
        expected = found(case, plain=True)
        for _ in divided():
            close(found(case, plain=False), expected)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_layer_of_1_to_70_rows(divided, cell, counts):
    torch.manual_seed(0)
    layer = RecurrentLayer(5, 4, cell=cell)

    def found(run, inputs, packing):
        outputs, last = run(inputs, packing)
        gradients = torch.autograd.grad(outputs.square().sum() + last.sum(), list(layer.parameters()))
        return [outputs.detach(), last.detach(), *gradients]

    for rows in counts:
        packing = Packing.of(torch.randint(1, 6, (rows,)), 5)
        inputs = packing.pack(torch.randn(rows, 5, 5))
        expected = found(layer.by_torch, inputs, packing)
        for _ in divided():
            close(found(partial(LayerOnCPU().run, layer), inputs, packing), expected)


@pytest.mark.parametrize("options", [{}, {"cell": "lstm", "layers": 2, "score": "location"}], ids=str)
def test_a_step_of_a_search_of_1_to_70_rows(taught, divided, options, counts):
    def found(case, words, *, gradient):
        """With a gradient, the plain path is taken."""
        with torch.set_grad_enabled(gradient):
            state = case.decoder.start({"source": case.memory})
            assert (state.constants.prepared is None) == gradient
            after = case.decoder.step(words, state, {"source": case.memory})
            return [after.logits.detach(), after.looks["source"].detach()]

    for rows in counts:
        case, words = taught(rows, **options), torch.randint(4, 11, (rows, 1))
        expected = found(case, words, gradient=True)
        for _ in divided():
            close(found(case, words, gradient=False), expected)
