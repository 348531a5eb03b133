"""Recurrent decoder: writes one word after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import torch
from pydantic import ConfigDict, Field, field_validator
from torch import Tensor

from regard.data.batch import Tokens
from regard.nn.cells import AnyCell
from regard.nn.copying import CopyOptions, check_copying, copied_input, first_copyable
from regard.nn.decoders import at_once, copied, recurrent_board
from regard.nn.decoders.conditioning import (
    Bridging,
    Condition,
    TextAttentionOptions,
    build_attention,
    check_attentions,
    check_bridge,
    check_condition,
)
from regard.nn.decoders.decoder import Truth, truth_by_name
from regard.nn.decoders.output import Distilled, TextObjective, Unrolled, check_tie
from regard.nn.decoders.recurrent_steps import NOT_LINEAR, OTHER_CELL, STEPS, RecurrentSteps
from regard.nn.decoders.step_by_step import ScheduledSamplingOptions
from regard.nn.decoders.stepwise import ForcedCost, StepwiseDecoder, previous_tokens
from regard.nn.embedding import EmbeddingOptions, build_embedding
from regard.nn.letters import Letters
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.packing import Packing, forced
from regard.nn.path import Replaces, faster
from regard.nn.recurrence import check_residual
from regard.nn.search import Hypotheses
from regard.nn.symbols import MemorySymbols
from regard.parts import Depth, Dropout, Mistakes, Plan, Settings, Size, register


@register("decoder", "recurrent")
class RecurrentDecoder(RecurrentSteps):
    """p(y | x) = Π_t p(y_t | y_<t, x) with a recurrent state s_t.

    `condition` says how the encoding reaches the decoder, in any combination:

        start        s_0 = tanh(W summary + b), or as `bridge` says; otherwise s_0 is learned
        first-input  P summary + d is read before the first word: s_0 = cell(s_{−1}, P summary + d)    (Vinyals 2015)
        every-step   the summary is an input of each step
        output       the summary enters the output layer: o_t = tanh(W [s_t; summary] + b)          (Mao 2015)
        gate         the summary gates the state before the output layer: σ(G summary + d) ⊙ s_t replaces s_t
        attention    a new context c_t at each step, computed from the `state`
          previous           c_t = attend(s_{t−1}),  s_t = cell([e(y_{t−1}); c_t], s_{t−1}),  o_t = s_t  (Bahdanau 2015)
          current            s_t = cell([e(y_{t−1}); o_{t−1}], s_{t−1}),  c_t = attend(s_t),
                             o_t = tanh(W [s_t; c_t] + b), fed back into the next step                    (Luong 2015)
                             without `feed`, s_t = cell(e(y_{t−1}), s_{t−1}): the context does not enter the
                             recurrence, so that training computes all steps at once

    p(y_t) = softmax(V o_t + b). With `deep`, o_t = tanh(W [s_t; c_t; e(y_{t−1})] + b) in every case. With
    `tied`, V is the embedding, and o_t has its size. The summaries and contexts of several memories are
    concatenated. With `copying`, p(y_t) is this distribution mixed with the attention over one of the
    memories, whose words can be copied (`Copying`).

    sources     the memories' sizes by name, for instance the encoders themselves
    attention   an `Attention` for each attended memory; `gated`: those whose context the state gates
    copies      the memory to copy words from, and the entries of the vocabulary in the order of their ids
    levels      "words" or "both" for the memories whose words are attended to instead of their sentences
    sampling    how the probability rises that a previous word in training is sampled from the model instead
                of read from the target (scheduled sampling, Bengio 2015)
    """

    recordable_steps = True
    small = {"cell": "gru", "size": 256, "embedding": 128, "dropout": 0.2}

    class Options(StepwiseDecoder.Options, EmbeddingOptions):
        """s_t = cell(s_{t−1}, [e(y_{t−1}); …]); p(y_t) = softmax(V s_t + b)."""

        cell: AnyCell = "gru"
        """The recurrent cell."""
        size: Size = 256
        """Units of each layer."""
        layers: Depth = 1
        """Number of stacked recurrent layers."""
        residual: bool = False
        """Add the input of each layer to its output, from the second layer on."""
        condition: tuple[Condition, ...] | None = None
        """How the encoding reaches the decoder, in any combination;
        default: start, and attention if there is one."""
        bridge: Bridging = "tanh"
        """First state from the summary h, with start in condition. tanh: tanh(W h + b). linear: W h + b.
        copy: the last state of each encoder layer, including what an LSTM carries (Sutskever 2014)."""
        attention: tuple[TextAttentionOptions, ...] = ()
        """Attention to every input, `{score: dot}`; to one of them, `{over: question}`; or to some, each with its own
        options, `{question: {score: dot}, passage: {}}`."""
        deep: bool = False
        """Predict from tanh(W [s_t; c_t; e(y_{t−1})]) instead of s_t (Bahdanau's deep output)."""
        tie: Literal["none", "output", "all"] = "none"
        """output: use the target embeddings as output weights; all: also use them as source embeddings."""
        label_smoothing: Dropout = 0.0
        """Share of the target distribution that is spread evenly over the vocabulary."""
        scheduled_sampling: ScheduledSamplingOptions | None = None
        """In training, read the model's own words with a rising probability;
        default: always the true words."""
        copy_: Annotated[CopyOptions | None, Field(alias="copy")] = None
        """Also copy words from an input, including words outside the vocabulary: true, or the name of the
        input; default: generate from the vocabulary alone."""

        model_config = ConfigDict(populate_by_name=True)  # `copy` is a method of every model of pydantic

        moved = {
            "activation": "cell: {type: rnn, activation: …}",
            "update": "cell: {type: gru, update: …}",
        }

        @field_validator("attention", mode="before")
        @classmethod
        def _one_attention(cls, value: Any) -> Any:
            return () if value is None else (value,) if isinstance(value, dict | Settings) else value

        @field_validator("copy_", mode="before")
        @classmethod
        def _copying(cls, value: Any) -> Any:
            """`copy: true`, `copy: article`."""
            if isinstance(value, bool):
                return CopyOptions() if value else None
            return {"from": value} if isinstance(value, str) else value

        @property
        def ways(self) -> tuple[Condition, ...]:
            """`condition`, with the default resolved."""
            return self.condition or (("start", "attention") if self.attention else ("start",))

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> RecurrentDecoder:
        if options.tie == "all":
            embedding = next(iter(sources.values())).embedding
        else:
            embedding = build_embedding(options, column, read_files=read_files)
        looks = {one.over or next(iter(sources)): one for one in options.attention}
        return cls(
            embedding,
            sources,
            cell=options.cell,
            size=options.size,
            layers=options.layers,
            condition=options.ways,
            bridge=options.bridge,
            attention={name: build_attention(one, options.size, sources[name]) for name, one in looks.items()}
            or None,
            levels={name: one.level for name, one in looks.items()},
            state=options.attention[0].state if options.attention else "previous",
            feed=all(one.feed for one in options.attention),
            gated=[name for name, one in looks.items() if one.gate],
            deep=options.deep,
            tied=options.tie != "none",
            dropout=options.dropout,
            residual=options.residual,
            objective=TextObjective(
                smoothing=options.label_smoothing,
                guide={name: one.guide for name, one in looks.items()},
                coverage={name: one.coverage for name, one in looks.items()},
                repetition={name: one.repetition for name, one in looks.items()},
            ),
            sampling=options.scheduled_sampling,
            copies=None
            if options.copy_ is None
            else (options.copy_.from_ or first_copyable(looks, sources), column.vocabulary.pieces),
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        if not options.cell.part.linear_input(options.cell):
            mistakes.add(NOT_LINEAR.format(options.cell.type), "cell", fix=OTHER_CELL)
        check_condition(options, mistakes)
        check_bridge(options, plan, mistakes)
        check_attentions(options, name, plan, mistakes)
        if options.copy_ is not None:
            check_copying(options, name, plan, mistakes)
        check_tie(options, name, plan, mistakes)
        check_residual(options, mistakes)

    @classmethod
    def attends_to(
        cls, options: Mapping[str, Any], column: Mapping[str, Any], read: Sequence[str]
    ) -> Sequence[str]:
        return read

    @classmethod
    def column_needs(cls, options: Any) -> dict[str, Any]:
        return {} if options.copy_ is None else {"verbatim": True}

    @classmethod
    def input_needs(cls, options: Any, name: str, plan: Plan) -> dict[str, dict[str, Any]]:
        source = None if options.copy_ is None else copied_input(options, plan)
        return {} if source is None else {source: {"verbatim": True}}

    @classmethod
    def reads_positions(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return tuple(one.over or next(iter(options.over or plan.encoder)) for one in options.attention)

    @classmethod
    def reads_summaries(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return super().reads_summaries(options, name, plan) if set(options.ways) - {"attention"} else ()

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        return recurrent_board.lines(options, memories)

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        return recurrent_board.letters(options, memories)

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        return recurrent_board.loss_lines(options, memories)

    @classmethod
    def board_algorithm(cls, options: Any) -> list[str]:
        sampling = options.scheduled_sampling
        forcing = (
            "teacher forcing"
            if sampling is None
            else f"scheduled sampling up to {sampling.share} over {sampling.steps} steps"
        )
        draws = [line for one in options.attention for line in one.select.part.algorithm(one.select)]
        return [f"{forcing}, back-propagation through time", *draws]

    # Whole outputs.

    def unroll(
        self,
        memories: Mapping[str, Memory],
        previous: Tensor,
        packing: Packing,
        *,
        truth: Truth = None,
        drawing: Tensor | None = None,
        looks: bool = True,
    ) -> Unrolled:
        """Teacher forcing: previous words (B, T), the first of them BEGIN, known in advance.

        looks   whether the attention weights are needed; else they may be left out
        """
        given = {"truth": truth, "drawing": drawing, "looks": looks}
        found: Unrolled | None = faster(
            "decoder.unroll", previous.device, self, memories, previous, packing, **given
        )
        if found is not None:
            return found
        if UNROLLED(self) and at_once.knows(self):
            return at_once.unroll(self, memories, self.known(previous), packing, truth=truth, drawing=drawing)
        return self.unroll_plain(memories, previous, packing, truth=truth, drawing=drawing)

    @torch.no_grad()
    def distribution(self, memories: Mapping[str, Memory], target: Tokens) -> Tensor:
        """(N, V) p(· | y_<t, x) at every position of the targets and their ends, packed, for distillation;
        (N, V + S) if the decoder copies."""
        previous, _, packing = forced(target)
        unrolled = self.unroll(memories, previous, packing)
        if self.copying is None:
            return torch.softmax(self.output(unrolled.readouts), -1)
        return copied.log_mixture(self, unrolled, self.output(unrolled.readouts), memories, packing).exp()

    def loss(
        self,
        memories: Mapping[str, Memory],
        target: Tokens,
        *,
        truth: Truth = None,
        distilled: Distilled | None = None,
    ) -> Loss:
        found: Loss | None = faster(
            "decoder.loss", target.ids.device, self, memories, target, truth=truth, distilled=distilled
        )
        return super().loss(memories, target, truth=truth, distilled=distilled) if found is None else found

    def forced_cost(
        self, memories: Mapping[str, Memory], target: Tokens, *, truth: Truth = None
    ) -> ForcedCost:
        previous, following, packing = forced(self.targets(memories, target))
        known = truth_by_name(truth, self.reading.names if self.reading else ())
        lengths, words = target.lengths + 1, packing.pack(following)
        drawing = None
        if self.training and self.score_function is not None:
            drawing = self.score_function.rows(len(lengths), lengths.device)
        unroll = self.unroll_plain if self.sampled_share() > 0 else self.unroll
        looks = self.copying is not None or drawing is not None or self.objective.reads_looks(known)
        unrolled = unroll(memories, previous, packing, truth=truth, drawing=drawing, looks=looks)
        readouts = self.dropout(unrolled.readouts)
        costs = None
        if self.copying is None:
            total, likelihood = self.output.loss(readouts, words, smoothing=self.objective.smoothing)
        else:
            costs = copied.costs(self, unrolled, readouts, words, memories, packing)
            total = costs.sum()
            likelihood = total.detach()
        if self.training and self.sampling is not None:
            self.seen += 1

        def distilled(theirs: Tensor) -> Tensor:
            if self.copying is None:
                return self.output.distilled(readouts, theirs)
            return copied.distilled(self, unrolled, readouts, theirs, memories, packing)

        looked, parts = self.objective.of_looks(unrolled, memories, packing, known)
        if drawing is not None and self.score_function is not None:
            costs = self.output.costs(readouts, words) if costs is None else costs.detach()
            drawn, more = self.score_function(costs, unrolled.looks, unrolled.drawn, drawing, packing)
            looked, parts = looked + drawn, parts | more
        return ForcedCost(total, likelihood, distilled, looked, parts)

    def repeat(self, found: Hypotheses, memories: Mapping[str, Memory]) -> None:
        previous, packing = previous_tokens(found)
        self.unroll_plain(memories, previous, packing)


UNROLLED = Replaces(RecurrentDecoder, methods=(*STEPS, "unroll_plain"))
"""The methods that another way to compute a whole output replaces."""
