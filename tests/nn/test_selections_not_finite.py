"""A score that is NaN or infinite reaches the weights of every selection, and so the loss."""

from __future__ import annotations

import math

import pytest
import torch

from regard.nn import Attention
from regard.nn.memory import Memory
from regard.nn.selections import Given, make_selection
from regard.parts import names, part

MASK = torch.tensor([[True, True, True, True], [True, True, True, False]])
ONE_BY_ONE = [
    name
    for name in names("selection")
    if part("selection", name).learns and part("selection", name).joint != "queries"
]
"""Selections by scores, for one query at a time; the joint ones are structures, whose own tests cover this."""


@pytest.mark.parametrize("name", ONE_BY_ONE)
@pytest.mark.parametrize("drawing", [False, True])
def test_a_score_of_nan_is_read(name: str, drawing: bool) -> None:
    torch.manual_seed(0)
    select = make_selection(name, 6)
    if drawing and not select.draws:
        pytest.skip("draws nothing")
    attention = Attention(6, 3, select=select)
    memory = Memory(torch.randn(2, 4, 3), MASK, torch.randn(2, 3))
    scores = torch.randn(2, 4, 4)
    more = {"drawing": torch.tensor([True, True])} if drawing else {}
    found = attention.look(scores, memory, Given(query=torch.randn(2, 4, 6), **more))
    assert found.context.isfinite().all()
    scores[0, 1, 1] = math.nan
    found = attention.look(scores, memory, Given(query=torch.randn(2, 4, 6), **more))
    assert not found.context[0, 1].isfinite().any()
    assert found.context[1].isfinite().all()
