"""A number by regression: a Gaussian whose mean is read from the input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Normal

import regard
from regard.nn import (
    Attention,
    BatchView,
    LookSymbols,
    Loss,
    Memory,
    MemorySymbols,
    Reading,
    check_attention,
    guide_total,
)
from regard.nn.letters import Letters, linear, under
from regard.parts import Mistakes, Plan
from regard_minimal.drawing import Dial


@dataclass(frozen=True)
class Amounts:
    """value (B) and its log-density (B); where the decoder looked, (B, 1, S) by name."""

    value: Tensor
    scores: Tensor
    attention: dict[str, Tensor]


@regard.register("decoder", "amount")
class AmountDecoder(regard.nn.Decoder):
    """p(y | x) = N(y; m + d (w · s + b), (d σ)²), m and d mean and spread of the training data, σ learned.

    s is what an attention reads with a learned query, or the summary where there is none.
    """

    class Options(regard.nn.Decoder.Options):
        """A Gaussian around w · s + b."""

        attention: Attention.Options | None = None
        """Look at the input instead of taking its summary."""

    writes = ("amount",)
    looks = 1

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> AmountDecoder:
        name, source = next(iter(sources.items()))
        attention = None
        if options.attention is not None:
            name = options.attention.over or name
            attention = Attention.build(options.attention, source.value_size, sources[name])
        return cls(name, sources[name], attention, options, column)

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        if options.attention is not None:
            check_attention(
                options.attention,
                mistakes.at("attention"),
                user="an amount decoder",
                gives=("query", "truth"),
                together=True,
                truths={one: truth for one, truth in plan.truth.items() if truth.type == "alignment"},
            )

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        lines, read = [], next(iter(memories.values())).summary
        if options.attention is not None:
            look = cls._look(options, memories)
            lines, read = [*Attention.equations(options.attention, look), "— q: learned"], look.context
        return [*lines, f"μ = m + d (w_y·{read} + b_y)     — m, d: mean and spread of the training data"]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        found: Letters = {"query": "q", **linear("output", "w_y", "b_y"), "log_deviation": "u"}
        if options.attention is not None:
            name, look = options.attention.over or next(iter(memories)), cls._look(options, memories)
            found |= under(f"reading.attentions.{name}", Attention.letters(options.attention, look))
        return found

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        loss = "loss = ((y − μ) / (d u))² / 2 + log(d u) + log(2 π) / 2"
        if options.attention is None or not options.attention.guide:
            return [f"{loss}     — u: the deviation, learned"]
        look, guide = cls._look(options, memories), options.attention.guide
        return [
            f"{loss} − {guide:g} Σ_{look.index} a_{look.index} log({look.weight})     — u: the deviation, learned",
            f"— a_{look.index}: the true alignment",
        ]

    @classmethod
    def _look(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> LookSymbols:
        return LookSymbols("q", memories[options.attention.over or next(iter(memories))], step="")

    def __init__(
        self, name: str, source: Any, attention: Attention | None, options: Any, column: Any
    ) -> None:
        super().__init__()
        self.name, self.mean, self.spread = name, column.mean, column.spread
        self.guide = 0.0 if options.attention is None else options.attention.guide
        self.reading = None if attention is None else Reading({name: attention})
        self.query = None if attention is None else nn.Parameter(torch.randn(attention.query_size) * 0.1)
        self.output = nn.Linear(source.summary_size if attention is None else source.value_size, 1)
        self.log_deviation = nn.Parameter(torch.zeros(()))
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, memories: Mapping[str, Memory]) -> tuple[Normal, dict[str, Tensor]]:
        looks: dict[str, Tensor] = {}
        if self.reading is None or self.query is None:
            state = memories[self.name].summary
        else:
            rows = len(memories[self.name].mask)
            read = self.reading(self.query.expand(rows, 1, -1), memories)
            state, looks = read.context.squeeze(1), read.weights
        means = self.output(self.dropout(state)).squeeze(-1)
        return Normal(self.mean + self.spread * means, self.spread * self.log_deviation.exp()), looks

    def loss(self, memories: Mapping[str, Memory], target: Tensor, *, truth: Any = None) -> Loss:
        numbers, looks = self(memories)
        total = -numbers.log_prob(target).sum()
        parts = {"likelihood": total.detach()}
        if truth is not None and self.guide:
            for name, alignment in truth.items():
                guide = guide_total(alignment, looks[name])
                total, parts["guide"] = total + self.guide * guide, guide.detach()
        return Loss(total, torch.tensor(float(len(target)), device=target.device), parts)

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Any = None) -> Amounts:
        numbers, looks = self(memories)
        return Amounts(numbers.mean, numbers.log_prob(numbers.mean), looks)

    @torch.no_grad()
    def score(self, memories: Mapping[str, Memory], target: Tensor, *, truth: Any = None) -> Amounts:
        numbers, looks = self(memories)
        return Amounts(target, numbers.log_prob(target), looks)

    def predictions(self, found: Amounts, column: Any, view: BatchView) -> list[regard.Prediction]:
        looks = {name: weights.cpu().numpy() for name, weights in found.attention.items()}
        answers = []
        for row, (value, score) in enumerate(zip(found.value.tolist(), found.scores.tolist(), strict=True)):
            text, trace = column.decode([value]), None
            if view.trace:
                inputs = view.inputs(row)
                attention = {name: rows[row, :, : len(inputs[name])] for name, rows in looks.items()}
                ends = [self.mean - 3 * self.spread, self.mean + 3 * self.spread]
                dial = {self.name: Dial([value], ends)}
                trace = regard.Trace(
                    inputs, [text], attention, kind="amount", overridden=view.overridden, structures=dial
                )
            answers.append(regard.Prediction(value, text, score, trace))
        return answers
