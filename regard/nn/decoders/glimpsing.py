"""Glimpsing: what decoders have in common that answer a whole input at once, from summaries and a few looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from regard.nn.attention import Attention, check_attention, truths_about
from regard.nn.combining import Beside, Combine, Gated, HiddenActivation
from regard.nn.decoders.decoder import BatchView, Decoder, Source, Truth, truth_by_name
from regard.nn.decoders.reading import Reading
from regard.nn.guide import guide_total
from regard.nn.memory import Memory
from regard.nn.stepping import Constants
from regard.nn.symbols import LookSymbols, MemorySymbols, factor, side_by_side
from regard.nn.whereabouts import axes, whereabouts
from regard.parts import Depth, Mistakes, Plan, Size, nearest
from regard.trace import Glimpses, Trace


def wanted(truth: Tensor, glimpses: int) -> Tensor:
    """(B, K, S): the rows given, and the first one for every glimpse that has none of its own."""
    own = nn.functional.pad(truth, (0, 0, 0, glimpses - truth.shape[1]))
    return torch.where((own > 0).any(-1, keepdim=True), own, truth[:, :1])


class GlimpsingDecoder(Decoder):
    """V s + b, or with `hidden` V h + b, where h is

        beside   relu(W s + c), or tanh of it
        gated    what is asked gates every other part of s, each on its own (`Gated`)

    Without attention, s is the summary of every source, side by side. With it, s is the contexts of the attended
    memories beside the summaries of the others. The query is learned, or the summary of the source named by `query`.
    Several `glimpses` have a query each, q_k = W_k q, and s holds what each of them read. Where the right places are
    known, row k of the truth is that of glimpse k, and row 0 that of every glimpse without one.

    whole           the summaries of the attended memories too, for what no glimpse tells: how many there are
    where           where each glimpse looked, and how that lies to the one before: left of it, above
    """

    class Options(Decoder.Options):
        """Shared by decoders that answer the whole input at once."""

        attention: Attention.Options | None = None
        """Look at an input instead of taking its summary."""
        query: str | None = None
        """The input whose summary asks, a question about an image for instance; default: a learned query."""
        glimpses: Depth = 1
        """Looks of the attention, each with a query of its own."""
        whole: bool = False
        """With attention: the summaries of the attended inputs too, which hold what no glimpse sees: how many there
        are."""
        where: bool = False
        """With attention: where each glimpse looked too, and how that lies to the one before: left of it, above."""
        hidden: Size | None = None
        """Write from relu(W s + b) of this size, so that inputs can act on each other; default: from s itself."""
        activation: HiddenActivation = "relu"
        """With hidden. tanh: tanh(W s + b) (Hermann 2015)."""
        combine: Combine = "beside"
        """With hidden. gated: what asks, or the last input, decides which features of each other part count, and
        how."""

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
        if "activation" in options.model_fields_set and (
            options.hidden is None or options.combine == "gated"
        ):
            gated = options.hidden is not None
            mistakes.add(
                "activation is that of a hidden layer, and this decoder has "
                + ("a gated one, whose is tanh." if gated else "none."),
                "activation",
                fix="Use combine: beside." if gated else "Add  hidden: 128, or leave it out.",
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
            user=f"a {options.type} decoder",
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
    def build_looks(cls, options: Any, sources: Mapping[str, Any]) -> dict[str, Attention] | None:
        """The attention of the options, by the memory it looks at."""
        if options.attention is None:
            return None
        over = options.attention.over or next(iter(sources))
        size = getattr(options.attention.score, "size", None) or sources[over].value_size
        if options.query is not None and options.glimpses == 1:
            size = sources[options.query].summary_size  # the summary itself is the query
        return {over: Attention.build(options.attention, size, sources[over])}

    @classmethod
    def shared_settings(cls, options: Any) -> dict[str, Any]:
        """The keywords of `__init__` that the shared options say."""
        names = ("query", "glimpses", "whole", "where", "hidden", "activation", "combine", "dropout")
        guide = 0.0 if options.attention is None else options.attention.guide
        return {name: getattr(options, name) for name in names} | {"guide": guide}

    @classmethod
    def answer(cls, state: str) -> str:
        """The equation of what is written, from what was gathered."""
        raise NotImplementedError

    @classmethod
    def guided(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> tuple[str, list[str]]:
        """What a guide takes from a loss, and the lines below; nothing without a guide."""
        look = cls._looking(options, memories)
        if look is None or not options.attention.guide:
            return "", []
        guide = f"Σ_k {guide_term(look)} / {options.glimpses}" if look.step else guide_term(look)
        truth = f"— {look.sub('a', look.step, look.index)}: the true places"
        return f" − {factor(options.attention.guide)}{guide}", [truth]

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        look = cls._looking(options, memories)
        lines: list[str] = []
        parts: list[list[str]] = []  # each in the pieces of a concatenation
        attended = options.attention and (options.attention.over or next(iter(memories)))
        if look is not None:
            lines = cls._look_lines(options, memories, look)
            parts.append(_all_of("c", look.step, options.glimpses))
            if options.where:
                parts.append([*_all_of("φ", look.step, options.glimpses), *_moves(options.glimpses)])
            parts += [[memories[attended].summary]] if options.whole else []
        others = [name for name in memories if name != attended]
        asking = options.query or (others[-1] if others else None)
        parts += [[memories[name].summary] for name in others if name != asking]
        asked = [] if asking is None else [memories[asking].summary]
        dropout = [f"— dropout {options.dropout}"] if options.dropout else []
        if options.hidden is None:
            whole = side_by_side([*chain.from_iterable(parts), *asked])
            return [*lines, cls.answer(whole), *dropout]
        return [*lines, *_hidden_lines(options, parts, asked, cls.answer), *dropout]

    @classmethod
    def _looking(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> LookSymbols | None:
        if options.attention is None:
            return None
        step = "k" if options.glimpses > 1 else ""
        query = f"q_{step}" if step else "q"
        if options.query is not None and not step:
            query = memories[options.query].summary
        over = options.attention.over or next(iter(memories))
        return LookSymbols(query, memories[over], step=step, count=str(options.glimpses))

    @classmethod
    def _look_lines(cls, options: Any, memories: Mapping[str, MemorySymbols], look: LookSymbols) -> list[str]:
        """What is asked, where that is looked for, and where that was."""
        lines = [f"k = 1 … {options.glimpses}"] if look.step else []
        if options.query is None:
            lines.append(f"— {look.query}: learned")
        elif look.step:
            lines.append(f"q_k = Q_yk {memories[options.query].summary} + b_yk")
        lines += Attention.equations(options.attention, look)
        if options.where:
            j = look.index
            place = f"ξ_{j}: the middle of position {j}, −1 … 1 along each axis"
            lines.append(f"{look.sub('φ', look.step)} = Σ_{j} {look.weight} ξ_{j}     — {place}")
        return lines

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
        """The inputs whose summaries are read, without the one that asks."""
        return [name for name in self.summarized if name != self.asking]

    def forward(
        self, memories: Mapping[str, Memory], *, truth: Truth = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """What is written (B, outputs), and the looks of the K glimpses, (B, K, S) by name."""
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

    def with_guide(
        self, total: Tensor, looks: Mapping[str, Tensor], truth: Truth
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """A loss with what its looks cost, where the right places are known, and its parts."""
        parts = {"likelihood": total.detach()}
        if truth is not None and self.guide and self.reading is not None:
            for name, alignment in truth_by_name(truth, self.reading.names).items():
                guide = guide_total(wanted(alignment, self.glimpses), looks[name]) / self.glimpses
                parts["guide"] = parts.get("guide", torch.zeros_like(guide)) + guide.detach()
                total = total + self.guide * guide
        return total, parts


def glimpsed(
    view: BatchView,
    row: int,
    looks: Mapping[str, Tensor],
    answer: str,
    score: float,
    kind: str,
    asking: str = "",
) -> Trace:
    """The trace of one row: all glimpses (B, K, S) in one look, and each by itself where there are several.

    asking   the input each of whose words had a glimpse
    """
    inputs = view.inputs(row)
    names = tuple(inputs[asking]) if asking else ()
    looks = {name: weights[row : row + 1, : len(names) or None] for name, weights in looks.items()}
    attention = {
        name: weights[0].mean(0, keepdim=True)[:, : len(inputs[name])].numpy()
        for name, weights in looks.items()
    }
    return Trace(
        input=inputs,
        output=[answer],
        attention=attention,
        truth=_truth(view, row, attention),
        scores=np.array([score]),
        kind=kind,
        overridden=view.overridden,
        glimpses={
            name: _glimpses(weights[0], view.truth.get(name), row, len(inputs[name]), names)
            for name, weights in looks.items()
            if weights.shape[1] > 1 or names
        },
    )


def _glimpses(weights: Tensor, truth: Any, row: int, positions: int, names: tuple[str, ...]) -> Glimpses:
    """The looks (K, S) of one row, each beside where it should have been."""
    known = None
    if isinstance(truth, Tensor) and 0 < truth.shape[1] <= len(weights):
        known = wanted(truth[row : row + 1], len(weights))[0, :, :positions].numpy()
    return Glimpses(weights[:, :positions].numpy(), known, names)


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


def guide_term(look: LookSymbols) -> str:
    """What the guide of one look adds to a log-likelihood: a_tj is the true alignment."""
    return f"Σ_{look.index} {look.sub('a', look.step, look.index)} log({look.weight})"


def _all_of(letter: str, step: str, count: int) -> list[str]:
    """`c_1`, `c_2`, … of c_k, as pieces of a concatenation."""
    if not step:
        return [letter]
    if count < 4:
        return [f"{letter}_{number}" for number in range(1, count + 1)]
    return [f"{letter}_1", "…", f"{letter}_{count}"]


def _moves(count: int) -> list[str]:
    """From each look to the next."""
    return [f"φ_{number} − φ_{number - 1}" for number in range(2, count + 1)]


def _hidden_lines(
    options: Any, parts: Sequence[Sequence[str]], asking: Sequence[str], answer: Callable[[str], str]
) -> list[str]:
    """One hidden layer, and the answer (`Beside`, `Gated`)."""
    if options.combine == "beside":
        whole = side_by_side([*chain.from_iterable(parts), *asking])
        return [
            f"r = {options.activation}(W_r {whole} + b_r)     — {options.hidden} units",
            answer("r"),
        ]
    gate = asking[0]
    lines = [
        f"r_{n} = tanh(W_r{n} {side_by_side(part)} + b_r{n}) ⊙ tanh(U_r{n} {gate} + c_r{n})"
        for n, part in enumerate(parts, start=1)
    ]
    whole = side_by_side([f"r_{n}" for n in range(1, len(parts) + 1)])
    return [*lines, answer(whole), f"— {options.hidden} units in each r"]


def _places(options: Any, name: str, plan: Plan) -> dict[str, Any] | None:
    """The truth columns with places in what is looked at; None for an input that has none, a text."""
    (source,) = GlimpsingDecoder.reads_positions(options, name, plan)
    looked_at = plan.inputs.get(source)
    if looked_at is not None and not looked_at.part.perceived:
        return None
    return truths_about(plan, source, name, ["places"])
