"""The steps of the recurrent decoder: its weights, its state and one step,
for teacher forcing and every search."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard.data.batch import Tokens
from regard.errors import RegardError
from regard.nn.attention import Attention, Constants, Read, Reading
from regard.nn.copying import Copying
from regard.nn.decoders import copied, step_by_step
from regard.nn.decoders.conditioning import (
    AtOutput,
    AttentionState,
    Bridging,
    Condition,
    OutputGate,
    Readout,
    at_output,
    check_given,
    check_last_states,
)
from regard.nn.decoders.decoder import BatchView, Source, Truth, summaries, truth_by_name
from regard.nn.decoders.output import Output, TextObjective, Unrolled
from regard.nn.decoders.step_by_step import ScheduledSamplingOptions
from regard.nn.decoders.stepwise import StepwiseDecoder
from regard.nn.embedding import Embedding
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.path import faster
from regard.nn.recurrence import Bridge, Stack, by_layer, handed_on
from regard.nn.search import Hypotheses
from regard.nn.selections import ScoreFunction
from regard.nn.stepping import Step
from regard.parts import Options, find
from regard.parts.definition import remember
from regard.trace.prediction import Prediction

# word, summary and context are projected separately, each as soon as it is known
NOT_LINEAR = (
    "cell: {} computes more than W x + b of its input. This works in encoders only: a decoder projects the parts of "
    "its input separately."
)
OTHER_CELL = "Choose another cell, or options of it without layers before the gates."


@dataclass(frozen=True)
class StepConstants(Constants):
    """Tensors that the decoder computes once per source and all hypotheses share.

    projected  (B, 1, G) the summary's share of the gates, if it is an input at every step
    prepared   what a path has prepared for its steps: an object with `step(decoder, tokens, state)`
               and `select(rows)`
    places     (B, S) the choice for the word at each position of the source, if the decoder copies
    at_output  how the summary conditions the output layer, if it does
    """

    projected: Tensor | None = None
    prepared: Any = None
    places: Tensor | None = None
    at_output: AtOutput | None = None

    def select(self, rows: Tensor) -> StepConstants:
        return replace(
            cast(StepConstants, super().select(rows)),
            projected=None if self.projected is None else self.projected.index_select(0, rows),
            prepared=None if self.prepared is None else self.prepared.select(rows),
            places=None if self.places is None else self.places.index_select(0, rows),
            at_output=None if self.at_output is None else self.at_output.select(rows),
        )


@dataclass(frozen=True)
class State:
    """K hypotheses about each of B sources.

    layers     one (B, K, state) for each layer
    feed       (B, K, O) the last attentional vector, if it is fed back
    position   number of words read
    looks      (B, K, S) the attention history of each memory whose score uses it, in the form that the score
               keeps
    """

    layers: tuple[Tensor, ...]
    feed: Tensor | None
    constants: StepConstants
    position: int = 0
    looks: Mapping[str, Tensor] = field(default_factory=dict)

    def reorder(self, parents: Tensor) -> State:
        """Hypothesis k of the new state continues hypothesis parents[b, k] of this one; (B, K') int64."""
        hypotheses = self.layers[0].shape[1]
        rows = torch.arange(len(parents), device=parents.device)[:, None] * hypotheses + parents

        def follow(tensor: Tensor) -> Tensor:
            flat = tensor.reshape(-1, tensor.shape[-1])
            return flat.index_select(0, rows.reshape(-1)).view(*parents.shape, -1)

        return replace(
            self,
            layers=tuple(follow(layer) for layer in self.layers),
            feed=None if self.feed is None else follow(self.feed),
            looks={name: follow(weights) for name, weights in self.looks.items()},
        )

    def select(self, rows: Tensor) -> State:
        """The state of some of the sources, (B') int64."""
        return replace(
            self,
            layers=tuple(layer.index_select(0, rows) for layer in self.layers),
            feed=None if self.feed is None else self.feed.index_select(0, rows),
            looks={name: weights.index_select(0, rows) for name, weights in self.looks.items()},
            constants=self.constants.select(rows),
        )


@remember
class RecurrentSteps(StepwiseDecoder):
    """s_t from s_{t−1}, the previous word and the context. See `RecurrentDecoder` for the arguments; it
    computes whole outputs with these steps."""

    seen: Tensor

    def __init__(
        self,
        embedding: Embedding,
        sources: Mapping[str, Source],
        *,
        cell: str | Options = "gru",
        size: int = 256,
        layers: int = 1,
        condition: Sequence[Condition] = ("start", "attention"),
        bridge: Bridging = "tanh",
        attention: Mapping[str, Attention] | None = None,
        state: AttentionState = "previous",
        feed: bool = True,
        gated: Collection[str] = (),
        deep: bool = False,
        tied: bool = False,
        dropout: float = 0.0,
        residual: bool = False,
        objective: TextObjective | None = None,
        sampling: ScheduledSamplingOptions | None = None,
        copies: tuple[str, Sequence[str]] | None = None,
        levels: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        check_given(condition, attention, sources, state)
        chosen = find("cell", cell).Options() if isinstance(cell, str) else cell
        if not chosen.part.linear_input(chosen):
            raise RegardError(NOT_LINEAR.format(chosen.type), where="decoder.cell", fix=OTHER_CELL)
        self.embedding, self.names, self.condition = embedding, tuple(sources), tuple(condition)
        self.objective, self.sampling = objective or TextObjective(), sampling
        self.by_words = tuple(name for name, level in (levels or {}).items() if level != "positions")
        if sampling is not None:
            # number of batches seen; a buffer, so that a resumed run continues from its count
            self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.reading = Reading(attention or {}, gated) if "attention" in condition else None
        self.looks_after = self.reading is not None and state == "current"
        self.feeds = self.looks_after and feed
        self.looks_before = self.reading is not None and state == "previous"
        context_size = self.reading.context_size if self.reading else 0
        self.score_function = None
        if self.reading is not None and self.reading.draws:
            self.score_function = ScoreFunction(
                self.reading.drawing,
                vocabulary=embedding.vocabulary,
                lasting=self.feeds or self.looks_before,
            )
        summary_size = sum(source.summary_size for source in sources.values())
        self.summary_size = summary_size if "every-step" in condition else 0
        self.readout_size = embedding.size if tied else size
        self.before = nn.Linear(summary_size, embedding.size) if "first-input" in condition else None
        self.gate = OutputGate(summary_size, size) if "gate" in condition else None
        merged = summary_size if "output" in condition else 0
        self.says_summary = self.gate is not None or merged > 0

        read_size = self.readout_size if self.feeds else context_size if self.looks_before else 0
        self.stack = Stack(
            embedding.size + self.summary_size + read_size,
            size,
            cell=cell,
            layers=layers,
            dropout=dropout,
            residual=residual,
        )
        self.bridge, self.handed = None, "start" in condition and bridge == "copy"
        if self.handed:
            check_last_states(sources, self.stack)
        elif "start" in condition:
            self.bridge = Bridge(summary_size, self.stack, squashes=bridge == "tanh")
        self.first = None if "start" in condition else nn.Parameter(torch.zeros(self.stack.states))
        self.deep = deep
        known = size + context_size + (embedding.size if deep else 0)
        combines = deep or self.looks_after or merged > 0
        self.combine = Readout(known, merged, self.readout_size) if combines else None
        narrow = tied and self.combine is None and size != embedding.size
        self.narrow = nn.Linear(size, embedding.size, bias=False) if narrow else None
        self.output = Output(self.readout_size, embedding.vocabulary, tied=embedding if tied else None)
        self.dropout = nn.Dropout(dropout)
        self.copying = None
        if copies is not None:
            source, pieces = copies
            self.copying = Copying(source, size + context_size + embedding.size, pieces)

    def summary(self, memories: Mapping[str, Memory]) -> Tensor:
        """(B, D) the concatenated summaries of all sources."""
        return summaries(memories, self.names)

    @property
    def timeless(self) -> bool:
        if self.reading is None:
            return True
        return not any("step" in self.reading.attention(name).select.needs for name in self.reading.names)

    def start(
        self, memories: Mapping[str, Memory], *, truth: Truth = None, drawing: Tensor | None = None
    ) -> State:
        """The state before the first word, of one hypothesis for each source;
        `drawing` (B): the rows that sample."""
        attended = self.reading.names if self.reading else ()
        keys = self.reading.keys(memories) if self.reading else {}
        summary = self.summary(memories)
        rows = summary.shape[0]
        if self.handed:
            layers = handed_on(memories[self.names[0]], self.stack)
        elif self.bridge is not None:
            layers = self.bridge.first_states(summary)
        else:
            layers = by_layer(cast(Tensor, self.first).expand(rows, -1), len(self.stack.cells))
        projected = None
        if self.summary_size:
            low = self.embedding.size
            projected = nn.functional.linear(
                summary, self.stack.cell(0).weight_ih[:, low : low + self.summary_size]
            ).unsqueeze(1)
        if self.before is not None:
            seen = self.projected(self.before(summary).unsqueeze(1), projected)
            _, layers = self.stack(seen, layers)
        feed = summary.new_zeros(rows, 1, self.readout_size) if self.feeds else None
        laid_out = None
        if not torch.is_grad_enabled():
            laid_out = faster("decoder.step", summary.device, self, memories, keys)
        places = None if self.copying is None else self.copying.places(memories[self.copying.source])
        known = truth_by_name(truth, attended)
        said = at_output(summary, self.gate, self.combine) if self.says_summary else None
        constants = StepConstants(
            keys, known, drawing, projected=projected, prepared=laid_out, places=places, at_output=said
        )
        looks = self.reading.first_looks(memories) if self.reading else {}
        return State(layers, feed, constants, looks=looks)

    def step(self, tokens: Tensor, state: State, memories: Mapping[str, Memory]) -> Step:
        """The previous words (B, K) of K hypotheses → logits of the next ones."""
        if state.constants.prepared is not None and not torch.is_grad_enabled():
            stepped: Step = state.constants.prepared.step(self, tokens, state)
            return stepped
        embedded = self.embedding(self.known(tokens))
        projected = self.project(embedded, state)
        state, output, read = self.advance(projected, embedded, state, memories, at_once=True)
        context = None if read is None else read.context
        readout = state.feed
        if readout is None:
            readout = self.readout(output, context, embedded, state.constants.at_output)
        logits = self.output(self.dropout(readout))
        if self.copying is not None and read is not None:
            logits = self.mixed(logits, output, read, embedded, state.constants)
        return Step(logits, state, {} if read is None else read.weights)

    def known(self, tokens: Tensor) -> Tensor:
        """Previous words as ids of the vocabulary."""
        return tokens if self.copying is None else self.copying.read(tokens)

    def mixed(
        self, logits: Tensor, output: Tensor, read: Read, embedded: Tensor, constants: StepConstants
    ) -> Tensor:
        """(B, K, V + S) log-probabilities of all words that can be written or copied, from logits (B, K, V)."""
        copying = cast(Copying, self.copying)
        gates = copying.gates(output, read.context, embedded)
        places = cast(Tensor, constants.places)
        return copying.log_probabilities(logits, gates, read.weights[copying.source], places)

    @property
    def copies_from(self) -> str | None:
        return None if self.copying is None else self.copying.source

    def targets(self, memories: Mapping[str, Memory], target: Tokens) -> Tokens:
        """A given output as choices.
        If the decoder copies, words outside the vocabulary become source positions."""
        if self.copying is None:
            return target
        return self.copying.targets(memories[self.copying.source], target)

    def project(self, embedded: Tensor, state: State) -> Tensor:
        """The known part of the first layer's gates before the recurrence: the word and the summary."""
        return self.projected(embedded, state.constants.projected)

    def projected(self, embedded: Tensor, summary: Tensor | None) -> Tensor:
        """The same, from vectors (B, T, E) and the summary's share (B, 1, G)."""
        cell = self.stack.cell(0)
        projected = nn.functional.linear(
            embedded, cell.weight_ih[:, : self.embedding.size], cell.bias_ih
        )  # (B, T, G)
        return projected if summary is None else projected + summary

    def advance(
        self,
        projected: Tensor,
        embedded: Tensor,
        state: State,
        memories: Mapping[str, Memory],
        *,
        at_once: bool = False,
    ) -> tuple[State, Tensor, Read | None]:
        """The recurrence: the new state, the stack's output, and the context.

        at_once   the step is one of a search, which needs neither scores nor a gradient
        """
        read, feed = None, None
        read_weight = self.stack.cell(0).weight_ih[:, self.embedding.size + self.summary_size :]
        if self.looks_before and self.reading:
            query = self.stack.top(state.layers)
            read = self._read(query, memories, state, at_once=at_once)
            projected = projected + nn.functional.linear(read.context, read_weight)
        elif state.feed is not None:
            projected = projected + nn.functional.linear(state.feed, read_weight)
        output, layers = self.stack(projected, state.layers)
        if self.looks_after and self.reading:
            read = self._read(output, memories, state, at_once=at_once)
            if self.feeds:
                feed = self.readout(output, read.context, embedded, state.constants.at_output)
        kept = self.reading.remember(state.looks, read.weights) if self.reading and read else {}
        advanced = replace(state, layers=layers, feed=feed, position=state.position + 1, looks=kept)
        return advanced, output, read

    def _read(self, query: Tensor, memories: Mapping[str, Memory], state: State, *, at_once: bool) -> Read:
        reading = cast(Reading, self.reading)
        found: Read | None = None
        if at_once:
            found = faster("decoder.read", query.device, reading, query, memories, state.constants.keys)
        if found is None:
            found = reading(query, memories, state.constants, state.position, state.looks)
        return found

    def readout(
        self, output: Tensor, context: Tensor | None, embedded: Tensor, at_output: AtOutput | None = None
    ) -> Tensor:
        """The input of the output layer, (…, O)."""
        if at_output is not None and at_output.gates is not None:
            output = output * at_output.gates
        if self.combine is None:
            return output if self.narrow is None else self.narrow(output)
        found = [output, *([] if context is None else [context]), *([embedded] if self.deep else [])]
        combined: Tensor = self.combine(torch.cat(found, -1), None if at_output is None else at_output.share)
        return combined

    def unroll_plain(
        self,
        memories: Mapping[str, Memory],
        previous: Tensor,
        packing: Packing,
        *,
        truth: Truth = None,
        drawing: Tensor | None = None,
        looks: bool = True,
    ) -> Unrolled:
        """Step by step, for all options. In training, some words are sampled from the model (`sampling`). The
        attention weights are always returned."""
        return step_by_step.unroll(self, memories, previous, packing, truth=truth, drawing=drawing)

    def sampled_share(self) -> float:
        """The probability that a previous word is sampled from the model, in training."""
        if self.sampling is None or not self.training:
            return 0.0
        return self.sampling.share * min(1.0, int(self.seen) / self.sampling.steps)

    # Copied words.

    def spell(self, ids: Sequence[int], column: Any, view: BatchView, row: int) -> list[str]:
        if self.copying is None:
            return super().spell(ids, column, view, row)
        return copied.spelled(self.copying, ids, column, view, row)

    def readable(self, ids: Sequence[int], column: Any, view: BatchView, row: int) -> list[str]:
        if self.copying is None:
            return super().readable(ids, column, view, row)
        return copied.readable(self.copying, ids, column, view, row)

    @torch.no_grad()
    def with_structures(
        self,
        answers: Sequence[Prediction],
        found: Hypotheses,
        memories: Callable[[], Mapping[str, Memory]],
        *,
        samples: int,
        seed: int,
    ) -> list[Prediction]:
        """Add where the words of the best answer were copied from to the jointly selected structures."""
        shown = super().with_structures(answers, found, memories, samples=samples, seed=seed)
        if self.copying is None or all(answer.trace is None for answer in shown):
            return shown
        return copied.shown(self, shown, found, memories())


STEPS = ("start", "known", "project", "projected", "advance", "_read", "readout")
"""The methods that make up the steps."""
