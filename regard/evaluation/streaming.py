"""Evaluation on a running text: every token once, with the state carried from the first to the last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from regard.data import Batch, Dataset, StreamBatches
from regard.errors import RegardError
from regard.evaluation.inference import output_info
from regard.nn.memory import Memory
from regard.trace import Trace
from regard.trace.prediction import Prediction

if TYPE_CHECKING:
    from regard.model import LanguageModel

Found = TypeVar("Found")
TOKENS = 2048
"""Number of tokens read at a time, over all streams."""
SHORTEST = 256
"""Minimum number of tokens of a stream, if there are several."""


class StreamInference:
    """One language model on one text; see `regard.metrics.Inference`.

    streams   number of parts that are read in parallel; 1 reads the text as a whole
    """

    def __init__(self, model: LanguageModel, dataset: Dataset, output: str, streams: int = 1) -> None:
        self.model, self.dataset, self.streams = model, dataset, streams
        self.output = output_info(model, output, dataset.columns)
        self._made: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self.dataset)

    def raw(self, row: int) -> dict[str, str]:
        return self.dataset.raw(row)

    def likelihood(self) -> tuple[float, float]:
        decoder: Any = self.model.network.decoders[self.output.name]
        tokens = len(self.dataset.stream(self.output.name))
        rows = max(1, min(self.streams, tokens // SHORTEST))
        spans = StreamBatches(self.dataset, rows=rows, span=max(1, TOKENS // rows))
        total, count, state = 0.0, 0.0, None
        with torch.inference_mode():
            for batch in spans:
                span = batch[self.output.name].to(self.model.device)
                costs, state = decoder.costs(span, state)
                total, count = total + float(costs.double().sum()), count + costs.numel()
        return total, count

    def once(self, make: Callable[[Any], Found]) -> Found:
        if make not in self._made:
            self._made[make] = make(self)
        found: Found = self._made[make]
        return found

    def dev(self) -> StreamInference | None:
        return None

    @property
    def predictions(self) -> list[Prediction]:
        raise self._without("predictions")

    @property
    def references(self) -> list[list[Any]]:
        raise self._without("references")

    def traces(self, *, structures: bool = False) -> Iterator[tuple[int, Trace]]:
        raise self._without("traces")

    def memories(self) -> Iterator[tuple[Batch, Mapping[str, Memory]]]:
        raise self._without("memories")

    def shape(self, name: str) -> tuple[int, ...] | None:
        return None

    def _without(self, what: str) -> RegardError:
        return RegardError(
            f"this metric needs {what}, which a text stream does not have.",
            where="metrics",
            fix="Use perplexity, bits_per_character, nats_per_character or loss.",
        )
