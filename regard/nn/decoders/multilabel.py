"""Multilabel decoder: any number of labels for the whole input, each with a look of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from pydantic import field_validator
from torch import Tensor, nn

from regard.nn.attention import Attention, Constants, Reading
from regard.nn.attention_check import check_attention, check_over, truths_about
from regard.nn.class_weights import given_weights
from regard.nn.decoders.decoder import BatchView, Decoder, Source, Truth, truth_by_name
from regard.nn.decoders.glimpsing_board import guide_term
from regard.nn.decoders.multilabel_trace import several_traced
from regard.nn.guided_attention import guide_total
from regard.nn.letters import Letters, under
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.symbols import LookSymbols, MemorySymbols, factor, side_by_side
from regard.nn.thresholds import HALF, best_threshold_of
from regard.parts import Mistakes, Plan, Positive, Settings, nearest, register
from regard.private import tensor_node
from regard.trace.prediction import Prediction


@tensor_node()
@dataclass(frozen=True)
class LabelSets:
    """log_probabilities (B, C, 2) of no and yes, chosen (B, C), and attention weights (B, C, S) by name."""

    log_probabilities: Tensor
    chosen: Tensor
    attention: dict[str, Tensor]

    @property
    def scores(self) -> Tensor:
        """(B) the log-probability of the chosen labels and of no others."""
        no, yes = self.log_probabilities.unbind(-1)
        return torch.where(self.chosen, yes, no).sum(-1)


@register("decoder", "multilabel")
class MultilabelDecoder(Decoder):
    """p(y_k | x) = σ(v_k·s_k + b_k) for each of C labels, independently (Mullenbach et al. 2018).

    Without attention, s_k is the concatenated summaries of all sources. With attention, each label has its own
    learned query q_k; s_k is what it reads in the attended memories, and the summaries of the others. If an input asks,
    such as a question, its summary moves all queries: q_k = u_k + Q h.

    thresholds      (C) a label is given if its probability is at least this
    class_weights   (C) weight of the labels that a row has, in the loss
    """

    class Options(Decoder.Options):
        """A sigmoid for each label, over the summaries, or over the context of an attention of its own."""

        attention: tuple[Attention.Options, ...] = ()
        """Every label attends to the inputs with a learned query of its own, instead of reading their summaries: to
        all of them, `{score: dot}`; to one, `{over: passage}`; or to some, each with its own options."""
        query: str | None = None
        """The input whose summary is added to the query of every label, for instance a question; default: none."""
        threshold: Literal["each", "shared"] | Positive = "each"
        """Probability from which a label is given. each: chosen for each label after training, for its best F1 on dev.
        shared: one for all labels, for the best micro F1 on dev. Or a number, such as 0.5."""
        class_weights: dict[str, Positive] | Literal["balanced"] | None = None
        """Weight of a label in the loss of the rows that have it, default 1; balanced: rows without it / rows with
        it."""

        @field_validator("attention", mode="before")
        @classmethod
        def _one_attention(cls, value: Any) -> Any:
            return () if value is None else (value,) if isinstance(value, dict | Settings) else value

    writes = ("multilabel",)
    weighs = True
    settles = True
    class_weights: Tensor | None
    thresholds: Tensor

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> MultilabelDecoder:
        looks = {one.over or next(iter(sources)): one for one in options.attention}
        attention = None
        if looks:
            wide, first = next(iter(looks.items()))
            size = getattr(first.score, "size", None) or sources[wide].value_size
            attention = {name: Attention.build(one, size, sources[name]) for name, one in looks.items()}
        return cls(
            column.size,
            sources,
            attention=attention,
            query=options.query,
            guide=options.attention[0].guide if options.attention else 0.0,
            threshold=options.threshold,
            class_weights=_weights(options.class_weights, column),
            dropout=options.dropout,
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        read, here = options.over or tuple(plan.encoder), mistakes.at("attention")
        if isinstance(options.threshold, float) and options.threshold >= 1:
            mistakes.add(
                f"threshold is {options.threshold:g}, expected each, shared or a probability below 1.",
                "threshold",
                fix="Write  threshold: 0.5.",
            )
        looked = [one.over or read[0] for one in options.attention]
        if options.query is not None and (options.query not in read or options.query in looked or not looked):
            others = [one for one in read if one not in looked]
            mistakes.add(
                f"this decoder has no input {options.query!r} beside the attended ones."
                if looked
                else "query needs an attention, and this decoder has none.",
                "query",
                fix=nearest(options.query, others) if looked and others else "Leave query out.",
            )
        for one, source in zip(options.attention, looked, strict=True):
            check_over(one, options, plan, here)
            check_attention(
                one,
                here,
                user="a multilabel decoder",
                gives=("query", "truth"),
                together=True,
                truths=truths_about(plan, source, name, ["label_words"]),
                truth_type="label_words",
            )
        if len(set(looked)) < len(looked):
            here.add("two attentions attend to the same input.", fix="Keep one of them.")
        if len({one.guide for one in options.attention}) > 1:
            here.add(
                "the attentions have different weights of guide.", "guide", fix="Give all the same guide."
            )

    @classmethod
    def attends_to(
        cls, options: Mapping[str, Any], column: Mapping[str, Any], read: Sequence[str]
    ) -> Sequence[str]:
        return [one for one in read if one != options.get("query")]

    @classmethod
    def reads_positions(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return tuple(one.over or next(iter(options.over or plan.encoder)) for one in options.attention)

    @classmethod
    def reads_summaries(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        looked = cls.reads_positions(options, name, plan)
        return tuple(one for one in super().reads_summaries(options, name, plan) if one not in looked)

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        looks = _looking(options, memories)
        parts = [look.context for look in looks.values()]
        parts += [memory.summary for name, memory in memories.items() if name not in looks]
        lines = ["k = 1 … C     — the labels"]
        if options.query is not None:
            lines.append(f"q_k = u_k + Q_y {memories[options.query].summary}     — u_k: learned")
        elif looks:
            lines.append("— q_k: learned")
        for one, look in zip(options.attention, looks.values(), strict=True):
            lines += Attention.equations(one, look)
        lines.append(f"p_k = σ(v_yk·{side_by_side(parts)} + b_yk)")
        return [*lines, *([f"— dropout {options.dropout}"] if options.dropout else [])]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        query = "q_k" if options.query is None else "u_k"
        found: Letters = {
            "query": query,
            "asks.weight": "Q_y",
            "output.weight": "v_yk",
            "output.bias": "b_yk",
        }
        for one, (name, look) in zip(options.attention, _looking(options, memories).items(), strict=True):
            found |= under(f"reading.attentions.{name}", Attention.letters(one, look))
        return found

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        weight = "w_yk " if options.class_weights else ""
        lines = [f"loss = −Σ_k ({weight}y_k log(p_k) + (1 − y_k) log(1 − p_k))"]
        for one, look in zip(options.attention, _looking(options, memories).values(), strict=True):
            if one.guide:
                lines[0] += f" − {factor(one.guide)}Σ_k {guide_term(look)}"
                lines.append(f"— {look.sub('a', look.step, look.index)}: the words of label k")
        note = {"each": "the best of each label on dev", "shared": "one for all labels, the best on dev"}
        chosen = note.get(options.threshold, f"{options.threshold}")
        return [*lines, f"— y_k: 1 if the row has label k; it is given if p_k ≥ θ, {chosen}"]

    def __init__(
        self,
        classes: int,
        sources: Mapping[str, Source],
        *,
        attention: Mapping[str, Attention] | None = None,
        query: str | None = None,
        guide: float = 0.0,
        threshold: Literal["each", "shared"] | float = "each",
        class_weights: Tensor | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.reading = Reading(attention) if attention else None
        self.guide, self.threshold, self.looks = guide, threshold, classes
        attended = self.reading.names if self.reading is not None else ()
        self.summarized = tuple(name for name in sources if name not in attended)
        self.query: nn.Parameter | None = None
        self.asking = query
        self.asks: nn.Linear | None = None
        size = sum(sources[name].summary_size for name in self.summarized)
        if self.reading is not None and attention is not None:
            self.query = nn.Parameter(torch.randn(classes, attention[attended[0]].query_size) * 0.1)
            size += self.reading.context_size
            if query is not None:
                self.asks = nn.Linear(sources[query].summary_size, self.query.shape[1], bias=False)
        self.output = nn.Linear(size, classes)
        self.dropout = nn.Dropout(dropout)
        first = HALF if isinstance(threshold, str) else threshold
        self.register_buffer("thresholds", torch.full((classes,), first))
        self.register_buffer("class_weights", class_weights, persistent=False)

    def forward(
        self, memories: Mapping[str, Memory], *, truth: Truth = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The logits (B, C), and the looks of the labels, (B, C, S) by name."""
        read = [self.dropout(memories[name].summary) for name in self.summarized]
        if self.reading is None or self.query is None:
            written: Tensor = self.output(torch.cat(read, -1))
            return written, {}
        known = truth_by_name(truth, self.reading.names)
        constants = Constants(self.reading.keys(memories), truth=known)
        rows = next(iter(memories.values())).mask.shape[0]
        queries = self.query.expand(rows, -1, -1)
        if self.asks is not None and self.asking is not None:
            queries = queries + self.asks(memories[self.asking].summary).unsqueeze(1)
        found = self.reading(queries, memories, constants)
        contexts, context = (
            self.output.weight.split(
                [self.reading.context_size, self.output.in_features - self.reading.context_size], -1
            ),
            self.dropout(found.context),
        )  # (B, C, D)
        logits = torch.einsum("bcd,cd->bc", context, contexts[0]) + self.output.bias
        if read:
            logits = logits + nn.functional.linear(torch.cat(read, -1), contexts[1])
        return logits, found.weights

    def count(self, target: Tensor) -> Tensor:
        return torch.tensor(float(len(target)), device=target.device)

    def loss(self, memories: Mapping[str, Memory], target: Tensor, *, truth: Truth = None) -> Loss:
        """target (B, C) 0 or 1; truth (B, C, S), if the words of the labels are known."""
        logits, looks = self(memories, truth=truth)
        total = nn.functional.binary_cross_entropy_with_logits(
            logits, target.to(logits), pos_weight=self.class_weights, reduction="sum"
        )
        parts = {"likelihood": total.detach()}
        if truth is not None and self.guide and self.reading is not None:
            for name, words in truth_by_name(truth, self.reading.names).items():
                guide = guide_total(words, looks[name])
                parts["guide"] = parts.get("guide", torch.zeros_like(guide)) + guide.detach()
                total = total + self.guide * guide
        return Loss(total, self.count(target), parts)

    def _found(self, logits: Tensor, chosen: Tensor, looks: dict[str, Tensor]) -> LabelSets:
        logs = nn.functional.logsigmoid(torch.stack([-logits, logits], -1))
        return LabelSets(logs, chosen, looks)

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Truth = None) -> LabelSets:
        logits, looks = self(memories, truth=truth)
        return self._found(logits, torch.sigmoid(logits) >= self.thresholds, looks)

    @torch.no_grad()
    def score(self, memories: Mapping[str, Memory], target: Tensor, *, truth: Truth = None) -> LabelSets:
        logits, looks = self(memories, truth=truth)
        return self._found(logits, target > 0, looks)

    @torch.no_grad()
    def settle(self, rows: Iterable[tuple[Mapping[str, Memory], Any]]) -> str:
        """Choose the thresholds by F1 on dev; labels that dev lacks keep ½."""
        if not isinstance(self.threshold, str):
            return ""
        pairs = [(torch.sigmoid(self(memories)[0]).cpu(), target.cpu()) for memories, target in rows]
        if not pairs:
            return ""
        probabilities, true = (torch.cat(part) for part in zip(*pairs, strict=True))
        if self.threshold == "shared":
            found = [best_threshold_of(probabilities.flatten(), true.flatten())[0]] * len(self.thresholds)
        else:
            found = [best_threshold_of(*pair)[0] for pair in zip(probabilities.T, true.T, strict=True)]
        self.thresholds.copy_(torch.tensor(found))
        shown = f"{found[0]:.2f}" if self.threshold == "shared" else f"{min(found):.2f} to {max(found):.2f}"
        return f"thresholds chosen on {len(true):,} rows of dev: {shown}"

    def predictions(self, found: LabelSets, column: Any, view: BatchView) -> list[Prediction]:
        logs, chosen, scores = found.log_probabilities.cpu(), found.chosen.cpu(), found.scores.tolist()
        looks = {name: weights.cpu() for name, weights in found.attention.items()}
        answers = []
        for row, score in enumerate(scores):
            numbers = chosen[row].nonzero().flatten().tolist()
            value, likely = column.tokens(numbers), logs[row, :, 1].exp()
            text = column.decode(numbers)
            seen = None
            if view.trace:
                seen = several_traced(view, row, looks, column.classes, likely, chosen[row], text, score)
            probabilities = dict(zip(column.classes, likely.tolist(), strict=True))
            answers.append(Prediction(value, text, score, seen, probabilities=probabilities))
        return answers


def _weights(wanted: Any, column: Any) -> Tensor | None:
    """(C) weights of the rows that have a label; balanced: rows without it / rows with it."""
    if wanted != "balanced":
        return given_weights(wanted, column)
    counts = torch.tensor(column.counts, dtype=torch.float32).clamp(min=1)
    found: Tensor = ((column.rows - counts) / counts).clamp(min=1e-3)
    return found


def _looking(options: Any, memories: Mapping[str, MemorySymbols]) -> dict[str, LookSymbols]:
    """The symbols of each attention, by input; a second one has primes."""
    looks = {}
    for place, one in enumerate(options.attention):
        over, primes = one.over or next(iter(memories)), "′" * place
        looks[over] = LookSymbols("q_k", memories[over], step="k", count="C", mark=f"a{primes}", prime=primes)
    return looks
