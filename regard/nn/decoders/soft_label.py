"""Soft label decoder: classes whose truth is a distribution, not one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from regard.nn.decoders.decoder import BatchView, Truth
from regard.nn.decoders.glimpsing import GlimpsingDecoder
from regard.nn.decoders.label import LabelDecoder, Labels, label_predictions
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.symbols import MemorySymbols
from regard.parts import register
from regard.trace.prediction import Prediction


@register("decoder", "soft-label")
class SoftLabelDecoder(GlimpsingDecoder):
    """p(y | x) = softmax(V s + b), as `LabelDecoder`; loss = −Σ_c y_c log p(c | x), the cross-entropy with the true
    shares y. It is least where p = y, and there it is the entropy of y."""

    class Options(GlimpsingDecoder.Options):
        """softmax(V s + b), trained by the cross-entropy with a distribution over the classes."""

    writes = ("soft-label",)
    weighs = True

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> SoftLabelDecoder:
        looks = cls.build_looks(options, sources)
        return cls(column.size, sources, attention=looks, **cls.shared_settings(options))

    @classmethod
    def answer(cls, state: str) -> str:
        return LabelDecoder.answer(state)

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        guide, lines = cls.guided(options, memories)
        classes = "i = 1 … C     — the classes; y_i: the true share of class i"
        return [classes, f"loss = −Σ_i y_i log(p(y)[i]){guide}", *lines]

    def count(self, target: Tensor) -> Tensor:
        """The sum of the shares of classes that training saw: the number of rows, if it saw them all."""
        return target.sum().float()

    def loss(self, memories: Mapping[str, Memory], target: Tensor, *, truth: Truth = None) -> Loss:
        """target (B, C) the shares of the classes; truth (B, 1 to K, S), if the true places are known."""
        logits, looks = self(memories, truth=truth)
        cost = -(target.to(logits.dtype) * torch.log_softmax(logits, -1)).sum()
        total, parts = self.with_guide(cost, looks, truth)
        return Loss(total, self.count(target), parts)

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Truth = None) -> Labels:
        logits, looks = self(memories, truth=truth)
        return Labels(torch.log_softmax(logits, -1), looks)

    def predictions(self, found: Labels, column: Any, view: BatchView) -> list[Prediction]:
        return label_predictions(found, column, view)
