"""Feed-forward decoder: the next word from a window of previous words and attention to the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from pydantic import field_validator
from torch import Tensor, nn

from regard.data.batch import BEGIN, Tokens
from regard.nn.attention import Attention, Constants, Reading
from regard.nn.attention_check import check_attention, truths_about
from regard.nn.decoders.decoder import Truth, truth_by_name
from regard.nn.decoders.glimpsing_board import guide_term
from regard.nn.decoders.output import Output, TextObjective, Unrolled
from regard.nn.decoders.stepwise import ForcedCost, StepwiseDecoder, likelihood, previous_tokens
from regard.nn.embedding import Embedding, EmbeddingOptions, build_embedding
from regard.nn.letters import Letters, linear, under
from regard.nn.memory import Memory
from regard.nn.packing import Packing, forced
from regard.nn.search import Hypotheses
from regard.nn.stepping import Step
from regard.nn.symbols import LookSymbols, MemorySymbols, factor, side_by_side
from regard.parts import Depth, Dropout, Mistakes, Plan, Settings, Size, nearest, register

GIVES = ("query", "step", "truth")
"""The fields of `Given` that the attention of this decoder receives."""


@dataclass(frozen=True)
class WindowState:
    """K hypotheses about each of B sources.

    words      (B, K, C) the last words
    constants  tensors that are computed once per source
    position   number of words read
    """

    words: Tensor
    constants: Constants
    position: int = 0

    def reorder(self, parents: Tensor) -> WindowState:
        """Hypothesis k of the new state continues hypothesis parents[b, k] of this one; (B, K') int64."""
        rows = torch.arange(len(parents), device=parents.device)[:, None]
        return replace(self, words=self.words[rows, parents])

    def select(self, rows: Tensor) -> WindowState:
        """The state of some of the sources, (B') int64."""
        return replace(self, words=self.words.index_select(0, rows), constants=self.constants.select(rows))


@register("decoder", "feed-forward")
class FeedForwardDecoder(StepwiseDecoder):
    """p(y_t | y_{t−C} … y_{t−1}, x) without a recurrence: the decoder of ABS (Rush, Chopra and Weston 2015).

        h_t = tanh(U [e(y_{t−C}); …; e(y_{t−1})] + b)                the last words
        c_t = attend([g(y_{t−C}); …; g(y_{t−1})])                    attention, with separate embeddings g
        p(y_t) = softmax(V [h_t; c_t] + b)                           the contexts of several inputs are concatenated

    Rush et al. use the encoder `smoothed` and the score `general`: p ∝ exp(x̃ P ỹ). C begin markers precede
    the first word. In training, all steps are computed at once.
    """

    class Options(StepwiseDecoder.Options, EmbeddingOptions):
        """p(y_t) = softmax(V [tanh(U [last C words]); c_t]):
        a window of previous words and attention (Rush 2015)."""

        order: Depth = 5
        """Number of previous words to read."""
        size: Size = 256
        """Units of the hidden layer."""
        attention: tuple[Attention.Options, ...] = (Attention.Options(score="general"),)
        """Attention with the window of words as the query: to every input, `{score: general}`; to one of them,
        `{over: question}`; or to some, each with its own options, `{question: {score: general}, passage: {}}`."""
        label_smoothing: Dropout = 0.0
        """Share of the target distribution that is spread evenly over the vocabulary."""

        @field_validator("attention", mode="before")
        @classmethod
        def _one_attention(cls, value: Any) -> Any:
            return (value,) if isinstance(value, dict | Settings) else value

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> FeedForwardDecoder:
        looks = _looks(options, tuple(sources))
        query = options.order * options.width_of_vectors
        return cls(
            build_embedding(options, column, read_files=read_files),
            {name: Attention.build(one, query, sources[name]) for name, one in looks.items()},
            order=options.order,
            size=options.size,
            dropout=options.dropout,
            objective=TextObjective(
                smoothing=options.label_smoothing, guide={name: one.guide for name, one in looks.items()}
            ),
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        here = mistakes.at("attention")
        if not options.attention:
            here.add(
                "a feed-forward decoder sees its input by attention alone, and this one has none.",
                fix="Leave attention out: it then attends to every input.",
            )
        for source, look in _looks(options, tuple(plan.encoder)).items():
            if source not in plan.encoder:
                here.add(f"no input is named {source!r}.", "over", fix=nearest(source, list(plan.encoder)))
            check_attention(
                look,
                here,
                user="a feed-forward decoder",
                gives=GIVES,
                together=False,
                truths=truths_about(plan, source, name, ("alignment", "places")),
            )
            if look.score.part.one_size:
                here.add(
                    f"score: {look.score.type} needs queries and keys of one size; a query is {options.order} "
                    "embeddings.",
                    "score",
                    fix="Use score: general.",
                )
        named = [one.over for one in options.attention]
        if len(set(named)) < len(named) or (None in named and len(named) > 1):
            here.add("two attentions attend to the same input.", fix="Keep one of them.")
        if options.over is not None:
            mistakes.add(
                "over has no effect: a feed-forward decoder reads only the inputs that it attends to.",
                "over",
                fix="Leave it out, or name that input:  attention: {over: …}.",
            )

    @classmethod
    def attends_to(
        cls, options: Mapping[str, Any], column: Mapping[str, Any], read: Sequence[str]
    ) -> Sequence[str]:
        return read

    @classmethod
    def reads_positions(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return tuple(_looks(options, tuple(plan.encoder)))

    @classmethod
    def reads_summaries(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return ()

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        looks = cls._symbols(options, memories)
        words = [f"E_y[y_{{t−{back}}}]" for back in range(options.order, 0, -1)]
        asked = [word.replace("E", "G", 1) for word in words]
        dropout = f", dropout {options.dropout}" if options.dropout else ""
        return [
            "t = 1 … T     — y_T: the end token; y_s for s < 1: the begin token",
            f"s_t = tanh(U_y {side_by_side(words)} + b_u)",
            f"q_t = {side_by_side(asked)}     — the query",
            *(line for one, look in looks.values() for line in Attention.equations(one, look)),
            f"p(y_t) = softmax(V_y {side_by_side(['s_t', *(look.context for _, look in looks.values())])} + b_y)",
            f"— {options.size} units, vectors of {options.width_of_vectors}{dropout}",
        ]

    @classmethod
    def _symbols(
        cls, options: Any, memories: Mapping[str, MemorySymbols]
    ) -> dict[str, tuple[Any, LookSymbols]]:
        """The options and the symbols of each look, by input."""
        found = {}
        for number, (name, one) in enumerate(_looks(options, tuple(memories)).items()):
            primes = "′" * number
            found[name] = (one, LookSymbols("q_t", memories[name], mark=f"a{primes}", prime=primes))
        return found

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        looks: Letters = {}
        for name, (one, look) in cls._symbols(options, memories).items():
            looks = {**looks, **under(f"reading.attentions.{name}", Attention.letters(one, look))}
        return {
            "embedding.weight": "E_y",
            "asking.weight": "G_y",
            **linear("hidden", "U_y", "b_u"),
            **looks,
            **linear("output", "V_y", "b_y"),
        }

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        costs, notes = likelihood(options.label_smoothing), list[str]()
        looks = cls._symbols(options, memories).values()
        for one, look in looks:
            if one.guide:
                costs = f"{costs} − {factor(one.guide)}Σ_t {guide_term(look)}"
                notes.append(f"— {look.sub('a', 't', look.index)}: the true alignment")
            notes += one.select.part.loss_lines(one.select, look, lasting=False)
        costs = f"({costs})" if any(one.guide for one, _ in looks) else costs
        return [f"loss = {costs} / T     — mean over the target tokens", *notes]

    @classmethod
    def board_algorithm(cls, options: Any) -> list[str]:
        return ["teacher forcing, back-propagation"]

    def __init__(
        self,
        embedding: Embedding,
        attention: Mapping[str, Attention],
        *,
        order: int = 5,
        size: int = 256,
        dropout: float = 0.0,
        objective: TextObjective | None = None,
    ) -> None:
        super().__init__()
        self.embedding, self.order = embedding, order
        self.objective = objective or TextObjective()
        self.asking = Embedding(embedding.vocabulary, embedding.size, dropout=embedding.dropout.p)
        self.reading = Reading(attention)
        self.hidden = nn.Linear(order * embedding.size, size)
        self.output = Output(size + self.reading.context_size, embedding.vocabulary)
        self.dropout = nn.Dropout(dropout)

    def _readout(
        self, words: Tensor, memories: Mapping[str, Memory], constants: Constants, step: int | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Windows of words (B, T, C) → the input of the output layer (B, T, O), and the attention weights."""
        assert self.reading is not None
        read = self.reading(self.asking(words).flatten(2), memories, constants, step)
        hidden = torch.tanh(self.hidden(self.embedding(words).flatten(2)))
        return torch.cat([hidden, read.context], -1), read.weights

    def _constants(self, memories: Mapping[str, Memory], truth: Truth) -> Constants:
        assert self.reading is not None
        return Constants(self.reading.keys(memories), truth=truth_by_name(truth, self.attended))

    # One step, for every search.

    def start(self, memories: Mapping[str, Memory], *, truth: Truth = None) -> WindowState:
        rows = memories[self.attended[0]].mask
        words = torch.full((len(rows), 1, self.order), BEGIN, device=rows.device)
        return WindowState(words, self._constants(memories, truth))

    def step(self, tokens: Tensor, state: WindowState, memories: Mapping[str, Memory]) -> Step:
        """The previous words (B, K) of K hypotheses → logits of the next ones."""
        words = torch.cat([state.words[..., 1:], tokens.unsqueeze(-1)], -1)  # (B, K, C)
        readout, looks = self._readout(words, memories, state.constants, state.position)
        advanced = replace(state, words=words, position=state.position + 1)
        return Step(self.output(self.dropout(readout)), advanced, looks)

    # Whole outputs.

    def unroll(
        self, memories: Mapping[str, Memory], previous: Tensor, packing: Packing, *, truth: Truth = None
    ) -> Unrolled:
        """Teacher forcing: previous words (B, T), the first of them BEGIN, known in advance."""
        padded = nn.functional.pad(previous, (self.order - 1, 0), value=BEGIN)
        windows = padded.unfold(1, self.order, 1)  # (B, T, C)
        readouts, looks = self._readout(windows, memories, self._constants(memories, truth), None)
        return Unrolled(packing.pack(readouts), packing.pack_all(looks))

    def forced_cost(
        self, memories: Mapping[str, Memory], target: Tokens, *, truth: Truth = None
    ) -> ForcedCost:
        previous, following, packing = forced(target)
        unrolled = self.unroll(memories, previous, packing, truth=truth)
        readouts = self.dropout(unrolled.readouts)
        total, likelihood = self.output.loss(
            readouts, packing.pack(following), smoothing=self.objective.smoothing
        )
        looked, parts = self.objective.of_looks(
            unrolled, memories, packing, truth_by_name(truth, self.attended)
        )
        return ForcedCost(
            total, likelihood, lambda theirs: self.output.distilled(readouts, theirs), looked, parts
        )

    @torch.no_grad()
    def distribution(self, memories: Mapping[str, Memory], target: Tokens) -> Tensor:
        previous, _, packing = forced(target)
        return torch.softmax(self.output(self.unroll(memories, previous, packing).readouts), -1)

    def repeat(self, found: Hypotheses, memories: Mapping[str, Memory]) -> None:
        previous, packing = previous_tokens(found)
        self.unroll(memories, previous, packing)


def _looks(options: Any, inputs: Sequence[str]) -> dict[str, Any]:
    """The options of the attention to each input; one that names no input is for all of them."""
    return {name: one for one in options.attention for name in (inputs if one.over is None else (one.over,))}
