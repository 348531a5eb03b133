"""The denominators of losses are known from a batch alone, so accumulation needs no forward pass for them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from regard.data import Batches, Dataset
from regard.nn.decoders.decoder import Decoder
from regard.parts import names, part
from tests.model.small import build, rows, spec

TAGS = {"tags": {"type": "tags", "of": "source"}}
TOPIC = {"topic": {"type": "label"}}


def test_every_decoder_of_ours_says_its_counts() -> None:
    for name in names("decoder"):
        made = part("decoder", name)
        assert not made.__module__.startswith("regard.") or made.count is not Decoder.count, name


@pytest.mark.parametrize(
    "described",
    [
        {},
        {"decoder": {"type": "transformer", "size": 8, "heads": 2}, "attention": None},
        {"outputs": TOPIC, "decoder": {"class_weights": {"yes": 3.0}}, "attention": None},
        {"outputs": TAGS, "decoder": {"class_weights": {"V": 2.5}}, "attention": None},
        {"outputs": TAGS, "decoder": {"type": "crf"}, "attention": None},
        {"outputs": {**TAGS, **TOPIC}, "decoder": None, "attention": None},
    ],
    ids=str,
)
def test_the_counts_are_those_of_the_losses(described: dict[str, Any]) -> None:
    model = build(spec(**described))
    dataset = Dataset.build(rows(), list(model.columns.values()))
    for batch in Batches(dataset, rows=16, shuffle=False).epoch(0):
        losses, counts = model.network(batch), model.network.counts(batch)
        assert counts is not None and list(counts) == list(losses)
        for name, loss in losses.items():
            torch.testing.assert_close(counts[name].float(), loss.count.float())
