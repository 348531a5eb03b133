"""Align decoder: a label for how two texts stand to each other."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.align import Align, Comparison, feed_forward
from regard.nn.decoders.base import Source
from regard.nn.decoders.label import Labels
from regard.nn.loss import Loss
from regard.nn.memory import Memory


class AlignDecoder(nn.Module):
    """p(y | a, b) = softmax(V H([Σ_i v_i; Σ_j w_j]) + c), with v and w as in `regard.nn.align`.

    sources         exactly two, of one width
    size            of the hidden layers of F, G and H
    class_weights   (C) how much a mistake about each class costs; the mean is over the weights
    """

    class_weights: Tensor | None

    def __init__(
        self,
        classes: int,
        sources: Mapping[str, Source],
        *,
        size: int = 200,
        dropout: float = 0.0,
        compare: Comparison = "differences",
        class_weights: Tensor | None = None,
    ) -> None:
        super().__init__()
        if len(sources) != 2:
            raise RegardError(
                f"Two texts are aligned; the sources are {', '.join(sources) or 'none'}.",
                fix="Name two inputs:  over: [premise, hypothesis].",
            )
        self.names = tuple(sources)
        first, second = (sources[name].value_size for name in self.names)
        if first != second:
            raise RegardError(
                f"Texts to align need memories of one width; {self.names[0]} has {first}, {self.names[1]} {second}.",
                fix=f"Share the encoder:  {self.names[1]}: {{type: shared, of: {self.names[0]}}}.",
            )
        gain = getattr(sources[self.names[0]], "gain", 1.0)
        self.align = Align(first, size=size, dropout=dropout, compare=compare, gain=gain)
        self.hidden = feed_forward(2 * size, size, dropout=dropout)
        self.output = nn.Linear(size, classes)
        self.register_buffer("class_weights", class_weights, persistent=False)

    def forward(self, memories: Mapping[str, Memory]) -> tuple[Tensor, dict[str, Tensor]]:
        """Logits (B, C), and looks (B, 1, S) by name: how much each position was looked at from the other text."""
        first, second = (memories[name] for name in self.names)
        features, aligned = self.align(first, second)
        looks = {
            self.names[0]: _mean_look(aligned.second, second.mask),
            self.names[1]: _mean_look(aligned.first, first.mask),
        }
        return self.output(self.hidden(features)), looks

    def loss(self, memories: Mapping[str, Memory], target: Tensor) -> Loss:
        """target (B) int64."""
        logits, _ = self(memories)
        total = nn.functional.cross_entropy(logits, target, weight=self.class_weights, reduction="sum")
        if self.class_weights is None:
            count = torch.tensor(float(len(target)), device=target.device)
        else:
            count = self.class_weights[target].sum()
        return Loss(total, count, {"likelihood": total.detach()})

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory]) -> Labels:
        logits, looks = self(memories)
        return Labels(torch.log_softmax(logits, -1), looks)


def _mean_look(weights: Tensor, mask: Tensor) -> Tensor:
    """(B, T, S) of the T positions that exist → (B, 1, S), their mean."""
    kept = mask.unsqueeze(-1).to(weights.dtype)
    return (weights * kept).sum(1, keepdim=True) / kept.sum(1, keepdim=True).clamp(min=1)
