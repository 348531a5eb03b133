"""Label decoder: one class for the whole input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from regard.nn.class_weights import class_cost, class_count, class_weights
from regard.nn.decoders.decoder import BatchView, Source, Truth
from regard.nn.decoders.glimpsing import GlimpsingDecoder
from regard.nn.decoders.glimpsing_trace import glimpsed
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.symbols import MemorySymbols
from regard.parts import Positive, register
from regard.private import tensor_node
from regard.trace.prediction import Prediction


@tensor_node()
@dataclass(frozen=True)
class Labels:
    """log_probabilities (B, C), and attention weights (B, K, S) by name, with a row for each glimpse."""

    log_probabilities: Tensor
    attention: dict[str, Tensor]

    @property
    def value(self) -> Tensor:
        """(B) the most probable label."""
        return self.log_probabilities.argmax(-1)

    @property
    def scores(self) -> Tensor:
        """(B) the log-probability of the most probable label."""
        return self.log_probabilities.amax(-1)


@register("decoder", "label")
class LabelDecoder(GlimpsingDecoder):
    """p(y | x) = softmax(V s + b), with s, or a hidden layer over s, as in `GlimpsingDecoder`.

    class_weights   (C) weight of each class in the loss; the mean loss is over the weights
    """

    class Options(GlimpsingDecoder.Options):
        """softmax(V s + b) of the summaries, or of the context of an attention beside the summaries of the
        other inputs."""

        class_weights: dict[str, Positive] | Literal["balanced"] | None = None
        """Weight of each class in the loss, default 1; balanced: inversely proportional to its frequency."""
        calibration: Positive = 1.0
        """Temperature that divides the logits of its answers, which `regard calibrate` chooses on dev: probabilities
        change, answers do not. Training does not use it."""

    writes = ("label",)
    weighs = True
    class_weights: Tensor | None

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> LabelDecoder:
        return cls(
            column.size,
            sources,
            attention=cls.build_looks(options, sources),
            class_weights=class_weights(options.class_weights, column),
            **cls.shared_settings(options),
        )

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        return [*super().board(options, memories), *calibration_note(options)]

    @classmethod
    def answer(cls, state: str) -> str:
        return f"p(y) = softmax(V_y {state} + b_y)"

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        guide, lines = cls.guided(options, memories)
        return [f"loss = −log(p(y)[y]){guide}{weighted(options.class_weights, '     — ')}", *lines]

    def __init__(
        self,
        classes: int,
        sources: Mapping[str, Source],
        *,
        class_weights: Tensor | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(classes, sources, **shared)
        self.register_buffer("class_weights", class_weights, persistent=False)

    def count(self, target: Tensor) -> Tensor:
        return class_count(target, self.class_weights)

    def loss(self, memories: Mapping[str, Memory], target: Tensor, *, truth: Truth = None) -> Loss:
        """target (B) int64; truth (B, 1 to K, S), if the true places are known."""
        logits, looks = self(memories, truth=truth)
        cost = class_cost(self.calibrated(logits), target, self.class_weights)
        total, parts = self.with_guide(cost, looks, truth)
        return Loss(total, self.count(target), parts)

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Truth = None) -> Labels:
        logits, looks = self(memories, truth=truth)
        return Labels(torch.log_softmax(self.calibrated(logits), -1), looks)

    def predictions(self, found: Labels, column: Any, view: BatchView) -> list[Prediction]:
        return label_predictions(found, column, view)


def label_predictions(found: Labels, column: Any, view: BatchView, asking: str = "") -> list[Prediction]:
    """The most probable class of each row; asking: the input whose words have a look each."""
    logs = found.log_probabilities.cpu()
    values, scores = logs.argmax(-1).tolist(), logs.amax(-1).tolist()
    classes = [column.decode([number]) for number in range(logs.shape[-1])]
    looks = {name: weights.cpu() for name, weights in found.attention.items()}
    answers = []
    for row, (value, score) in enumerate(zip(values, scores, strict=True)):
        seen = glimpsed(view, row, looks, classes[value], score, "label", asking) if view.trace else None
        likely = dict(zip(classes, logs[row].exp().tolist(), strict=True))
        answers.append(Prediction(classes[value], classes[value], score, seen, probabilities=likely))
    return answers


def calibration_note(options: Any) -> list[str]:
    """A note on the temperature of answers, if there is one."""
    told = f"— answers: the argument of this softmax is divided by {options.calibration:.4g} (calibrated)"
    return [told] if options.calibration != 1.0 else []


def weighted(weights: Mapping[str, float] | str | None, before: str = ", ") -> str:
    """A note on the class weights of a loss."""
    return (
        f"{before}classes weighted" + (" by their rarity" if weights == "balanced" else "") if weights else ""
    )
