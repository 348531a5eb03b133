"""Rows divided among threads in any way give the numbers of the plain code."""

from __future__ import annotations

import pytest
import torch

from regard.kernels.cpu import attentive, cost, recurrence, step
from regard.nn.encoders.layer import RecurrentLayer
from regard.nn.packing import Packing


@pytest.fixture(params=[1, 2, 3])
def parts(request, monkeypatch):
    """However few rows there are, and in two threads."""
    for module in (attentive, cost, recurrence, step):
        monkeypatch.setattr(module, "shares", lambda rows: request.param)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield request.param
    torch.set_num_threads(before)


def counts(options):
    """1 to 70 rows of the plain decoder; of others those around the widths of vectors and blocks."""
    return range(1, 71) if not options else (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 69, 70)


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
def test_a_decoder_of_1_to_70_rows(taught, parts, options):
    for rows in counts(options):
        case, results = taught(rows, **options), []
        for plain in (False, True):
            loss, looks = case.loss(plain=plain)
            total = loss + (looks * torch.arange(looks.shape[1])).sum()
            found = torch.autograd.grad(total, list(case.decoder.parameters()), allow_unused=True)
            results.append([loss.detach(), looks.detach(), *found])
        close(*results)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_layer_of_1_to_70_rows(parts, cell):
    torch.manual_seed(0)
    layer = RecurrentLayer(5, 4, cell=cell)
    for rows in range(1, 71):
        packing = Packing.of(torch.randint(1, 6, (rows,)), 5)
        inputs, results = packing.pack(torch.randn(rows, 5, 5)), []
        for run in (layer.by_kernels, layer.by_torch):
            outputs, last = run(inputs, packing)
            found = torch.autograd.grad(outputs.square().sum() + last.sum(), list(layer.parameters()))
            results.append([outputs.detach(), last.detach(), *found])
        close(*results)


@pytest.mark.parametrize("options", [{}, {"cell": "lstm", "layers": 2, "score": "location"}], ids=str)
def test_a_step_of_a_search_of_1_to_70_rows(taught, parts, options):
    for rows in counts(options):
        case, results = taught(rows, **options), []
        words = torch.randint(4, 11, (rows, 1))
        for gradient in (False, True):  # the plain way is taken where a gradient is wanted
            with torch.set_grad_enabled(gradient):
                state = case.decoder.start({"source": case.memory})
                assert (state.constants.prepared is None) == gradient
                found = case.decoder.step(words, state, {"source": case.memory})
                results.append([found.logits.detach(), found.looks["source"].detach()])
        close(*results)
