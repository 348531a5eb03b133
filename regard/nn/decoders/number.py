"""Number decoder: a number for the whole input, by regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Normal

from regard.nn.decoders.decoder import BatchView, Source, Truth
from regard.nn.decoders.glimpsing import GlimpsingDecoder
from regard.nn.decoders.glimpsing_trace import glimpsed
from regard.nn.letters import Letters, linear
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.symbols import MemorySymbols
from regard.parts import register
from regard.private import tensor_node
from regard.trace.prediction import Prediction


@tensor_node()
@dataclass(frozen=True)
class Numbers:
    """value (B) and its log-density (B), and attention weights (B, K, S) by name,
    with a row for each glimpse."""

    value: Tensor
    scores: Tensor
    attention: dict[str, Tensor]


@register("decoder", "number")
class NumberDecoder(GlimpsingDecoder):
    """p(y | x) = N(y; m + d (v·s + b), (d u)²), with m and d mean and spread of the training data and u learned.

    s, or a hidden layer over s, is as in `GlimpsingDecoder`.
    """

    class Options(GlimpsingDecoder.Options):
        """A Gaussian whose mean is read from the summaries, or from the context of an attention beside the
        summaries of the other inputs."""

    writes = ("number",)
    weighs = True

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> NumberDecoder:
        return cls(
            sources,
            mean=column.mean,
            spread=column.spread,
            attention=cls.build_looks(options, sources),
            **cls.shared_settings(options),
        )

    @classmethod
    def answer(cls, state: str) -> str:
        return f"μ = m_y + d_y (v_y·{state} + b_y)     — m_y, d_y: mean and spread of the training data"

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        own = linear("output", "v_y", "b_y") | {"log_deviation": "u_y"}
        return super().letters(options, memories) | own

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        guide, lines = cls.guided(options, memories)
        loss = "((y − μ) / ς)² / 2 + log(ς) + log(2 π) / 2"
        return [f"loss = {loss}{guide}", "ς = d_y u_y     — u_y: learned", *lines]

    def __init__(
        self, sources: Mapping[str, Source], *, mean: float = 0.0, spread: float = 1.0, **shared: Any
    ) -> None:
        super().__init__(1, sources, **shared)
        self.mean, self.spread = mean, spread
        self.log_deviation = nn.Parameter(torch.zeros(()))

    def numbers(self, memories: Mapping[str, Memory], truth: Truth) -> tuple[Normal, dict[str, Tensor]]:
        """The distribution (B) of the number, and the looks."""
        written, looks = self(memories, truth=truth)
        deviation = self.spread * self.log_deviation.exp()
        return Normal(self.mean + self.spread * written.squeeze(-1), deviation, validate_args=False), looks

    def count(self, target: Tensor) -> Tensor:
        return torch.tensor(float(len(target)), device=target.device)

    def loss(self, memories: Mapping[str, Memory], target: Tensor, *, truth: Truth = None) -> Loss:
        """target (B); truth (B, 1 to K, S), if the true places are known."""
        numbers, looks = self.numbers(memories, truth)
        total, parts = self.with_guide(-numbers.log_prob(target).sum(), looks, truth)
        return Loss(total, self.count(target), parts)

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Truth = None) -> Numbers:
        numbers, looks = self.numbers(memories, truth)
        return Numbers(numbers.mean, numbers.log_prob(numbers.mean), looks)

    @torch.no_grad()
    def score(self, memories: Mapping[str, Memory], target: Tensor, *, truth: Truth = None) -> Numbers:
        numbers, looks = self.numbers(memories, truth)
        return Numbers(target, numbers.log_prob(target), looks)

    def predictions(self, found: Numbers, column: Any, view: BatchView) -> list[Prediction]:
        looks = {name: weights.cpu() for name, weights in found.attention.items()}
        answers = []
        for row, (value, score) in enumerate(zip(found.value.tolist(), found.scores.tolist(), strict=True)):
            text = column.decode([value])
            seen = glimpsed(view, row, looks, text, score, "number") if view.trace else None
            answers.append(Prediction(value, text, score, seen))
        return answers
