"""Glimpsing: the base of decoders that answer a whole input at once, from summaries and a few looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from pydantic import field_validator
from torch import Tensor, nn

from regard.nn.attention import Attention, Constants, Reading
from regard.nn.attention_check import check_attention, check_over, truths_about
from regard.nn.combining import Beside, Combine, Gated, HiddenActivation
from regard.nn.decoders import glimpsing_board
from regard.nn.decoders.decoder import Decoder, Source, Truth, truth_by_name
from regard.nn.encoders import owner_of
from regard.nn.guided_attention import guide_total
from regard.nn.letters import Letters, linear
from regard.nn.mean_position import axes, mean_position
from regard.nn.memory import Memory
from regard.nn.symbols import MemorySymbols
from regard.parts import Depth, Mistakes, Plan, Settings, Size, nearest


def wanted(truth: Tensor, glimpses: int) -> Tensor:
    """(B, K, S): the given rows; a glimpse without a row of its own takes the first."""
    own = nn.functional.pad(truth, (0, 0, 0, glimpses - truth.shape[1]))
    return torch.where((own > 0).any(-1, keepdim=True), own, truth[:, :1])


class GlimpsingDecoder(Decoder):
    """V s + b, or with `hidden` V h + b, where h is

        beside   relu(W s + c), or tanh(W s + c)
        gated    every part of s, gated by the query (`Gated`)

    Without attention, s is the concatenated summaries of all sources. With attention, s is the contexts of
    the attended memories and the summaries of the others. The query is learned, or is the summary of the
    source named by `query`. Each of several `glimpses` has its own query, q_k = W_k q, and s contains the
    contexts of all. If the true places are known, row k of the truth belongs to glimpse k, and row 0 to every
    glimpse without a row.

    whole           add the summaries of the attended memories, which tell what no glimpse can: how many there
                    are
    where           add the mean position of each glimpse, and its offset from the previous one: left of it,
                    above
    """

    class Options(Decoder.Options):
        """Options shared by decoders that answer the whole input at once."""

        attention: tuple[Attention.Options, ...] = ()
        """Attend to the inputs instead of reading their summaries: to all but the query, `{score: dot}`; to one of
        them, `{over: passage}`; or to some, each with its own options, `{title: {score: dot}, passage: {}}`."""
        query: str | None = None
        """The input whose summary is the query, for instance a question about an image;
        default: a learned query."""
        glimpses: Depth = 1
        """Number of looks of the attention, each with its own query."""
        whole: bool = False
        """With attention: also read the summaries of the attended inputs, which tell what no glimpse can,
        such as how many objects there are."""
        where: bool = False
        """With attention: also read the mean position of each glimpse and its offset from the one before."""
        hidden: Size | None = None
        """Units of a hidden layer relu(W s + b), in which inputs interact;
        default: none, the output reads s itself."""
        activation: HiddenActivation = "relu"
        """With hidden: its activation function; tanh as in Hermann 2015."""
        combine: Combine = "beside"
        """With hidden. beside: one layer over the concatenated inputs. gated: the query, or else the last
        input without attention, gates the features of every other input."""

        @field_validator("attention", mode="before")
        @classmethod
        def _one_attention(cls, value: Any) -> Any:
            return () if value is None else (value,) if isinstance(value, dict | Settings) else value

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        read = options.over or tuple(plan.encoder)
        for option in ("query", "glimpses", "whole", "where"):
            if option in options.model_fields_set and not options.attention:
                mistakes.add(
                    f"{option} needs an attention, and this decoder has none.",
                    option,
                    fix=f"Add  attention: {{over: INPUT}}, or leave {option} out.",
                )
        if "combine" in options.model_fields_set and options.hidden is None:
            mistakes.add(
                "combine needs a hidden layer, and this decoder has none.",
                "combine",
                fix="Add  hidden: 128, or leave combine out.",
            )
        if "activation" in options.model_fields_set and (
            options.hidden is None or options.combine == "gated"
        ):
            gated = options.hidden is not None
            mistakes.add(
                "activation has no effect: combine: gated always uses tanh."
                if gated
                else "activation needs a hidden layer, and this decoder has none.",
                "activation",
                fix="Use combine: beside." if gated else "Add  hidden: 128, or leave activation out.",
            )
        looked = [one.over or read[0] for one in options.attention]
        if options.combine == "gated" and len(read) < 2:
            mistakes.add(
                "combine: gated needs two inputs, and this decoder has one.",
                "combine",
                fix="Use combine: beside.",
            )
        elif options.combine == "gated" and options.query is None and set(read) <= set(looked):
            mistakes.add(
                "combine: gated needs an input whose summary gates the others, and all inputs are attended to.",
                "combine",
                fix=f"Name one as the query:  query: {read[-1]}, or use combine: beside.",
            )
        if not options.attention:
            return
        _check_attentions(options, name, looked, plan, mistakes.at("attention"))
        if options.query is not None and options.query not in read:
            mistakes.add(
                f"this decoder has no input {options.query!r}.",
                "query",
                fix=nearest(options.query, list(read)),
            )
        elif options.query is not None and options.query in looked:
            mistakes.add(
                f"query and attention.over are the same input, {options.query}.",
                "query",
                fix="Name another input, or leave query out to learn the query.",
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
        looked = () if options.whole else cls.reads_positions(options, name, plan)
        return tuple(one for one in super().reads_summaries(options, name, plan) if one not in looked)

    @classmethod
    def build_looks(cls, options: Any, sources: Mapping[str, Any]) -> dict[str, Attention] | None:
        """The attentions of the options, by the memory each looks at. All of them have the same queries."""
        looks = {one.over or next(iter(sources)): one for one in options.attention}
        if not looks:
            return None
        wide, first = next(iter(looks)), next(iter(looks.values()))
        size = getattr(first.score, "size", None) or sources[wide].value_size
        if options.query is not None and options.glimpses == 1:
            size = sources[options.query].summary_size  # the summary itself is the query
        return {name: Attention.build(one, size, sources[name]) for name, one in looks.items()}

    @classmethod
    def shared_settings(cls, options: Any) -> dict[str, Any]:
        """The shared options as keywords of `__init__`."""
        names = ("query", "glimpses", "whole", "where", "hidden", "activation", "combine", "dropout")
        guide = options.attention[0].guide if options.attention else 0.0
        return {name: getattr(options, name) for name in names} | {"guide": guide}

    @classmethod
    def answer(cls, state: str) -> str:
        """The equation of the output, given the symbol of the state s."""
        raise NotImplementedError

    @classmethod
    def guided(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> tuple[str, list[str]]:
        """The term of the guide in the loss, and the lines that explain it; empty without a guide."""
        return glimpsing_board.guided(options, memories)

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        return glimpsing_board.lines(options, memories, cls.answer)

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        return glimpsing_board.letters(options, memories) | linear("output", "V_y", "b_y")

    def __init__(
        self,
        outputs: int,
        sources: Mapping[str, Source],
        *,
        attention: Mapping[str, Attention] | None = None,
        query: str | None = None,
        glimpses: int = 1,
        whole: bool = False,
        where: bool = False,
        hidden: int | None = None,
        activation: HiddenActivation = "relu",
        combine: Combine = "beside",
        dropout: float = 0.0,
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
        if hidden is not None and combine == "gated":
            self.hidden = Gated(sizes, asking, hidden)
        elif hidden is not None:
            self.hidden = Beside(sizes, asking, hidden, activation)
        self.output = nn.Linear(sum(sizes) + asking if self.hidden is None else self.hidden.size, outputs)
        self.dropout = nn.Dropout(dropout)

    def _summarized(self) -> list[str]:
        """The inputs whose summaries are read, without the one that is the query."""
        return [name for name in self.summarized if name != self.asking]

    def forward(
        self, memories: Mapping[str, Memory], *, truth: Truth = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The output (B, outputs), and the looks of the K glimpses, (B, K, S) by name."""
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
                parts += [mean_position(weights, memories[name]) for name, weights in looks.items()]
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
            rows = next(iter(memories.values())).mask.shape[0]
            return cast(Tensor, self.query).expand(rows, -1, -1)
        asking = memories[self.query_name].summary
        if self.asks is None:
            return asking.unsqueeze(1)
        asked: Tensor = self.asks(asking).unflatten(1, (self.glimpses, -1))
        return asked

    def with_guide(
        self, total: Tensor, looks: Mapping[str, Tensor], truth: Truth
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss, with the guided-attention loss added if the true places are known, and its parts."""
        parts = {"likelihood": total.detach()}
        if truth is not None and self.guide and self.reading is not None:
            for name, alignment in truth_by_name(truth, self.reading.names).items():
                guide = guide_total(wanted(alignment, self.glimpses), looks[name]) / self.glimpses
                parts["guide"] = parts.get("guide", torch.zeros_like(guide)) + guide.detach()
                total = total + self.guide * guide
        return total, parts


def _check_attentions(options: Any, name: str, looked: Sequence[str], plan: Plan, mistakes: Mistakes) -> None:
    """Check each attention, and what several attentions with the same queries must share."""
    for one, source in zip(options.attention, looked, strict=True):
        check_over(one, options, plan, mistakes)
        check_attention(
            one,
            mistakes,
            user=f"a {options.type} decoder",
            gives=("query", "truth"),
            together=True,
            truths=_places(source, name, plan),
            truth_type="places",
        )
    if len(set(looked)) < len(looked):
        mistakes.add("two attentions attend to the same input.", fix="Keep one of them.")
    if len({one.guide for one in options.attention}) > 1:
        mistakes.add(
            "the attentions have different weights of guide.", "guide", fix="Give all the same guide."
        )
    _check_widths(options, looked, plan, mistakes)


def _check_widths(options: Any, looked: Sequence[str], plan: Plan, mistakes: Mistakes) -> None:
    """Require vectors of one width for dot products of several memories with the same queries."""
    if len(looked) < 2 or any(source not in plan.encoder for source in looked):
        return
    owners = {source: owner_of(plan, source) for source in looked}
    widths = {source: owner.part.key_width(owner) for source, owner in owners.items()}
    for one in options.attention:
        if one.score.part.one_size and len(set(widths.values())) > 1:
            given = ", ".join(f"{name} {width or 'unknown'}" for name, width in widths.items())
            mistakes.add(
                f"a {one.score.type} score compares vectors of one width; those of the memories are: {given}.",
                "score",
                fix="Use score: additive or general.",
            )
            return


def _places(source: str, name: str, plan: Plan) -> dict[str, Any] | None:
    """The truth columns with places in the attended input; None if it cannot have any, as a text."""
    looked_at = plan.inputs.get(source)
    if looked_at is not None and not looked_at.part.has_regions:
        return None
    return truths_about(plan, source, name, ["places"])
