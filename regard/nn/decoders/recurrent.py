"""Recurrent decoder: writes one word after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, cast

import torch
from torch import Tensor, nn

from regard.data.batch import Tokens
from regard.errors import RegardError
from regard.nn.attention import Attention
from regard.nn.cells import Activation, CellName, Update
from regard.nn.decoders import at_once, fused, fused_step, graphed
from regard.nn.decoders.base import Source, Truth, summaries, truth_by_name
from regard.nn.decoders.objective import Objective, Taught
from regard.nn.decoders.output import Output
from regard.nn.decoders.reading import Read, Reading, joined
from regard.nn.decoders.stack import Stack
from regard.nn.decoders.unrolled import Unrolled
from regard.nn.embedding import Embedding
from regard.nn.hard import ScoreFunction
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.search import Hypotheses, Stepper
from regard.nn.stepping import Constants, State, Step
from regard.nn.targets import forced

Condition = Literal["start", "every-step", "attention"]
Looking = Literal["previous", "current"]


class RecurrentDecoder(nn.Module):
    """p(y | x) = Π_t p(y_t | y_<t, x) with a recurrent state s_t.

    `condition` says how the encoding reaches it, in any combination:

        start        s_0 = tanh(W summary + b); otherwise s_0 is learned
        every-step   the summary is an input of each step
        attention    a fresh context c_t at each step, by `looking` from the
          previous   state:  c_t = attend(s_{t−1}),  s_t = cell([e(y_{t−1}); c_t], s_{t−1}),  o_t = s_t  (Bahdanau 2015)
          current    state:  s_t = cell([e(y_{t−1}); o_{t−1}], s_{t−1}),  c_t = attend(s_t),
                             o_t = tanh(W [s_t; c_t] + b), fed back into the next step                    (Luong 2015)
                             without `feeding`, s_t = cell(e(y_{t−1}), s_{t−1}): nothing that is read enters the
                             recurrence, so that in training all steps are taken at once

    p(y_t) = softmax(V o_t + b). With `deep`, o_t = tanh(W [s_t; c_t; e(y_{t−1})] + b) in every case.
    With `tied`, V is the embedding, and o_t has its size. Several memories: summaries and contexts side by side.

    sources     the memories' sizes by name, for instance the encoders themselves
    attention   an `Attention` for each memory to be attended to
    sampling    the probability that in training a previous word is drawn from the model instead of read from the
                target (scheduled sampling, Bengio 2015); an attribute, so that a schedule can change it
    """

    def __init__(
        self,
        embedding: Embedding,
        sources: Mapping[str, Source],
        *,
        cell: CellName = "gru",
        size: int = 256,
        layers: int = 1,
        condition: Sequence[Condition] = ("start", "attention"),
        attention: Mapping[str, Attention] | None = None,
        looking: Looking = "previous",
        feeding: bool = True,
        deep: bool = False,
        tied: bool = False,
        dropout: float = 0.0,
        residual: bool = False,
        activation: Activation = "tanh",
        update: Update = "torch",
        objective: Objective | None = None,
    ) -> None:
        super().__init__()
        _check(condition, attention, sources, looking)
        self.embedding, self.names, self.condition = embedding, tuple(sources), tuple(condition)
        self.objective, self.sampling = objective or Objective(), 0.0
        self.reading = Reading(attention or {}) if "attention" in condition else None
        self.looks_after = self.reading is not None and looking == "current"
        self.feeds = self.looks_after and feeding
        self.looks_before = self.reading is not None and looking == "previous"
        context_size = self.reading.context_size if self.reading else 0
        self.score_function = None
        if self.reading is not None and self.reading.draws:
            self.score_function = ScoreFunction(
                self.objective.drawing,
                vocabulary=embedding.vocabulary,
                lasting=self.feeds or self.looks_before,
            )
        summary_size = sum(source.summary_size for source in sources.values())
        self.summary_size = summary_size if "every-step" in condition else 0
        self.readout_size = embedding.size if tied else size

        read_size = self.readout_size if self.feeds else context_size if self.looks_before else 0
        self.stack = Stack(
            embedding.size + self.summary_size + read_size,
            size,
            cell=cell,
            layers=layers,
            dropout=dropout,
            residual=residual,
            activation=activation,
            update=update,
        )
        states = layers * self.stack.cell(0).state_size
        self.bridge = nn.Linear(summary_size, states) if "start" in condition else None
        self.first = None if self.bridge else nn.Parameter(torch.zeros(states))
        self.deep = deep
        combined = size + context_size + (embedding.size if deep else 0)
        self.combine = nn.Linear(combined, self.readout_size) if deep or self.looks_after else None
        narrow = tied and self.combine is None and size != embedding.size
        self.narrow = nn.Linear(size, embedding.size, bias=False) if narrow else None
        self.output = Output(self.readout_size, embedding.vocabulary, tied=embedding if tied else None)
        self.dropout = nn.Dropout(dropout)

    def summary(self, memories: Mapping[str, Memory]) -> Tensor:
        """(B, D) the summaries of all sources side by side."""
        return summaries(memories, self.names)

    # One step, for teacher forcing and every search alike.

    def start(
        self, memories: Mapping[str, Memory], *, truth: Truth = None, drawing: Tensor | None = None
    ) -> State:
        """The state before the first word, of one hypothesis for each source; `drawing` (B) the rows that draw."""
        attended = self.reading.names if self.reading else ()
        keys = self.reading.keys(memories) if self.reading else {}
        summary = self.summary(memories)
        rows = len(summary)
        if self.bridge is not None:
            first = torch.tanh(self.bridge(summary))
        else:
            first = cast(Tensor, self.first).expand(rows, -1)
        layers = tuple(first.view(rows, 1, len(self.stack.cells), -1).unbind(2))
        projected = None
        if self.summary_size:
            low = self.embedding.size
            projected = nn.functional.linear(
                summary, self.stack.cell(0).weight_ih[:, low : low + self.summary_size]
            ).unsqueeze(1)
        feed = summary.new_zeros(rows, 1, self.readout_size) if self.feeds else None
        laid_out = None
        if not torch.is_grad_enabled() and fused.knows(self, memories):
            laid_out = fused_step.lay_out(self, memories, keys)
        constants = Constants(keys, projected, truth_by_name(truth, attended), laid_out, drawing)
        looks = self.reading.first_looks(memories) if self.reading else {}
        return State(layers, feed, constants, looks=looks)

    def step(self, tokens: Tensor, state: State, memories: Mapping[str, Memory]) -> Step:
        """The previous words (B, K) of K hypotheses → logits of the next ones."""
        if state.constants.prepared is not None and not torch.is_grad_enabled():
            return fused_step.step(self, tokens, state)
        embedded = self.embedding(tokens)
        projected = self._project(embedded, state)
        state, output, read = self._advance(projected, embedded, state, memories)
        context = None if read is None else read.context
        readout = self.readout(output, context, embedded) if state.feed is None else state.feed
        return Step(self.output(self.dropout(readout)), state, {} if read is None else read.weights)

    def _project(self, embedded: Tensor, state: State) -> Tensor:
        """What is known of the first layer's gates before the recurrence: the word and the summary."""
        cell = self.stack.cell(0)
        projected = nn.functional.linear(
            embedded, cell.weight_ih[:, : self.embedding.size], cell.bias_ih
        )  # (B, T, G)
        if state.constants.projected is not None:
            projected = projected + state.constants.projected
        return projected

    def _advance(
        self, projected: Tensor, embedded: Tensor, state: State, memories: Mapping[str, Memory]
    ) -> tuple[State, Tensor, Read | None]:
        """The recurrence: the new state, the stack's output, and what was read."""
        read, feed = None, None
        read_weight = self.stack.cell(0).weight_ih[:, self.embedding.size + self.summary_size :]
        if self.looks_before and self.reading:
            query = self.stack.top(state.layers)
            read = self.reading(query, memories, state.constants, state.position, state.looks)
            projected = projected + nn.functional.linear(read.context, read_weight)
        elif state.feed is not None:
            projected = projected + nn.functional.linear(state.feed, read_weight)
        output, layers = self.stack(projected, state.layers)
        if self.looks_after and self.reading:
            read = self.reading(output, memories, state.constants, state.position, state.looks)
            feed = self._combined(output, read.context, embedded) if self.feeds else None
        kept = {name: read.weights[name] for name in state.looks} if read is not None else {}
        advanced = replace(state, layers=layers, feed=feed, position=state.position + 1, looks=kept)
        return advanced, output, read

    def _combined(self, output: Tensor, context: Tensor | None, embedded: Tensor) -> Tensor:
        combine = cast(nn.Linear, self.combine)
        parts = [output] if context is None else [output, context]
        return torch.tanh(combine(torch.cat([*parts, embedded] if self.deep else parts, -1)))

    def readout(self, output: Tensor, context: Tensor | None, embedded: Tensor) -> Tensor:
        """What goes to the output layer, (…, O), where it is not fed back."""
        if self.combine is not None:
            return self._combined(output, context, embedded)
        return output if self.narrow is None else self.narrow(output)

    # Whole outputs.

    def unroll(
        self,
        memories: Mapping[str, Memory],
        previous: Tensor,
        packing: Packing,
        *,
        truth: Truth = None,
        drawing: Tensor | None = None,
    ) -> Unrolled:
        """Teacher forcing: previous words (B, T), the first of them BEGIN, known in advance."""
        if fused.knows(self, memories):
            return fused.unroll(self, memories, previous, packing, drawing=drawing)
        if graphed.knows(self, memories):
            return graphed.unroll(self, memories, previous, packing)
        if at_once.knows(self):
            return at_once.unroll(self, memories, previous, packing, truth=truth, drawing=drawing)
        return self.unroll_plain(memories, previous, packing, truth=truth, drawing=drawing)

    def unroll_plain(
        self,
        memories: Mapping[str, Memory],
        previous: Tensor,
        packing: Packing,
        *,
        truth: Truth = None,
        drawing: Tensor | None = None,
    ) -> Unrolled:
        """Step by step, for every option; in training, some words are drawn from the model itself (`sampling`)."""
        state = self.start(memories, truth=truth, drawing=drawing)
        sampled = self.training and self.sampling > 0
        embedded = self.embedding(previous)
        projected = self._project(embedded, state)
        outputs: list[Tensor] = []
        feeds: list[Tensor] = []
        reads: list[Read] = []
        for t in range(previous.shape[1]):
            now = slice(t, t + 1)
            if sampled and t > 0:
                drawn = self._draw(outputs, reads, feeds, embedded[:, t - 1 : t])
                coin = torch.rand(drawn.shape, device=drawn.device) < self.sampling
                words = self.embedding(torch.where(coin, drawn, previous[:, now]))
                embedded = torch.cat([embedded[:, :t], words, embedded[:, t + 1 :]], 1)
                projected = self._project(embedded, state)
            state, output, read = self._advance(projected[:, now], embedded[:, now], state, memories)
            outputs.append(output)
            if read is not None:
                reads.append(read)
            if state.feed is not None:
                feeds.append(state.feed)
        if feeds:
            readouts = torch.cat(feeds, 1)
        else:
            context = torch.cat([read.context for read in reads], 1) if reads else None
            readouts = self.readout(torch.cat(outputs, 1), context, embedded)
        looks = joined([read.weights for read in reads])
        return Unrolled(
            packing.pack(readouts),
            packing.pack_all(looks),
            packing.pack_all(joined([read.drawn for read in reads])),
        )

    @torch.no_grad()
    def _draw(
        self, outputs: list[Tensor], reads: list[Read], feeds: list[Tensor], embedded: Tensor
    ) -> Tensor:
        """(B, 1) words from the model's distribution at the last step."""
        if feeds:
            readout = feeds[-1]
        else:
            readout = self.readout(outputs[-1], reads[-1].context if reads else None, embedded)
        return torch.multinomial(torch.softmax(self.output(readout)[:, 0], -1), 1)

    @torch.no_grad()
    def distribution(self, memories: Mapping[str, Memory], target: Tokens) -> Tensor:
        """(N, V) p(· | y_<t, x) at every position of the targets and their ends, packed: what it would teach others."""
        previous, _, packing = forced(target)
        return torch.softmax(self.output(self.unroll(memories, previous, packing).readouts), -1)

    def loss(
        self,
        memories: Mapping[str, Memory],
        target: Tokens,
        *,
        truth: Truth = None,
        taught: Taught | None = None,
    ) -> Loss:
        """−log p(target), by words; padding costs nothing, in either sense."""
        previous, following, packing = forced(target)
        sampled = self.training and self.sampling > 0
        unroll = self.unroll_plain if sampled else self.unroll
        lengths, words = target.lengths + 1, packing.pack(following)
        drawing = None
        if self.training and self.score_function is not None:
            drawing = self.score_function.rows(len(lengths), lengths.device)
        unrolled = unroll(memories, previous, packing, truth=truth, drawing=drawing)
        readouts = self.dropout(unrolled.readouts)
        total, likelihood = self.output.loss(readouts, words, smoothing=self.objective.smoothing)
        if taught is not None:
            cost = self.output.taught(readouts, taught.probabilities)
            total = (1 - taught.share) * total + taught.share * cost
        told = truth_by_name(truth, self.reading.names if self.reading else ())
        looked, parts = self.objective.of_looks(unrolled, memories, packing, told)
        if drawing is not None and self.score_function is not None:
            costs = self.output.costs(readouts, words)
            drawn, more = self.score_function(costs, unrolled.looks, unrolled.drawn, drawing, packing)
            looked, parts = looked + drawn, parts | more
        return Loss(total + looked, lengths.sum(), {"likelihood": likelihood} | parts)

    @torch.no_grad()
    def predict(
        self, memories: Mapping[str, Memory], search: Callable[[Stepper], Hypotheses], *, truth: Truth = None
    ) -> Hypotheses:
        """What a search finds: `predict(memories, Beam(size=5))`."""
        return search(Stepper(self, memories, truth=truth))


def _check(
    condition: Sequence[str],
    attention: Mapping[str, Attention] | None,
    sources: Mapping[str, Source],
    looking: str,
) -> None:
    unknown = [word for word in condition if word not in ("start", "every-step", "attention")]
    if unknown or not condition:
        raise RegardError(
            f"A decoder's condition is any combination of start, every-step and attention; received {list(condition)}."
        )
    if ("attention" in condition) != bool(attention):
        raise RegardError(
            f"Condition {list(condition)} and {len(attention or {})} attentions do not fit together.",
            fix="Give an attention exactly when the condition names it.",
        )
    strangers = [name for name in attention or {} if name not in sources]
    if strangers:
        raise RegardError(
            f"The decoder is to attend to {', '.join(strangers)}, which is not among its sources {', '.join(sources)}."
        )
    if looking not in ("previous", "current"):
        raise RegardError(f"A decoder looks from the previous or the current state; received {looking!r}.")
