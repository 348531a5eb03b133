"""The base of decoders that label the relation between two texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.nn.class_weights import class_cost, class_count
from regard.nn.decoders.decoder import BatchView, Decoder, Source
from regard.nn.decoders.label import Labels, label_predictions, weighted
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.symbols import MemorySymbols
from regard.parts import Mistakes, Plan, Positive
from regard.trace.prediction import Prediction


class TwoTextsDecoder(Decoder):
    """p(y | a, b) for exactly two sources a and b.

    To add one, derive from this class and write `build`, `board` and `forward`, which returns logits (B, C)
    and looks (B, K, S) by name.

    class_weights   (C) weight of each class in the loss; the mean loss is over the weights
    asking          the source whose words have a look each; empty if one look belongs to all words
    """

    class Options(Decoder.Options):
        """Options shared by the decoders of two texts."""

        class_weights: dict[str, Positive] | Literal["balanced"] | None = None
        """Weight of each class in the loss, default 1; balanced: inversely proportional to its frequency."""
        calibration: Positive = 1.0
        """Temperature that divides the logits of its answers, which `regard calibrate` chooses on dev: probabilities
        change, answers do not. Training does not use it."""

    writes = ("label",)
    weighs = True
    class_weights: Tensor | None
    asking: str = ""

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        over = options.over or tuple(plan.encoder)
        if len(over) != 2:
            mistakes.add(
                f"a {options.type} decoder compares two inputs; it has {', '.join(over)}.",
                "over",
                fix="Name two:  over: [premise, hypothesis].",
            )

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        return [f"loss = −log(p(y)[y]){weighted(options.class_weights, '     — ')}"]

    def __init__(
        self, sources: Mapping[str, Source], *, alike: bool, class_weights: Tensor | None = None
    ) -> None:
        """alike: whether the vectors of both texts must have the same width."""
        super().__init__()
        if len(sources) != 2:
            raise RegardError(
                f"Two texts are compared; the sources are {', '.join(sources) or 'none'}.",
                where="decoder.over",
                fix="Name two inputs:  over: [premise, hypothesis].",
            )
        self.names = tuple(sources)
        width, other = (source.value_size for source in sources.values())
        if alike and width != other:
            raise RegardError(
                f"Texts to compare need memories of one width; {self.names[0]} has {width}, {self.names[1]} {other}.",
                where=f"encoder.{self.names[1]}",
                fix=f"Share the encoder:  {self.names[1]}: {{type: shared, of: {self.names[0]}}}.",
            )
        self.register_buffer("class_weights", class_weights, persistent=False)

    def forward(self, memories: Mapping[str, Memory]) -> tuple[Tensor, dict[str, Tensor]]:
        raise NotImplementedError

    def count(self, target: Tensor) -> Tensor:
        return class_count(target, self.class_weights)

    def loss(self, memories: Mapping[str, Memory], target: Tensor, *, truth: Any = None) -> Loss:
        """target (B) int64."""
        logits, _ = self(memories)
        total = class_cost(self.calibrated(logits), target, self.class_weights)
        return Loss(total, self.count(target), {"likelihood": total.detach()})

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Any = None) -> Labels:
        logits, looks = self(memories)
        return Labels(torch.log_softmax(self.calibrated(logits), -1), looks)

    def predictions(self, found: Labels, column: Any, view: BatchView) -> list[Prediction]:
        return label_predictions(found, column, view, asking=self.asking)
