"""Tags decoder: one label for each position of the input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.data.batch import Tokens
from regard.errors import RegardError
from regard.nn.decoders.base import Source
from regard.nn.loss import Loss
from regard.nn.memory import Memory


@dataclass(frozen=True)
class Tags:
    """log_probabilities (B, S, C) of the positions where mask (B, S) is True."""

    log_probabilities: Tensor
    mask: Tensor

    @property
    def value(self) -> Tensor:
        """(B, S) the most probable tag of each position."""
        return self.log_probabilities.argmax(-1)

    @property
    def scores(self) -> Tensor:
        """(B) the log-probability of those tags, all positions together."""
        return (self.token_scores * self.mask).sum(-1)

    @property
    def token_scores(self) -> Tensor:
        """(B, S) the log-probability of the tag of each position."""
        return self.log_probabilities.amax(-1)


class TagsDecoder(nn.Module):
    """p(y_s | x) = softmax(V h_s + b), the positions s of the source named `of` on their own.

    class_weights   (C) how much a mistake about each tag costs; the mean is over the weights
    """

    class_weights: Tensor | None

    def __init__(
        self,
        classes: int,
        sources: Mapping[str, Source],
        *,
        of: str | None = None,
        dropout: float = 0.0,
        class_weights: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.register_buffer("class_weights", class_weights, persistent=False)
        self.of = next(iter(sources)) if of is None else of
        if self.of not in sources:
            raise RegardError(
                f"Tags of {self.of!r} need a source of that name; there are {', '.join(sources)}."
            )
        self.output = nn.Linear(sources[self.of].value_size, classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, memories: Mapping[str, Memory]) -> Tensor:
        """Logits (B, S, C)."""
        logits: Tensor = self.output(self.dropout(memories[self.of].values))
        return logits

    def loss(self, memories: Mapping[str, Memory], target: Tokens) -> Loss:
        logits, mask = self(memories), target.mask
        if logits.shape[1] != mask.shape[1]:
            raise RegardError(
                f"There are {mask.shape[1]} tags for {logits.shape[1]} positions of {self.of!r}.",
                fix="Every position needs exactly one tag.",
            )
        places = mask.reshape(-1).nonzero().squeeze(1)
        truth = target.ids.reshape(-1).index_select(0, places)
        total = nn.functional.cross_entropy(
            logits.flatten(0, 1).index_select(0, places), truth, weight=self.class_weights, reduction="sum"
        )
        count = target.lengths.sum() if self.class_weights is None else self.class_weights[truth].sum()
        return Loss(total, count, {"likelihood": total.detach()})

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory]) -> Tags:
        return Tags(torch.log_softmax(self(memories), -1), memories[self.of].mask)
