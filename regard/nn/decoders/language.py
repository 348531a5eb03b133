"""Language decoder: the next word from a recurrent state, without any input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from regard.nn.cells import AnyCell, Cell, make_cell
from regard.nn.cells.cell import carried_by
from regard.nn.decoders.continuing import Carried, ContinuingDecoder
from regard.nn.decoders.stepwise import likelihood
from regard.nn.embedding import Embedding, build_embedding
from regard.nn.letters import Letters, under
from regard.nn.path import faster
from regard.nn.recurrence import Weights, recurrence_of, run_layers
from regard.nn.symbols import MemorySymbols
from regard.parts import Depth, Dropout, Mistakes, NotNegative, Plan, Size, register

CARRIED = "n"
"""The letter for what a cell carries beside the state s."""
RANDOM = 0.1
"""Standard deviation of a first state that is random at first."""


@register("decoder", "language")
class LanguageDecoder(ContinuingDecoder):
    """s_t = cell(s_{t−1}, e(y_{t−1})); p(y_t | y_<t) = softmax(V s_t + b)

    This is not the decoder `recurrent` because a language model has no memories that give the number of rows
    or a first state, no ends and hence no padding, and no search. Instead, it carries a state from span to
    span, drops weights of the recurrence, and runs all layers in one call.

    torch runs the recurrence over a span, with cuDNN on CUDA. A cell that it does not have is run step by step. The
    state before a text is zero, or s_0 is learned with the other parameters.

    `recurrent_dropout` drops weights of U, from state to state, with one mask for each span (Merity 2018).
    `variational` uses one mask for all positions of a span in all other dropouts (Gal 2016).
    """

    class Options(ContinuingDecoder.Options):
        """s_t = cell(s_{t−1}, e(y_{t−1})); p(y_t) = softmax(V s_t + b)."""

        cell: AnyCell = "lstm"
        """The recurrent cell."""
        layers: Depth = 1
        """Number of stacked recurrent layers."""
        first: Literal["zero", "learned", "random"] = "zero"
        """The state before a text: zero; learned, and zero at first; or learned, and random at first, from a
        normal distribution with standard deviation 0.1."""
        last: Size | None = None
        """Units of the last layer; default: `size`.
        If equal to `embedding`, tied weights need no extra projection."""
        hidden_dropout: Dropout | None = None
        """Dropout between layers; default: the same as `dropout`."""
        recurrent_dropout: Dropout = 0.0
        """Probability that a recurrent weight (from state to state) is set to zero in training,
        drawn for each span."""
        variational: bool = False
        """Drop the same features at all positions of a span (variational dropout)."""
        activity: NotNegative = 0.0
        """Weight of a penalty on the mean square of the last layer's outputs,
        which keeps them small (Merity 2017)."""
        change: NotNegative = 0.0
        """Weight of a penalty on the mean square of the change of these outputs from token to
        token (Merity 2017)."""

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> LanguageDecoder:
        embedding = build_embedding(options, column, read_files=read_files)
        return cls(embedding, options, column.size)

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        super().check(options, name, plan, mistakes)
        if options.last is not None and (options.layers == 1 or options.last == options.size):
            mistakes.add(
                "last has no effect: "
                + ("there is only one layer." if options.layers == 1 else "it equals size."),
                "last",
                fix="Set size, or leave last out.",
            )
        if options.hidden_dropout is not None and options.layers == 1:
            mistakes.add(
                "hidden_dropout has no effect: it applies between layers, and there is only one.",
                "hidden_dropout",
                fix="Leave it out, or raise layers.",
            )
        dropped = options.dropout or options.embedding_dropout or options.hidden_dropout
        if options.variational and not dropped:
            mistakes.add("variational has no effect without dropout.", "variational", fix="Set dropout.")

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        step, several = options.cell.part.written_step, options.layers > 1
        lines, below, firsts, marks = [], "E_y[y_{t−1}]", [], []
        for layer in range(1, options.layers + 1):
            mark = f"s{layer}" if several else "s"
            state, before = (f"s_{layer}t", f"s_{{{layer},t−1}}") if several else ("s_t", "s_{t−1}")
            lines.append(step(options.cell, mark, state, before, below, CARRIED))
            first = f"s_{{{layer},0}}" if several else "s_0"
            letters = options.cell.part.carried_letters(CARRIED)
            firsts += [first, *(carried_by(first, letter) for letter in letters)]
            marks.append(mark)
            below = state
        cells = [line for mark in marks for line in options.cell.part.equations(options.cell, mark)]
        sizes = [size for size in cls.sizes(options) for _ in range(len(firsts) // options.layers)]
        zero = [f"{first} = 0_{size}" for first, size in zip(firsts, sizes, strict=True)]
        note = "     — at the beginning of the text; later the state after the previous span"
        if options.first != "zero":
            random = ", random at first" if options.first == "random" else ""
            zero = [f"— {', '.join(firsts)}: learned{random};"]
            note = note.replace("     —", "")
        return [
            "t = 1 … T     — y_0: the previous token; at the beginning of the text the begin token",
            *zero[:-1],
            zero[-1] + note,
            *lines,
            *cls.board_output(options, below),
            *cells,
            cls.board_sizes(options)
            + (f"; {options.last} units in the last layer" if options.last else "")
            + (
                f"; dropout {options.recurrent_dropout:g} of the weights U"
                if options.recurrent_dropout
                else ""
            ),
        ]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        found = super().letters(options, memories)
        for number in range(options.layers):
            mark = f"s{number + 1}" if options.layers > 1 else "s"
            found |= under(f"cells.{number}", options.cell.part.letters(options.cell, mark))
            state = f"s_{{{number + 1},0}}" if options.layers > 1 else "s_0"
            carried = options.cell.part.carried_letters(CARRIED)
            found[f"firsts.{number}"] = (state, *(carried_by(state, letter) for letter in carried))
        return found

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        state, before = (
            (f"s_{options.layers}t", f"s_{{{options.layers},t−1}}")
            if options.layers > 1
            else ("s_t", "s_{t−1}")
        )
        squares = {f"{state}²": options.activity, f"({state} − {before})²": options.change}
        more = "".join(
            f" + {'' if weight == 1 else f'{weight:g} '}Σ_t mean({square})"
            for square, weight in squares.items()
            if weight
        )
        if not more:
            return super().board_loss(options, memories)
        return [f"loss = ({likelihood(0.0)}{more}) / T     — mean over the tokens of a span, in nats"]

    def __init__(self, embedding: Embedding, options: Any, vocabulary: int) -> None:
        super().__init__(embedding, options, vocabulary)
        self.activity, self.change = options.activity, options.change
        sizes = self.sizes(options)
        self.alike = len(set(sizes)) == 1
        self.cells = nn.ModuleList(
            make_cell(options.cell, below, size)
            for below, size in zip([embedding.size, *sizes], sizes, strict=False)
        )
        self.firsts = nn.ParameterList()
        if options.first != "zero":
            deviation = RANDOM if options.first == "random" else 0.0
            self.firsts.extend(deviation * torch.randn(cell.state_size) for cell in self.each())
        self.between = options.dropout if options.hidden_dropout is None else options.hidden_dropout
        self.recurrent_dropout, self.variational = options.recurrent_dropout, options.variational
        self.embedding_dropout = embedding.dropout.p
        if self.variational:
            embedding.dropout.p = 0.0

    @classmethod
    def sizes(cls, options: Any) -> list[int]:
        """Units of each layer."""
        return [options.size] * (options.layers - 1) + [cls.said_size(options)]

    @classmethod
    def said_size(cls, options: Any) -> int:
        return int(options.last or options.size)

    def cell(self, layer: int) -> Cell:
        return cast(Cell, self.cells[layer])

    def start(self, rows: int) -> Carried:
        if len(self.firsts):
            return tuple(one.expand(rows, -1) for one in self.firsts)
        like = self.cell(0).weight_hh
        return tuple(like.new_zeros(rows, self.cell(n).state_size) for n in range(len(self.cells)))

    def forward(self, before: Tensor, state: Carried) -> tuple[Tensor, Carried]:
        inputs = self.embedding(before).transpose(0, 1)  # (T, B, E)
        if self.variational:
            inputs = self._masked(inputs, self.embedding_dropout)
        found: tuple[Tensor, Carried] | None = faster("language.layers", inputs.device, self, inputs, state)
        outputs, last = self._run_layers(inputs, state) if found is None else found
        return outputs.transpose(0, 1), last

    def each(self) -> list[Cell]:
        """The cells of all layers."""
        return [self.cell(layer) for layer in range(len(self.cells))]

    def _run_layers(self, inputs: Tensor, state: Carried) -> tuple[Tensor, Carried]:
        """All layers over a span: inputs (T, B, E) → outputs (T, B, size), last states."""
        cells = self.each()
        if recurrence_of(cells) is None:
            across = [self._dropped(cell.weight_hh) for cell in cells]
            return self.by_layers(_by_steps, across, inputs, state)
        weights = [self.weights(cell) for cell in cells]
        dropout = self.between if self.training else 0.0
        if not self.alike or dropout:
            # cuDNN's own dropout keeps its random state where a captured graph cannot draw anew
            return self.by_layers(_by_torch, weights, inputs, state)
        first = torch.stack([part.to(inputs.dtype) for part in state])
        outputs, reached = run_layers(cells, weights, inputs, first, dropout=dropout, training=self.training)
        return outputs, reached.unbind(0)

    def restraint(self, hidden: Tensor, dropped: Tensor, state: Carried) -> Tensor | None:
        if not self.activity and not self.change:
            return None
        total = hidden.new_zeros(())
        if self.activity:
            total = total + self.activity * dropped.square().mean(-1).sum()
        if self.change:
            first = self.cell(-1).output(state[-1]).to(hidden.dtype)
            before = torch.cat([first.unsqueeze(1), hidden[:, :-1]], 1)
            total = total + self.change * (hidden - before).square().mean(-1).sum()
        return total

    def weights(self, cell: Cell) -> Weights:
        """The weights of a cell; in training, with dropout on the recurrent ones."""
        inward, across, *biases = cell.torch_weights()
        return inward, self._dropped(across), biases[0], biases[1]

    def _dropped(self, across: Tensor) -> Tensor:
        return nn.functional.dropout(across, self.recurrent_dropout, self.training)

    def by_layers(
        self, run: Any, weights: Sequence[Any], inputs: Tensor, state: Carried
    ) -> tuple[Tensor, Carried]:
        """One layer after the other, each by run(cell, weights, inputs, state)."""
        last = []
        for layer, (cell, taken) in enumerate(zip(self.each(), weights, strict=True)):
            below = inputs if layer == 0 else self._between(inputs)
            inputs, reached = run(cell, taken, below, state[layer])
            last.append(reached)
        return inputs, tuple(last)

    def _between(self, outputs: Tensor) -> Tensor:
        if self.variational:
            return self._masked(outputs, self.between)
        return nn.functional.dropout(outputs, self.between, self.training)

    def _masked(self, features: Tensor, share: float) -> Tensor:
        """(T, B, D) with the same features dropped at all T positions."""
        if not self.training or not share:
            return features
        kept = torch.rand(features.shape[1:], device=features.device) >= share
        return features * (kept / (1 - share)).to(features.dtype)

    def dropped(self, hidden: Tensor) -> Tensor:
        if self.variational:
            return self._masked(hidden.transpose(0, 1), self.dropout.p).transpose(0, 1)
        return super().dropped(hidden)


def _by_torch(cell: Cell, weights: Weights, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    first = state.to(inputs.dtype).unsqueeze(0)
    outputs, last = run_layers([cell], [weights], inputs, first, dropout=0.0, training=cell.training)
    return outputs, last.squeeze(0)


def _by_steps(cell: Cell, across: Tensor, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """Step by step, for any kind of cell; `across` are the recurrent weights."""
    outputs = []
    for step in inputs:
        state = torch.func.functional_call(cell, {"weight_hh": across}, (step, state))
        outputs.append(cell.output(state))
    return torch.stack(outputs), state
