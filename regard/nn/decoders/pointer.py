"""Pointer decoder: the output is the selection over the input's positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard import parts
from regard.data.batch import Tokens
from regard.errors import RegardError
from regard.nn.attention import Attention, Reading
from regard.nn.cells import AnyCell
from regard.nn.decoders.decoder import BatchView, Source, Truth
from regard.nn.decoders.stack_board import (
    cell_lines,
    first_state_letters,
    first_state_lines,
    stack_letters,
    step_lines,
)
from regard.nn.decoders.stepwise import END_PIECE, ForcedCost, StepwiseDecoder
from regard.nn.encoders import owner_of
from regard.nn.forms import FormState, begin_form
from regard.nn.forms.triangles import TrianglesState
from regard.nn.letters import Letters, under
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.recurrence import Bridge, Stack, check_residual
from regard.nn.scores import AnyScore, make_score
from regard.nn.search import Hypotheses
from regard.nn.selections import Given
from regard.nn.stepping import Step
from regard.nn.symbols import LookSymbols, MemorySymbols
from regard.parts import Depth, Mistakes, Options, Plan, Size, names, part, register
from regard.trace import Pointed, Trace
from regard.trace.prediction import Alternative, Prediction


@dataclass(frozen=True)
class PointerState:
    """K hypotheses about each of B sources.

    layers     one (B, K, state) for each layer
    choices    the memory of all choices, (B, 1 + S): to stop, and each position
    keys       (B, 1 + S, A) of the choices, computed once
    form       the shape that the pointers make so far; None if any sequence is allowed
    position   number of steps taken
    """

    layers: tuple[Tensor, ...]
    choices: Memory
    keys: Tensor
    form: FormState | None
    position: int = 0

    def reorder(self, parents: Tensor) -> PointerState:
        """Hypothesis k of the new state continues hypothesis parents[b, k] of this one; (B, K') int64."""
        rows = torch.arange(len(parents), device=parents.device)[:, None]
        return replace(
            self,
            layers=tuple(layer[rows, parents] for layer in self.layers),
            form=None if self.form is None else self.form.reorder(parents),
        )

    def select(self, rows: Tensor) -> PointerState:
        """The state of some of the sources, (B') int64."""
        return replace(
            self,
            layers=tuple(layer.index_select(0, rows) for layer in self.layers),
            choices=self.choices.select(rows),
            keys=self.keys.index_select(0, rows),
            form=None if self.form is None else self.form.select(rows),
        )


class PointingOptions(parts.Settings):
    """How a decoder points: a softmax over the positions of its input and a stop."""

    score: AnyScore = "additive"
    """Function that scores how well the state and a position agree."""


@register("decoder", "pointer")
class PointerDecoder(StepwiseDecoder):
    """A sequence of positions of an input (Vinyals, Fortunato and Jaitly 2015).

        s_t = cell(s_{t−1}, h_{y_{t−1}}),   u_tj = v · tanh(W_1 h_j + W_2 s_t),   p(y_t = j) = softmax_j(u_tj)

    s_0 = tanh(W summary + b). Choice 0 stops. Its key is learned, and so is the first input. Only the
    position pointed at enters the recurrence, so that training computes all steps at once.

    If the positions must form a shape (`form`), a search considers only the choices that can still complete
    it. Tokens are positions from 1; 0 stands before the first and stops.
    """

    class Options(StepwiseDecoder.Options):
        """p(y_t = j) = softmax_j(v · tanh(W h_j + U s_t)):
        the output is a sequence of positions of the input."""

        cell: AnyCell = "lstm"
        """The recurrent cell."""
        size: Size = 256
        """Units of each layer."""
        layers: Depth = 1
        """Number of stacked recurrent layers."""
        residual: bool = False
        """Add the input of each layer to its output, from the second layer on."""
        attention: PointingOptions = PointingOptions()
        """How the decoder points."""

    writes = ("pointers",)
    begin, end, forbidden = 0, 0, ()
    from_vocabulary = False

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> PointerDecoder:
        (name,) = column.of
        source = sources[name]
        key_size = getattr(source, "key_size", None) or source.value_size
        return cls(
            name,
            source,
            score=make_score(options.attention.score, options.size, key_size),
            cell=options.cell,
            size=options.size,
            layers=options.layers,
            residual=options.residual,
            dropout=options.dropout,
            form=column.form,
        )

    @classmethod
    def attentions(cls, options: Any) -> tuple[Any, ...]:
        """None, because the pointing attention is the output: it cannot be guided or read a truth."""
        return ()

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        if options.over is not None:
            mistakes.add(
                f"over has no effect: a pointer decoder reads the positions of {cls._source(name, plan)} alone.",
                "over",
                fix="Leave over out.",
            )
        check_residual(options, mistakes)
        score, here = options.attention.score, mistakes.at("attention")
        if score.part.needs:
            fitting = [one for one in names("score") if not part("score", one).needs]
            here.add(
                f"score: {score.type} needs the attention weights of the previous step, which a pointer decoder does "
                "not provide.",
                "score",
                fix=f"Choose one of {', '.join(fitting)}.",
            )
        source = cls._source(name, plan)
        if score.part.one_size and source in plan.encoder:
            encoder = owner_of(plan, source)
            width = encoder.part.key_width(encoder)
            if width is not None and width != options.size:
                here.add(
                    f"a {score.type} score compares vectors of one width; the memory of {source} has {width}, the "
                    f"decoder {options.size}.",
                    "score",
                    fix=f"Use score: general, or make the decoder's size {width}.",
                )

    @classmethod
    def _source(cls, name: str, plan: Plan) -> str:
        return str(plan.outputs[name].of or next(iter(plan.encoder)))

    @classmethod
    def reads_positions(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return (cls._source(name, plan),)

    @classmethod
    def reads_summaries(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return (cls._source(name, plan),)

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        memory = next(iter(memories.values()))
        states, output = step_lines(options, "r_t")
        look = LookSymbols(f"({output})" if " " in output else output, memory)
        score, j = options.attention.score, memory.index
        dropout = f", dropout {options.dropout}" if options.dropout else ""
        return [
            "t = 1 … T     — y_t: a position; y_0 = 0 before the first, y_T = 0 to stop",
            *first_state_lines(options, memory.summary),
            f"r_t = [y_{{t−1}} = 0] g_y + Σ_{j} [{j} = y_{{t−1}}] {memory.values}     — g_y: learned",
            *states,
            *score.part.equations(score, look),
            f"e_t0 = {score.part.equation(score, look.query, 'k_y', look.mark)}     — k_y: learned",
            f"p(y_t) = softmax([e_t0; e_t1; …; e_t{memory.length}])     — the first entry: stop",
            *cell_lines(options),
            f"— {options.size} units{dropout}",
        ]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        name, score = next(iter(memories)), options.attention.score
        letters = score.part.letters(score, LookSymbols("s_t", memories[name]))
        return {
            **stack_letters(options),
            **first_state_letters(options),
            **under(f"reading.attentions.{name}.score", letters),
            "first": "g_y",
            "stop": "k_y",
        }

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        return ["loss = −Σ_t log(p(y_t)[y_t + 1]) / T     — mean over the pointers and the stop"]

    @classmethod
    def board_algorithm(cls, options: Any) -> list[str]:
        return ["teacher forcing, back-propagation through time"]

    def __init__(
        self,
        name: str,
        source: Source,
        *,
        score: Any = "additive",
        cell: str | Options = "lstm",
        size: int = 256,
        layers: int = 1,
        residual: bool = False,
        dropout: float = 0.0,
        form: str = "sequence",
    ) -> None:
        super().__init__()
        self.name, self.form = name, form
        key_size = getattr(source, "key_size", None) or source.value_size
        self.reading = Reading({name: Attention(size, source.value_size, score=score, key_size=key_size)})
        self.stack = Stack(
            source.value_size, size, cell=cell, layers=layers, dropout=dropout, residual=residual
        )
        self.bridge = Bridge(source.summary_size, self.stack)
        self.first = nn.Parameter(torch.randn(source.value_size) * source.value_size**-0.5)
        self.stop = nn.Parameter(torch.randn(key_size) * key_size**-0.5)
        self.dropout = nn.Dropout(dropout)

    @property
    def pointing(self) -> Attention:
        assert self.reading is not None
        return self.reading.attention(self.name)

    def check_prefix(self, ids: Sequence[int], memories: Mapping[str, Memory]) -> None:
        count = int(memories[self.name].mask.sum(1).min())
        if max(ids, default=0) > count:
            raise RegardError(f"{self.name} has only {count} positions; received {max(ids)}.", where="prefix")

    def longest(self, lengths: Tensor) -> Tensor:
        """(B) the maximal number of pointers, if a search sets no limit."""
        return TrianglesState.longest(lengths) if self.form == "triangles" else 2 * lengths + 20

    def choices(self, memory: Memory) -> Memory:
        """The memory of all choices, (B, 1 + S). The first one stops; its value is the first input."""
        keys = memory.values if memory.keys is None else memory.keys
        rows = len(memory.mask)
        return Memory(
            torch.cat([self.first.expand(rows, 1, -1).to(memory.values.dtype), memory.values], 1),
            nn.functional.pad(memory.mask, (1, 0), value=True),
            memory.summary,
            keys=torch.cat([self.stop.expand(rows, 1, -1).to(keys.dtype), keys], 1),
            override=None if memory.override is None else memory.override.after_first(),
        )

    # One step, for every search.

    def start(self, memories: Mapping[str, Memory], *, truth: Truth = None) -> PointerState:
        memory = memories[self.name]
        choices = self.choices(memory)
        layers = self.bridge.first_states(memory.summary)
        return PointerState(layers, choices, self.pointing.keys(choices), begin_form(self.form, memory))

    def step(self, tokens: Tensor, state: PointerState, memories: Mapping[str, Memory]) -> Step:
        """The previous positions (B, K) of K hypotheses → logits of the next ones, (B, K, 1 + S)."""
        read = _at(state.choices.values, tokens)
        output, layers = self.stack(self.stack.cell(0).project(read), state.layers)
        look = self.pointing(self.dropout(output), state.choices, state.keys, Given(step=state.position))
        if state.choices.override is None:
            logits = look.scores.masked_fill(~state.choices.mask.unsqueeze(1), -torch.inf)
        else:
            logits = look.weights.log()
        form = state.form
        if form is not None and state.position > 0:
            form = form.advance(tokens)
        after = replace(state, layers=layers, form=form, position=state.position + 1)
        allowed = None if form is None else form.allowed()
        return Step(logits, after, {self.name: look.weights[..., 1:]}, allowed)

    # Whole outputs.

    def scores(self, memories: Mapping[str, Memory], target: Tokens) -> tuple[Tensor, Tensor, Packing]:
        """Teacher forcing: scores (N, 1 + S) of all choices at every step, −inf for padding, and the true
        choices (N); both packed."""
        memory = memories[self.name]
        choices = self.choices(memory)
        previous = nn.functional.pad(target.ids, (1, 0))
        following = nn.functional.pad(target.ids, (0, 1))
        counts = None if target.counts is None else target.counts + 1
        packing = Packing.of(target.lengths + 1, following.shape[1], counts)
        inputs = packing.pack(_at(choices.values, previous))  # (N, D)
        firsts = [layer.squeeze(1) for layer in self.bridge.first_states(memory.summary)]
        queries = packing.unpack(self.dropout(self.stack.run(inputs, firsts, packing)))
        look = self.pointing(queries, choices)
        scores = look.scores.masked_fill(~choices.mask.unsqueeze(1), -torch.inf)
        return packing.pack(scores), packing.pack(following), packing

    def forced_cost(
        self, memories: Mapping[str, Memory], target: Tokens, *, truth: Truth = None
    ) -> ForcedCost:
        scores, true, _ = self.scores(memories, target)
        logs = torch.log_softmax(scores, -1)
        total = -logs.gather(1, true.unsqueeze(1)).sum()

        def distilled(theirs: Tensor) -> Tensor:
            return -(theirs * logs.masked_fill(scores == -torch.inf, 0.0)).sum()

        return ForcedCost(total, total.detach(), distilled)

    @torch.no_grad()
    def distribution(self, memories: Mapping[str, Memory], target: Tokens) -> Tensor:
        return torch.softmax(self.scores(memories, target)[0], -1)

    # Answers.

    def predictions(self, found: Hypotheses, column: Any, view: BatchView) -> list[Prediction]:
        scores = found.scores.tolist()
        answers = []
        for row, ranks in enumerate(found.lengths.tolist()):
            pointed = [found.content(row, rank) for rank, length in enumerate(ranks) if length]
            written = [
                Alternative(column.decode(one), score)
                for one, score in zip(pointed, scores[row], strict=False)
            ]
            trace = self._trace(found, pointed[0], view, row, written) if view.trace else None
            others = written if len(written) > 1 else ()
            answers.append(Prediction(pointed[0], written[0].text, written[0].score, trace, others))
        return answers

    def _trace(
        self, found: Hypotheses, pointed: list[int], view: BatchView, row: int, written: list[Alternative]
    ) -> Trace:
        inputs, length = view.inputs(row), int(found.lengths[row, 0])
        positions = len(inputs[self.name])
        looks = found.attention[self.name][row, 0, :length, :positions].float().cpu().numpy()
        true = None
        if view.target is not None:
            true = view.target.ids[row, : int(view.target.lengths[row])].tolist()
        structure = Pointed(
            [place - 1 for place in pointed], None if true is None else [one - 1 for one in true], self.form
        )
        imposed = {}
        if self.name in view.truth:
            table = torch.zeros(length, positions)
            known = view.truth[self.name][row][:length, :positions]
            table[: len(known), : known.shape[1]] = known
            imposed = {self.name: table.numpy()}
        return Trace(
            input=inputs,
            output=[*map(str, pointed), END_PIECE][:length],
            attention={self.name: looks},
            truth=imposed,
            scores=found.token_scores[row, 0, :length].cpu().numpy(),
            hypotheses=[(other.text, other.score) for other in written],
            overridden=view.overridden,
            pointed={self.name: structure},
        )


def _at(values: Tensor, positions: Tensor) -> Tensor:
    """(B, P, D) at positions (B, K) → (B, K, D)."""
    return values.gather(1, positions.unsqueeze(-1).expand(-1, -1, values.shape[-1]))
