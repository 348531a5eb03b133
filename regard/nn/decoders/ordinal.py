"""Ordinal decoder: one of several classes in order, by a number and thresholds between the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.data.batch import UNSEEN
from regard.nn.class_weights import class_count, class_weights
from regard.nn.decoders.decoder import BatchView, Source, Truth
from regard.nn.decoders.glimpsing import GlimpsingDecoder
from regard.nn.decoders.label import Labels, label_predictions, weighted
from regard.nn.letters import Letters
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.symbols import MemorySymbols
from regard.parts import Positive, register
from regard.trace.prediction import Prediction


@register("decoder", "ordinal")
class OrdinalDecoder(GlimpsingDecoder):
    """p(y ≤ c | x) = σ(θ_c − v·s), with θ_1 < θ_2 < … (McCullagh 1980): the cumulative logit model.

        log p(y = c) = log σ(θ_c − η) + log σ(η − θ_{c−1}) + log(1 − exp(θ_{c−1} − θ_c)),   η = v·s

    s, or a hidden layer over s, is as in `GlimpsingDecoder`. One direction orders all classes, so that a mistake is
    more probable between neighbors. θ_{c+1} = θ_c + softplus(u_c).
    """

    class Options(GlimpsingDecoder.Options):
        """A number η = v·s, and thresholds between the classes: σ(θ_c − η) is the probability of class c or a lower
        one."""

        class_weights: dict[str, Positive] | Literal["balanced"] | None = None
        """Weight of each class in the loss, default 1; balanced: inversely proportional to its frequency."""

    writes = ("ordinal",)
    weighs = True
    class_weights: Tensor | None

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> OrdinalDecoder:
        return cls(
            column.size,
            sources,
            attention=cls.build_looks(options, sources),
            class_weights=class_weights(options.class_weights, column),
            **cls.shared_settings(options),
        )

    @classmethod
    def answer(cls, state: str) -> str:
        return f"η = v_y·{state}"

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        return [
            *super().board(options, memories),
            "i = 1 … C     — the classes in their order",
            "F_i = σ(θ_yi − η)     for i < C     — class i or a lower one; θ_y1 < θ_y2 < …: learned",
            "F_0 = 0",
            "F_C = 1",
            "p_i = F_i − F_{i−1}",
        ]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        own: Letters = {"output.weight": "v_y", "lowest": "θ_yi", "gaps": "θ_yi"}
        found = super().letters(options, memories)
        return {name: one for name, one in found.items() if not name.startswith("output")} | own

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        guide, lines = cls.guided(options, memories)
        return [f"loss = −Σ_i [i = y] log(p_i){guide}{weighted(options.class_weights, '     — ')}", *lines]

    def __init__(
        self,
        classes: int,
        sources: Mapping[str, Source],
        *,
        class_weights: Tensor | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(1, sources, **shared)
        self.output = nn.Linear(self.output.in_features, 1, bias=False)
        self.lowest = nn.Parameter(torch.tensor([-1.0 * (classes - 2) / 2]))
        self.gaps = nn.Parameter(torch.full((classes - 2,), 0.5413))  # softplus(0.5413) = 1
        self.register_buffer("class_weights", class_weights, persistent=False)

    @property
    def thresholds(self) -> Tensor:
        """(C − 1) between neighboring classes, ascending."""
        return torch.cat([self.lowest, self.lowest + nn.functional.softplus(self.gaps).cumsum(0)])

    def logs(self, memories: Mapping[str, Memory], truth: Truth = None) -> tuple[Tensor, dict[str, Tensor]]:
        """(B, C) the log-probability of each class, and the looks."""
        written, looks = self(memories, truth=truth)  # (B, 1)
        distance = self.thresholds - written  # (B, C − 1)
        at_most, above = nn.functional.logsigmoid(distance), nn.functional.logsigmoid(-distance)
        between = torch.log(-torch.expm1(-nn.functional.softplus(self.gaps)))  # (C − 2)
        middle = at_most[:, 1:] + above[:, :-1] + between
        return torch.cat([at_most[:, :1], middle, above[:, -1:]], -1), looks

    def count(self, target: Tensor) -> Tensor:
        return class_count(target, self.class_weights)

    def loss(self, memories: Mapping[str, Memory], target: Tensor, *, truth: Truth = None) -> Loss:
        """target (B) int64; truth (B, 1 to K, S), if the true places are known."""
        logs, looks = self.logs(memories, truth)
        cost = nn.functional.nll_loss(
            logs, target, weight=self.class_weights, reduction="sum", ignore_index=UNSEEN
        )
        total, parts = self.with_guide(cost, looks, truth)
        return Loss(total, self.count(target), parts)

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Truth = None) -> Labels:
        return Labels(*self.logs(memories, truth))

    def predictions(self, found: Labels, column: Any, view: BatchView) -> list[Prediction]:
        return label_predictions(found, column, view)
