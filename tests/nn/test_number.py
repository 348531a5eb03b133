"""The number decoder against torch's Gaussian, and its parts by hand."""

from __future__ import annotations

import torch

from regard.metrics import RMSE, AbsoluteError
from regard.nn import Attention, Embedding, MeanEncoder, NumberDecoder

from .conftest import SOURCE, VOCABULARY


def test_the_loss_is_that_of_a_gaussian() -> None:
    torch.manual_seed(0)
    encoder = MeanEncoder(Embedding(VOCABULARY, 5)).double()
    decoder = NumberDecoder({"source": encoder}, mean=3.0, spread=2.0).double()
    with torch.no_grad():
        decoder.log_deviation.fill_(0.3)
    memory = encoder(SOURCE)
    target = torch.arange(len(memory.summary), dtype=torch.float64)
    loss = decoder.loss({"source": memory}, target)
    means = 3 + 2 * (memory.summary @ decoder.output.weight[0] + decoder.output.bias)
    expected = torch.nn.functional.gaussian_nll_loss(
        means,
        target,
        torch.full_like(means, (2 * torch.tensor(0.3).exp()).item() ** 2),
        full=True,
        reduction="sum",
    )
    torch.testing.assert_close(loss.total, expected, atol=1e-6, rtol=1e-6)
    assert int(loss.count) == len(target) == int(decoder.count(target))
    found = decoder.predict({"source": memory})
    torch.testing.assert_close(found.value, means.detach())
    scored = decoder.score({"source": memory}, target)
    torch.testing.assert_close(-scored.scores.sum(), loss.total.detach())


def test_glimpses_are_looks() -> None:
    torch.manual_seed(0)
    encoder = MeanEncoder(Embedding(VOCABULARY, 5))
    attention = {"source": Attention(5, encoder.value_size)}
    decoder = NumberDecoder({"source": encoder}, attention=attention, glimpses=2)
    looks = decoder.predict({"source": encoder(SOURCE)}).attention["source"]
    torch.testing.assert_close(looks.sum(-1), torch.ones(looks.shape[:2]))
    assert looks.shape[1] == 2 and decoder.output.in_features == 2 * encoder.value_size


def test_errors_by_hand() -> None:
    assert AbsoluteError()([1.0, 2.0, 5.0], [1.5, 2.0, 2.0]).value == (0.5 + 0 + 3) / 3
    assert RMSE()([1.0, 5.0], [[4.0, 9.0], [1.0]]).value == ((9 + 16) / 2) ** 0.5
