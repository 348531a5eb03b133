"""Tags decoder: one label for each position of the input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.data.batch import UNSEEN, Tokens
from regard.errors import RegardError
from regard.nn.class_weights import class_cost, class_count, class_weights
from regard.nn.decoders.decoder import BatchView, PositionDecoder, Source
from regard.nn.decoders.label import calibration_note, weighted
from regard.nn.letters import Letters, linear
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.symbols import MemorySymbols
from regard.parts import Positive, register
from regard.private import tensor_node
from regard.trace import Trace
from regard.trace.prediction import Prediction


@tensor_node()
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
        """(B) the log-probability of these tags, summed over positions."""
        return (self.token_scores * self.mask).sum(-1)

    @property
    def token_scores(self) -> Tensor:
        """(B, S) the log-probability of the tag of each position."""
        return self.log_probabilities.amax(-1)


@register("decoder", "tags")
class TagsDecoder(PositionDecoder):
    """p(y_s | x) = softmax(V h_s + b), independently for each position s of the source named `of`.

    class_weights   (C) weight of each tag in the loss; the mean loss is over the weights
    """

    class Options(PositionDecoder.Options):
        """One label per position: softmax(V h_t + b)."""

        class_weights: dict[str, Positive] | Literal["balanced"] | None = None
        """Weight of each tag in the loss, default 1; balanced: inversely proportional to its frequency."""
        calibration: Positive = 1.0
        """Temperature that divides the logits of its answers, which `regard calibrate` chooses on dev: probabilities
        change, answers do not. Training does not use it."""

        moved = {
            "crf": "type: crf",
            "decode": "type: crf, with decode",
            "constraints": "type: crf, with constraints",
        }

    writes = ("tags",)

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> TagsDecoder:
        return cls(
            column.size,
            sources,
            of=column.of[0],
            dropout=options.dropout,
            class_weights=class_weights(options.class_weights, column),
        )

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        (memory,) = memories.values()
        dropout = [f"— dropout {options.dropout}"] if options.dropout else []
        return [
            f"p(y_{memory.index}) = softmax(V_y {memory.values} + b_y)",
            *dropout,
            *calibration_note(options),
        ]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        return linear("output", "V_y", "b_y")

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        (memory,) = memories.values()
        j, note = memory.index, "     — mean over the positions"
        return [
            f"loss = −Σ_{j} log(p(y_{j})[y_{j}]) / {memory.length}{note}{weighted(options.class_weights)}"
        ]

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

    def count(self, target: Tokens) -> Tensor:
        return class_count(target.ids.masked_fill(~target.mask, UNSEEN), self.class_weights)

    def loss(self, memories: Mapping[str, Memory], target: Tokens, *, truth: Any = None) -> Loss:
        logits, mask = self.calibrated(self(memories)), target.mask
        if logits.shape[1] != mask.shape[1]:
            raise RegardError(
                f"There are {mask.shape[1]} tags for {logits.shape[1]} positions of {self.of!r}.",
                fix="Every position needs exactly one tag.",
            )
        places = mask.reshape(-1).nonzero().squeeze(1)
        true = target.ids.reshape(-1).index_select(0, places)
        total = class_cost(logits.flatten(0, 1).index_select(0, places), true, self.class_weights)
        return Loss(total, self.count(target), {"likelihood": total.detach()})

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Any = None) -> Tags:
        return Tags(torch.log_softmax(self.calibrated(self(memories)), -1), memories[self.of].mask)

    def predictions(self, found: Tags, column: Any, view: BatchView) -> list[Prediction]:
        return tags_predictions(found, column, view)


def tags_predictions(found: Any, column: Any, view: BatchView) -> list[Prediction]:
    """The tags of each row; `found` has value, scores, token_scores and mask."""
    values, scores, lengths = found.value.tolist(), found.scores.tolist(), found.mask.sum(1).tolist()
    best = found.token_scores.cpu().numpy() if view.trace else None
    answers = []
    for row, (ids, score, length) in enumerate(zip(values, scores, lengths, strict=True)):
        tags = column.tokens(ids[:length])
        seen = None
        if best is not None:
            seen = Trace(input=view.inputs(row), output=tags, scores=best[row, :length], kind="tags")
        answers.append(Prediction(tags, column.decode(ids[:length]), score, seen))
    return answers
