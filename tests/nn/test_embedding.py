"""Embeddings of ids."""

from __future__ import annotations

import pytest
import torch

from regard.data.batch import PAD
from regard.nn.embedding import OfFew


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 0)])
def test_a_small_vocabulary_learns_what_a_large_one_learns(shape: tuple[int, ...]) -> None:
    """The gradient computed as one product equals torch's, which is zero for padding."""
    torch.manual_seed(0)
    vectors = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    ids = torch.randint(0, 6, shape)
    if ids.numel():
        ids.view(-1)[0] = PAD
    expected = torch.nn.functional.embedding(ids, vectors, padding_idx=PAD)
    with torch.autocast("cpu", torch.bfloat16):
        found: torch.Tensor = OfFew.apply(ids, vectors)
        factor = torch.randn(found.shape, dtype=torch.float64)
        taught = torch.autograd.grad((found * factor).sum(), vectors)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(taught, torch.autograd.grad((expected * factor).sum(), vectors))
