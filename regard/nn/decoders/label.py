"""Label decoder: one answer for the whole input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from regard.nn.attention import Attention, check_attention, truths_about
from regard.nn.class_weights import class_weights
from regard.nn.combining import Beside, Combine, Gated
from regard.nn.decoders.decoder import BatchView, Decoder, Source, Truth, truth_by_name
from regard.nn.decoders.reading import Reading
from regard.nn.guide import guide_total
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.stepping import Constants
from regard.nn.whereabouts import axes, whereabouts
from regard.parts import Count, Mistakes, Plan, Positive, Size, nearest, register
from regard.prediction import Prediction
from regard.trace import Glimpses, Trace


@dataclass(frozen=True)
class Labels:
    """log_probabilities (B, C) and where the decoder looked, (B, K, S) by name: a row for each glimpse."""

    log_probabilities: Tensor
    attention: dict[str, Tensor]

    @property
    def value(self) -> Tensor:
        """(B) the most probable label."""
        return self.log_probabilities.argmax(-1)

    @property
    def scores(self) -> Tensor:
        """(B) its log-probability."""
        return self.log_probabilities.amax(-1)


def wanted(truth: Tensor, glimpses: int) -> Tensor:
    """(B, K, S): the rows given, and the first one for every glimpse that has none of its own."""
    own = nn.functional.pad(truth, (0, 0, 0, glimpses - truth.shape[1]))
    return torch.where((own > 0).any(-1, keepdim=True), own, truth[:, :1])


@register("decoder", "label")
class LabelDecoder(Decoder):
    """p(y | x) = softmax(V s + b), or with `hidden` softmax(V h + b), where h is

        beside   relu(W s + c)
        gated    what is asked gates every other part of s, each on its own (`Gated`)

    Without attention, s is the summary of every source, side by side. With it, s is the contexts of the attended
    memories beside the summaries of the others. The query is learned, or the summary of the source named by `query`.
    Several `glimpses` have a query each, q_k = W_k q, and s holds what each of them read. Where the right places are
    known, row k of the truth is that of glimpse k, and row 0 that of every glimpse without one.

    whole           the summaries of the attended memories too, for what no glimpse tells: how many there are
    where           where each glimpse looked, and how that lies to the one before: left of it, above
    class_weights   (C) how much a mistake about each class costs; the mean is over the weights
    """

    class Options(Decoder.Options):
        """softmax(V s + b) of the summaries, or of what an attention reads beside the summaries of the other inputs."""

        attention: Attention.Options | None = None
        """Look at an input instead of taking its summary."""
        query: str | None = None
        """The input whose summary asks, a question about an image for instance; default: a learned query."""
        glimpses: Count = 1
        """Looks of the attention, each with a query of its own."""
        whole: bool = False
        """With attention: the summaries of the attended inputs too, which tell what no glimpse does: how many there
        are."""
        where: bool = False
        """With attention: where each glimpse looked too, and how that lies to the one before: left of it, above."""
        hidden: Size | None = None
        """Write from relu(W s + b) of this size, so that inputs can act on each other; default: from s itself."""
        combine: Combine = "beside"
        """With hidden. gated: what asks, or the last input, decides which features of each other part count, and
        how."""
        class_weights: dict[str, Positive] | Literal["balanced"] | None = None
        """How much a mistake about each class costs; balanced: by its rarity."""

    writes = ("label",)

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> LabelDecoder:
        looks = None
        if options.attention is not None:
            over = options.attention.over or next(iter(sources))
            size = getattr(options.attention.score, "size", None) or sources[over].value_size
            if options.query is not None and options.glimpses == 1:
                size = sources[options.query].summary_size  # the summary itself is the query
            looks = {over: Attention.build(options.attention, size, sources[over])}
        return cls(
            column.size,
            sources,
            attention=looks,
            query=options.query,
            glimpses=options.glimpses,
            whole=options.whole,
            where=options.where,
            hidden=options.hidden,
            combine=options.combine,
            guide=0.0 if options.attention is None else options.attention.guide,
            dropout=options.dropout,
            class_weights=class_weights(options.class_weights, column),
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        read = options.over or tuple(plan.encoder)
        for option in ("query", "glimpses", "whole", "where"):
            if option in options.model_fields_set and options.attention is None:
                mistakes.add(
                    f"{option} is about an attention, and this decoder has none.",
                    option,
                    fix="Add  attention: {over: INPUT}, or leave it out.",
                )
        if "combine" in options.model_fields_set and options.hidden is None:
            mistakes.add(
                "combine says how a hidden layer puts its parts together, and this decoder has none.",
                "combine",
                fix="Add  hidden: 128, or leave it out.",
            )
        if options.combine == "gated" and len(read) < 2:
            mistakes.add(
                "combine: gated lets one input gate another, and this decoder has one.",
                "combine",
                fix="Use combine: beside.",
            )
        if options.attention is None:
            return
        check_over(options.attention, options, plan, mistakes.at("attention"))
        check_attention(
            options.attention,
            mistakes.at("attention"),
            user="a label decoder",
            gives=("query", "truth"),
            together=True,
            truths=_places(options, name, plan),
            truth_type="places",
        )
        if options.query is not None and options.query not in read:
            mistakes.add(
                f"no input {options.query!r} can ask.", "query", fix=nearest(options.query, list(read))
            )
        elif options.query is not None and options.query == options.attention.over:
            mistakes.add(
                f"{options.query} asks, and is what is looked at.",
                "query",
                fix="Name another input, or leave query out: then the query is learned.",
            )

    @classmethod
    def reads_positions(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        if options.attention is None:
            return ()
        return (options.attention.over or next(iter(options.over or plan.encoder)),)

    @classmethod
    def reads_summaries(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        looked = () if options.whole else cls.reads_positions(options, name, plan)
        return tuple(one for one in super().reads_summaries(options, name, plan) if one not in looked)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        glimpses = options.glimpses if options.attention else 1
        read = "[c_1; …; c_K]" if glimpses > 1 else "c"
        state = f"{read} beside the summaries of the other inputs" if options.attention else "the summaries"
        hidden = {
            "beside": "V relu(W s + c) + b",
            "gated": "V [tanh(W_i s_i + c_i) ⊙ tanh(U_i q + d_i)]_i + b, q what asks, s_i the other parts of s",
        }
        written = "V s + b" if options.hidden is None else hidden[options.combine]
        lines = [f"p(y) = softmax({written})   s = {state}"]
        if options.attention:
            asking = "q learned" if options.query is None else f"q the summary of {options.query}"
            query = "q"
            if glimpses > 1:
                query = "q_t"
                asking = f"t = 1 … {glimpses}, " + (
                    "q_t learned" if options.query is None else f"q_t = W_t q, {asking}"
                )
            lines.append(f"{Attention.equations(options.attention, query)}   {asking}")
        if options.hidden is not None:
            lines.append(f"{options.hidden} hidden units")
        return lines

    @classmethod
    def board_loss(cls, options: Any) -> str:
        return "−log p(y | x)" + weighted(options.class_weights) + guide_line(options.attention)

    class_weights: Tensor | None

    def __init__(
        self,
        classes: int,
        sources: Mapping[str, Source],
        *,
        attention: Mapping[str, Attention] | None = None,
        query: str | None = None,
        glimpses: int = 1,
        whole: bool = False,
        where: bool = False,
        hidden: int | None = None,
        combine: Combine = "beside",
        dropout: float = 0.0,
        class_weights: Tensor | None = None,
        guide: float = 0.0,
    ) -> None:
        super().__init__()
        self.reading = Reading(attention) if attention else None
        self.query_name, self.looks, self.guide, self.where = query, glimpses, guide, where
        self.glimpses = glimpses
        attended = self.reading.names if self.reading else ()
        self.whole = whole
        self.summarized = tuple(name for name in sources if name not in attended)
        self.asking = query or (self.summarized[-1] if self.summarized else None)
        self.query: nn.Parameter | None = None
        self.asks: nn.Linear | None = None
        sizes = []
        if self.reading is not None and attention is not None:
            sizes.append(glimpses * self.reading.context_size)
            query_size = attention[attended[0]].query_size
            if query is None:
                self.query = nn.Parameter(torch.randn(glimpses, query_size) * 0.1)
            elif glimpses > 1:
                self.asks = nn.Linear(sources[query].summary_size, glimpses * query_size)
            if where:
                sizes += [
                    (2 * glimpses - 1) * axes(getattr(sources[name], "grid", None)) for name in attended
                ]
            if whole:
                sizes += [sources[name].summary_size for name in attended]
        sizes += [sources[name].summary_size for name in self._summarized()]
        asking = 0 if self.asking is None else sources[self.asking].summary_size
        self.hidden: Beside | Gated | None = None
        if hidden is not None:
            self.hidden = (Gated if combine == "gated" else Beside)(sizes, asking, hidden)
        self.output = nn.Linear(sum(sizes) + asking if self.hidden is None else self.hidden.size, classes)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("class_weights", class_weights, persistent=False)

    def _summarized(self) -> list[str]:
        """The inputs whose summaries are read, without the one that asks."""
        return [name for name in self.summarized if name != self.asking]

    def forward(
        self, memories: Mapping[str, Memory], *, truth: Truth = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Logits (B, C) and the looks of the K glimpses, (B, K, S) by name."""
        parts = []
        looks: dict[str, Tensor] = {}
        if self.reading is not None:
            known = truth_by_name(truth, self.reading.names)
            rows = {name: wanted(table, self.glimpses) for name, table in known.items()}
            constants = Constants(self.reading.keys(memories), truth=rows)
            read = self.reading(self._queries(memories), memories, constants)  # a row for each glimpse
            looks = read.weights
            parts.append(read.context.flatten(1))
            if self.where:
                parts += [whereabouts(weights, memories[name]) for name, weights in looks.items()]
            if self.whole:
                parts += [memories[name].summary for name in looks]
        parts = [
            self.dropout(part) for part in (*parts, *(memories[name].summary for name in self._summarized()))
        ]
        nothing = parts[0][:, :0] if parts else None
        asking = nothing if self.asking is None else self.dropout(memories[self.asking].summary)
        assert asking is not None
        if self.hidden is None:
            return self.output(torch.cat([*parts, asking], -1)), looks
        return self.output(self.dropout(self.hidden(parts, asking))), looks

    def _queries(self, memories: Mapping[str, Memory]) -> Tensor:
        """(B, K, Q), one for each glimpse."""
        if self.query_name is None:
            rows = len(next(iter(memories.values())).mask)
            return cast(Tensor, self.query).expand(rows, -1, -1)
        asking = memories[self.query_name].summary
        if self.asks is None:
            return asking.unsqueeze(1)
        asked: Tensor = self.asks(asking).unflatten(1, (self.glimpses, -1))
        return asked

    def loss(self, memories: Mapping[str, Memory], target: Tensor, *, truth: Truth = None) -> Loss:
        """target (B) int64; truth (B, 1 to K, S), where the right places to look are known."""
        logits, looks = self(memories, truth=truth)
        total = nn.functional.cross_entropy(logits, target, weight=self.class_weights, reduction="sum")
        if self.class_weights is None:
            count = torch.tensor(float(len(target)), device=target.device)
        else:
            count = self.class_weights[target].sum()
        parts = {"likelihood": total.detach()}
        if truth is not None and self.guide and self.reading is not None:
            for name, alignment in truth_by_name(truth, self.reading.names).items():
                guide = guide_total(wanted(alignment, self.glimpses), looks[name]) / self.glimpses
                parts["guide"] = parts.get("guide", torch.zeros_like(guide)) + guide.detach()
                total = total + self.guide * guide
        return Loss(total, count, parts)

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Truth = None) -> Labels:
        logits, looks = self(memories, truth=truth)
        return Labels(torch.log_softmax(logits, -1), looks)

    def predictions(self, found: Labels, column: Any, view: BatchView) -> list[Prediction]:
        return label_predictions(found, column, view)


def label_predictions(found: Labels, column: Any, view: BatchView) -> list[Prediction]:
    """The most probable class of each row."""
    logs = found.log_probabilities.cpu()
    values, scores = logs.argmax(-1).tolist(), logs.amax(-1).tolist()
    classes = [column.decode([number]) for number in range(logs.shape[-1])]
    looks = {name: weights.cpu() for name, weights in found.attention.items()}
    together = {name: weights.mean(1, keepdim=True).numpy() for name, weights in looks.items()}
    answers = []
    for row, (value, score) in enumerate(zip(values, scores, strict=True)):
        inputs = view.inputs(row)
        seen = None
        if view.trace:
            attention = {name: weights[row, :, : len(inputs[name])] for name, weights in together.items()}
            seen = Trace(
                input=inputs,
                output=[classes[value]],
                attention=attention,
                truth=_truth(view, row, attention),
                scores=np.array([score]),
                kind="label",
                overridden=view.overridden,
                glimpses={
                    name: _glimpses(weights, view.truth.get(name), row, len(inputs[name]))
                    for name, weights in looks.items()
                    if weights.shape[1] > 1
                },
            )
        likely = dict(zip(classes, logs[row].exp().tolist(), strict=True))
        answers.append(Prediction(classes[value], classes[value], score, seen, probabilities=likely))
    return answers


def _glimpses(weights: Tensor, truth: Any, row: int, positions: int) -> Glimpses:
    """The looks of one row, each beside where it should have been."""
    known = None
    if isinstance(truth, Tensor) and truth.shape[1]:
        known = wanted(truth[row : row + 1], weights.shape[1])[0, :, :positions].numpy()
    return Glimpses(weights[row, :, :positions].numpy(), known)


def _truth(view: BatchView, row: int, attention: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Where the label should have looked, all glimpses in one row, as if it were a text of one token."""
    found = {}
    for name, known in view.truth.items():
        if name in attention and isinstance(known, Tensor) and known.shape[1]:
            rows = known[row, :, : attention[name].shape[1]].numpy()
            found[name] = rows.sum(0, keepdims=True) / max(int((rows > 0).any(-1).sum()), 1)
    return found


def check_over(attention: Any, decoder: Any, plan: Plan, mistakes: Mistakes) -> None:
    """The input that is looked at exists and is named where there are several."""
    read = decoder.over or tuple(plan.encoder)
    if attention.over is None and len(read) > 1:
        mistakes.add(
            f"there are several inputs ({', '.join(read)}) to look at.", fix=f"Say which:  over: {read[0]}"
        )
    elif attention.over is not None and attention.over not in read:
        mistakes.add(
            f"no input is named {attention.over!r}.", "over", fix=nearest(attention.over, list(read))
        )


def weighted(weights: Mapping[str, float] | str | None) -> str:
    """How the classes count in a loss."""
    return ", classes weighted" + (" by their rarity" if weights == "balanced" else "") if weights else ""


def guide_line(attention: Any) -> str:
    """The guide's term of a loss."""
    if attention is None or not attention.guide:
        return ""
    return f"   + {attention.guide:g} · (−Σ_j a_tj log α_tj), a the true alignment"


def _places(options: Any, name: str, plan: Plan) -> dict[str, Any] | None:
    """The truth columns with places in what is looked at; None for an input that has none, a text."""
    (source,) = LabelDecoder.reads_positions(options, name, plan)
    looked_at = plan.inputs.get(source)
    if looked_at is not None and not looked_at.part.perceived:
        return None
    return truths_about(plan, source, name, ["places"])
