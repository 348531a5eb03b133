"""Encoders that read what words add to the gates from a table: as without it, and with the weights of now."""

from __future__ import annotations

import pytest
import torch

from regard.fast.paths.encoder_cpu import WordsOnCPU
from regard.nn.path import only, without_fast_paths

from .conftest import model, tokens

ROWS = [[4, 5, 6, 7, 8], [9, 4], [10, 6, 4, 4], [5], [7, 7, 7, 9, 10, 4, 4], [8, 5, 6]]


@pytest.mark.parametrize("options", [{}, {"cell": "lstm", "layers": 2, "residual": True}], ids=str)
@torch.inference_mode()
def test_as_without_a_table(options) -> None:
    encoder = model(seed=5, encoder_options=options)[0].eval()
    given = tokens(*ROWS)
    assert WordsOnCPU().takes(encoder, given)
    for _ in range(3):  # the table is made once as many words were read as there are
        found = WordsOnCPU().run(encoder, given)
    assert found is not None
    with without_fast_paths():
        truth = encoder(given)
    torch.testing.assert_close(found.values, truth.values)
    torch.testing.assert_close(found.summary, truth.summary)
    encoder.embedding.weight.data[4] += 1.0  # no version counter notices
    with only(WordsOnCPU):
        changed = encoder(given)
    with without_fast_paths():
        truth = encoder(given)
    torch.testing.assert_close(changed.values, truth.values)
    assert not torch.allclose(changed.values, found.values)


def test_training_reads_no_table() -> None:
    encoder, given = model(seed=5)[0].eval(), tokens(*ROWS)
    assert not WordsOnCPU().takes(encoder, given)  # gradients are enabled
    with torch.no_grad():
        assert WordsOnCPU().takes(encoder, given)
        encoder.train()
        assert not WordsOnCPU().takes(encoder, given)
