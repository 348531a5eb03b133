"""Span decoder: the neighboring words of a text that answer, by their first and last word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.nn.decoders.decoder import BatchView, Decoder, Source
from regard.nn.letters import Letters, under
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.scores import AnyScore, AttentionScore, make_score
from regard.nn.symbols import LookSymbols, MemorySymbols
from regard.parts import Depth, Mistakes, Plan, nearest, register
from regard.private import tensor_node
from regard.trace import Glimpses, Trace
from regard.trace.prediction import Prediction

NAMES = ("first word", "last word", "in the answer")


@tensor_node()
@dataclass(frozen=True)
class FoundSpans:
    """value (B, 2) first and last position, scores (B) its log-probability, and log_spans (B, S, L) that of every
    span, by its first position and its length − 1."""

    value: Tensor
    scores: Tensor
    log_spans: Tensor


@register("decoder", "span")
class SpanDecoder(Decoder):
    """p(i, k | x) = exp(f_i + g_k) / Z over the spans of words i … k of one input, of at most L words (Seo 2017).

        f_j = score(q, h_j),   g_j = score′(q, h_j),   Z = Σ_{i ≤ k < i+L} exp(f_i + g_k)

    The query q is the summary of another input, such as a question, or learned. The sum and the best span are exact.
    """

    class Options(Decoder.Options):
        """The most probable span, from scores of its first and of its last word."""

        score: AnyScore = "general"
        """Function that scores how well the query and a word agree; the first and the last word have one each."""
        query: str | None = None
        """The input whose summary is the query, for instance a question; default: the first other input, or a learned
        query."""
        longest: Depth = 10
        """Maximum number of words of a span."""

    writes = ("span",)
    weighs = True

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> SpanDecoder:
        of, query = column.of[0], _query(options, column.of[0], list(sources))
        source = sources[of]
        keys = getattr(source, "key_size", None) or source.value_size
        size = keys if query is None else sources[query].summary_size
        scores = [make_score(options.score, size, keys) for _ in range(2)]
        return cls(
            sources,
            of=of,
            query=query,
            first=scores[0],
            last=scores[1],
            longest=options.longest,
            dropout=options.dropout,
        )

    @classmethod
    def column_needs(cls, options: Any) -> dict[str, Any]:
        return {"longest": options.longest}

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        read, of = list(options.over or plan.encoder), _of(name, plan)
        if of not in read:
            mistakes.add(
                f"the spans are of {of}, which this decoder does not read.", "over", fix=f"Add {of} to over."
            )
        if options.query is not None and (options.query not in read or options.query == of):
            others = [one for one in read if one != of]
            mistakes.add(
                f"this decoder has no other input {options.query!r}.",
                "query",
                fix=nearest(options.query, others) if others else "Leave query out to learn the query.",
            )
        if options.score.part.needs:
            mistakes.add(
                f"score: {options.score.type} needs the attention weights of previous steps, which a span decoder does "
                "not provide.",
                "score",
                fix="Use score: general.",
            )
        elif options.score.part.one_size and _query(options, of, read) is not None:
            mistakes.add(
                f"a {options.score.type} score compares vectors of one width.",
                "score",
                fix="Use score: general or additive.",
            )

    @classmethod
    def reads_positions(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return (_of(name, plan),)

    @classmethod
    def reads_summaries(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        query = _query(options, _of(name, plan), list(options.over or plan.encoder))
        return () if query is None else (query,)

    @classmethod
    def looks_at(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> tuple[LookSymbols, LookSymbols]:
        """The symbols of the scores of first and last words; the spans are of the first of the memories."""
        of = next(iter(memories))
        query = _query(options, of, list(memories))
        asked = "q" if query is None else memories[query].summary
        one, other = (
            LookSymbols(asked, memories[of], step="", letters=(letter, letter, letter), mark=letter)
            for letter in "fg"
        )
        return one, other

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        first, last = cls.looks_at(options, memories)
        j, score = first.index, options.score.part
        allowed = f"[{j} ≤ k] [k < {j} + {options.longest}]"
        return [
            *(["— q: learned"] if first.query == "q" else []),
            *score.equations(options.score, first),
            *score.equations(options.score, last),
            f"k = 1 … {first.memory.length}     — the last word, {j} the first",
            f"Z = Σ_{j} Σ_k {allowed} exp({first.energy} + {last.sub('g', 'k')})",
            f"p_{j}k = {allowed} exp({first.energy} + {last.sub('g', 'k')}) / Z",
            *([f"— dropout {options.dropout}"] if options.dropout else []),
        ]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        first, last = cls.looks_at(options, memories)
        score = options.score.part
        return (
            {"query": "q"}
            | under("first", score.letters(options.score, first))
            | under("last", score.letters(options.score, last))
        )

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        first, last = cls.looks_at(options, memories)
        j = first.index
        true = f"Σ_{j} ([{j} = y_1] {first.energy} + [{j} = y_2] {last.energy})"
        return [f"loss = log(Z) − {true}     — y_1, y_2: the true first and last word"]

    def __init__(
        self,
        sources: Mapping[str, Source],
        *,
        of: str,
        first: AttentionScore,
        last: AttentionScore,
        query: str | None = None,
        longest: int = 10,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.of, self.asking, self.longest = of, query, longest
        self.first, self.last = first, last
        self.dropout = nn.Dropout(dropout)
        size = getattr(sources[of], "key_size", None) or sources[of].value_size
        self.query = nn.Parameter(torch.randn(size) * 0.1) if query is None else None

    def forward(self, memories: Mapping[str, Memory]) -> Tensor:
        """(B, S, L) the log-probability of each span, by its first position and its length − 1."""
        memory = memories[self.of]
        keys = self.dropout(memory.values if memory.keys is None else memory.keys)
        if self.query is not None:
            asked = self.query.expand(len(keys), 1, -1)
        else:
            assert self.asking is not None
            asked = self.dropout(memories[self.asking].summary).unsqueeze(1)
        first, last = (
            score(asked, score.keys(keys)).squeeze(1).masked_fill(~memory.mask, -torch.inf)
            for score in (self.first, self.last)
        )
        ends = nn.functional.pad(last, (0, self.longest - 1), value=-torch.inf).unfold(1, self.longest, 1)
        spans = first.unsqueeze(-1) + ends  # (B, S, L)
        found: Tensor = spans.flatten(1).log_softmax(-1).view_as(spans)
        return found

    def count(self, target: Tensor) -> Tensor:
        return torch.tensor(float(len(target)), device=target.device)

    def _of_spans(self, logs: Tensor, target: Tensor) -> Tensor:
        """(B) the log-probability of each given span; −∞ if it is too long."""
        lengths = target[:, 1] - target[:, 0]
        found = logs[torch.arange(len(target)), target[:, 0], lengths.clamp(0, self.longest - 1)]
        return found.masked_fill((lengths < 0) | (lengths >= self.longest), -torch.inf)

    def loss(self, memories: Mapping[str, Memory], target: Tensor, *, truth: Any = None) -> Loss:
        """target (B, 2) first and last position"""
        total = -self._of_spans(self(memories), target).sum()
        return Loss(total, self.count(target), {"likelihood": total.detach()})

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Any = None) -> FoundSpans:
        logs = self(memories)
        scores, best = logs.flatten(1).max(-1)
        first = best.div(self.longest, rounding_mode="floor")
        return FoundSpans(torch.stack([first, first + best % self.longest], -1), scores, logs)

    @torch.no_grad()
    def score(self, memories: Mapping[str, Memory], target: Tensor, *, truth: Any = None) -> FoundSpans:
        logs = self(memories)
        return FoundSpans(target, self._of_spans(logs, target), logs)

    def predictions(self, found: FoundSpans, column: Any, view: BatchView) -> list[Prediction]:
        answers, chances = [], found.log_spans.exp().cpu()
        for row, (value, score) in enumerate(zip(found.value.tolist(), found.scores.tolist(), strict=True)):
            text = column.shown(value, view.inputs(row)[self.of])
            seen = self._traced(view, row, chances[row], text, score) if view.trace else None
            answers.append(Prediction(value, text, score, seen))
        return answers

    def _traced(self, view: BatchView, row: int, spans: Tensor, text: str, score: float) -> Trace:
        """The trace of one row: how probable each word is as the first, as the last, and anywhere in the answer."""
        inputs = view.inputs(row)
        looks = span_marginals(spans[: len(inputs[self.of])].numpy())  # (3, S)
        true = None
        if view.target is not None:
            low, high = view.target[row].tolist()
            true = np.zeros_like(looks)
            true[0, low] = true[1, high] = 1.0
            true[2, low : high + 1] = 1.0
        return Trace(
            input=inputs,
            output=[text],
            attention={self.of: looks[2:]},
            truth={} if true is None else {self.of: true[2:]},
            scores=np.array([score]),
            kind="span",
            glimpses={self.of: Glimpses(looks, true, NAMES)},
        )


def span_marginals(spans: np.ndarray) -> np.ndarray:
    """Probabilities (S, L) of spans → (3, S): that a word is the first, the last, or any of the answer."""
    positions, longest = spans.shape
    found = np.zeros((3, positions))
    found[0] = spans.sum(1)
    for length in range(longest):
        alike = spans[: positions - length, length] if length < positions else spans[:0, length]
        found[1, length : length + len(alike)] += alike
        for place in range(length + 1):
            found[2, place : place + len(alike)] += alike
    return found


def _of(name: str, plan: Plan) -> str:
    return str(plan.outputs[name].of or next(iter(plan.inputs)))


def _query(options: Any, of: str, read: list[str]) -> str | None:
    """The input whose summary asks; None for a learned query."""
    return options.query or next((one for one in read if one != of), None)
