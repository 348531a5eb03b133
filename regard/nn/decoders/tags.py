"""Tags decoder: one label for each position of the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.data.batch import UNSEEN, Tokens
from regard.data.columns.spans import Scheme, may_follow
from regard.errors import RegardError
from regard.nn.class_weights import class_cost, class_count, class_weights
from regard.nn.decoders.decoder import BatchView, PositionDecoder, Source
from regard.nn.decoders.label import calibration_note, weighted
from regard.nn.letters import Letters, linear
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.precision import at_least_single
from regard.nn.symbols import MemorySymbols
from regard.parts import Mistakes, Plan, Positive, register
from regard.private import tensor_node
from regard.structures import LinearChain
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


@tensor_node()
@dataclass(frozen=True)
class ObeyingTags:
    """The most probable tags (B, S) that obey a scheme, among all with log_probabilities (B, S, C), where mask (B, S)
    is True."""

    value: Tensor
    log_probabilities: Tensor
    mask: Tensor

    @property
    def scores(self) -> Tensor:
        return (self.token_scores * self.mask).sum(-1)

    @property
    def token_scores(self) -> Tensor:
        return self.log_probabilities.gather(-1, self.value.unsqueeze(-1)).squeeze(-1)


@register("decoder", "tags")
class TagsDecoder(PositionDecoder):
    """p(y_s | x) = softmax(V h_s + b), independently for each position s of the source named `of`.

    class_weights   (C) weight of each tag in the loss; the mean loss is over the weights
    allowed         (C + 1, C + 1) as in the CRF decoder; the prediction is the most probable of the allowed sequences
    """

    class Options(PositionDecoder.Options):
        """One label per position: softmax(V h_t + b)."""

        class_weights: dict[str, Positive] | Literal["balanced"] | None = None
        """Weight of each tag in the loss, default 1; balanced: inversely proportional to its frequency."""
        calibration: Positive = 1.0
        """Temperature that divides the logits of its answers, which `regard calibrate` chooses on dev: probabilities
        change, answers do not. Training does not use it."""
        constraints: Literal["none", "bio", "bioes"] = "none"
        """Predict the most probable sequence that this scheme of spans allows. The training is the same."""

        moved = {"crf": "type: crf", "decode": "type: crf, with decode"}

    writes = ("tags",)
    weighs = True

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
            allowed=None
            if options.constraints == "none"
            else allowed_tags(column.classes, options.constraints),
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        super().check(options, name, plan, mistakes)
        check_scheme(options, name, plan, mistakes)

    @classmethod
    def column_needs(cls, options: Any) -> dict[str, Any]:
        return {} if options.constraints == "none" else {"allowed": options.constraints}

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        (memory,) = memories.values()
        dropout = [f"— dropout {options.dropout}"] if options.dropout else []
        if options.constraints != "none":
            dropout.append(
                f"— prediction: the most probable sequence that {options.constraints} allows (Viterbi)"
            )
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
    allowed: Tensor | None

    def __init__(
        self,
        classes: int,
        sources: Mapping[str, Source],
        *,
        of: str | None = None,
        dropout: float = 0.0,
        class_weights: Tensor | None = None,
        allowed: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.register_buffer("class_weights", class_weights, persistent=False)
        self.register_buffer("allowed", allowed, persistent=False)
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
    def predict(self, memories: Mapping[str, Memory], *, truth: Any = None) -> Tags | ObeyingTags:
        logs, mask = torch.log_softmax(self.calibrated(self(memories)), -1), memories[self.of].mask
        if self.allowed is None:
            return Tags(logs, mask)
        chain = allowed_chain(at_least_single(logs), self.allowed, mask.sum(-1))
        return ObeyingTags(torch.where(mask, chain.states(chain.mode), 0), logs, mask)

    def predictions(self, found: Tags | ObeyingTags, column: Any, view: BatchView) -> list[Prediction]:
        return tags_predictions(found, column, view)


def allowed_tags(classes: Sequence[str], scheme: Scheme) -> Tensor:
    """(C + 1, C + 1): whether tag j may follow tag i;
    the last row is the beginning, the last column the end."""
    ends = [*classes, None]
    return torch.tensor([[may_follow(before, after, scheme) for after in ends] for before in ends])


def allowed_chain(nodes: Tensor, allowed: Tensor, lengths: Tensor) -> LinearChain:
    """The distribution over the allowed sequences with scores (B, S, C) of their tags alone."""
    nothing = nodes.new_zeros(len(allowed) - 1)
    start = nothing.masked_fill(~allowed[-1, :-1], -torch.inf)
    end = nothing.masked_fill(~allowed[:-1, -1], -torch.inf)
    pairs = nodes.new_zeros(len(nothing), len(nothing))
    return LinearChain(pairs, nodes, start, end, lengths=lengths, mask=allowed[:-1, :-1])


def check_scheme(options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
    """Refuse a scheme that is not that of the column."""
    scheme = getattr(plan.outputs[name], "scheme", None)
    if scheme and options.constraints not in ("none", scheme):
        mistakes.add(
            f"the output converts its tags to {scheme}, but constraints is {options.constraints}.",
            "constraints",
            fix=f"Use constraints: {scheme}.",
        )


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
