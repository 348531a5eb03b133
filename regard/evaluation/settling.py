"""Choices on dev after training: what the loss does not train, such as the thresholds of labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from regard.data import Dataset
from regard.evaluation.inference import ModelInference
from regard.nn.memory import Memory
from regard.nn.network import answering

if TYPE_CHECKING:
    from regard.model import Model


def settle(model: Model, dev: Dataset) -> list[str]:
    """Let every decoder that `settles` choose on dev; returns what was chosen, a line for each."""
    lines = []
    for name, head in model.network.decoders.items():
        decoder: Any = head
        if decoder.settles and len(dev):
            with answering(model):
                lines.append(decoder.settle(_rows(model, dev, name)))
    return [line for line in lines if line]


def _rows(model: Model, dev: Dataset, output: str) -> Iterator[tuple[Mapping[str, Memory], Any]]:
    for batch, encoded in ModelInference(model, dev, output).memories():
        yield model.network.memories(output, encoded), batch[output]
