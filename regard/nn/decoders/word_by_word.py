"""Word-by-word attention: a label for the relation between two texts (Rocktäschel et al. 2016).

For the memories y (B, S, D) of the first text, the premise, and h (B, T, D′) of the second, the hypothesis:

    look      e_ts = score([h_t; r_{t−1}], y_s),  α_t = softmax_s(e_ts),  c_t = Σ_s α_ts y_s
    carry     r_t  = c_t + tanh(W_t r_{t−1}),   r_0 = 0
    answer    g    = tanh(W_p r_T + W_x h + b),   p(y) = softmax(V g + b′)

With a `cell`, the context is compared with the word of the query, and the cell carries the result on
(match-LSTM, Wang and Jiang 2016; the differences as in Mou 2016):

    carry     r_t  = cell(r_{t−1}, [h_t; c_t; |h_t − c_t|; h_t ⊙ c_t])

With `ask: sum` the query is h_t + Q r_{t−1}, which has the width of a word. A dot-product score then aligns
equal words even before training.

Each word of the hypothesis attends to the premise, given what the words before it found there. With the
additive score this is Rocktäschel's M_t = tanh(W_y Y + W_h h_t + W_r r_{t−1}), because the query is
[h_t; r_{t−1}]. Their h is the last state of the hypothesis. Here it is the summary, which is the same for an
encoder that reads forward.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.nn.attention import Attention, Constants, Reading, joined
from regard.nn.attention_check import check_attention
from regard.nn.cells import AnyCell, make_cell
from regard.nn.class_weights import class_weights
from regard.nn.decoders.decoder import Source
from regard.nn.decoders.label import calibration_note
from regard.nn.decoders.two_texts import TwoTextsDecoder
from regard.nn.letters import Letters, linear, under
from regard.nn.memory import Memory
from regard.nn.symbols import LookSymbols, MemorySymbols
from regard.parts import Mistakes, Options, Plan, Size, register

Asking = Literal["beside", "sum"]


@register("decoder", "word-by-word")
class WordByWordDecoder(TwoTextsDecoder):
    """p(y | premise, hypothesis), from what the words of the hypothesis found in the premise, one by
    one. The words of the second of the `sources` attend to the first.

    ask    the query: [h_t; r_{t−1}] (beside), or h_t + Q r_{t−1} (sum)
    cell   the cell that carries r_t; None: r_t = c_t + tanh(W_t r_{t−1})
    size   units of g, and of r with a cell
    """

    class Options(TwoTextsDecoder.Options):
        """The relation of a second text to a first. Each word of the second attends to the first, given what
        the words before it found (Rocktäschel 2016); r_t = c_t + tanh(W r_{t−1}),
        softmax(V tanh(W [r_T; h]) + b)."""

        attention: Attention.Options = Attention.Options()
        """Attention of the words of the second text to the first."""
        ask: Asking = "beside"
        """The query of a word h_t, given what was found before, r_{t−1}. beside: their concatenation
        [h_t; r_{t−1}]. sum: h_t + Q r_{t−1}, which a dot product can compare with the words of the first
        text."""
        cell: AnyCell | None = None
        """Compare each word with what it found, and carry the result on in this recurrent cell (match-LSTM,
        Wang and Jiang 2016); default: no cell, r_t = c_t + tanh(W r_{t−1})."""
        size: Size = 100
        """Units of the layer before the answer, and of the cell."""

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> WordByWordDecoder:
        first, second = sources.values()
        carried = first.value_size if options.cell is None else options.size
        query = second.value_size + (carried if options.ask == "beside" else 0)
        return cls(
            column.size,
            sources,
            attention=Attention.build(options.attention, query, first),
            ask=options.ask,
            cell=options.cell,
            size=options.size,
            dropout=options.dropout,
            class_weights=class_weights(options.class_weights, column),
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        super().check(options, name, plan, mistakes)
        over = options.over or tuple(plan.encoder)
        if len(over) != 2:
            return
        looked = options.attention.over
        if looked is not None and looked != over[0]:
            mistakes.at("attention").add(
                f"the words of {over[1]} attend to {over[0]}, the first of the two inputs.",
                "over",
                fix=f"Leave attention.over out, or write  over: [{over[1]}, {over[0]}]  in the decoder.",
            )
        check_attention(
            options.attention,
            mistakes.at("attention"),
            user="a word-by-word decoder",
            gives=("previous", "query", "step"),
            together=False,
            truths=None,
        )

    @classmethod
    def reads_summaries(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return tuple(options.over or plan.encoder)[1:]

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        one, other = memories.values()
        t, length = other.index, other.length
        beside, query = options.ask == "beside", f"q_{t}"
        asked = [] if beside else [f"{query} = {other.values} + Q_y r_{{{t}−1}}"]
        query = f"[{other.values}; r_{{{t}−1}}]" if beside else query
        look = LookSymbols(query, one, step=t, count=length)
        dropout = f", dropout {options.dropout}" if options.dropout else ""
        h, c, before = other.values, look.context, f"r_{{{t}−1}}"
        onward, cell = f"r_{t} = {c} + tanh(W_t {before})     — r_0: zeros", []
        if options.cell is not None:
            compared = f"[{h}; {c}; |{h} − {c}|; {h} ⊙ {c}]"
            first = ", ".join(f"{letter}_0" for letter in ("r", *options.cell.part.carried_letters("m")))
            step = options.cell.part.written_step(options.cell, "y", f"r_{t}", before, compared)
            onward, cell = f"{step}     — {first}: zeros", options.cell.part.equations(options.cell, "y")
        return [
            *asked,
            *Attention.equations(options.attention, look),
            onward,
            f"g = tanh(W_g [r_{length}; {other.summary}] + b_g)",
            "p(y) = softmax(V_y g + b_y)",
            *calibration_note(options),
            *cell,
            f"— {options.size} units in g{'' if options.cell is None else ' and r'}{dropout}",
        ]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        one, look = next(iter(memories)), LookSymbols("q_t", next(iter(memories.values())))
        attention = under(f"reading.attentions.{one}", Attention.letters(options.attention, look))
        cell = {} if options.cell is None else under("cell", options.cell.part.letters(options.cell, "y"))
        own: Letters = {"ask.weight": "Q_y", "onward.weight": "W_t"}
        ends = linear("gather", "W_g", "b_g") | linear("output", "V_y", "b_y")
        return {**attention, **cell, **own, **ends}

    def __init__(
        self,
        classes: int,
        sources: Mapping[str, Source],
        *,
        attention: Attention | None = None,
        ask: Asking = "beside",
        cell: str | Options | None = None,
        size: int = 100,
        dropout: float = 0.0,
        class_weights: Tensor | None = None,
    ) -> None:
        super().__init__(sources, alike=cell is not None, class_weights=class_weights)
        self.first, self.second = sources
        self.asking = self.second
        first, second = sources.values()
        width = first.value_size
        carried = width if cell is None else size
        query = second.value_size + (carried if ask == "beside" else 0)
        self.reading = Reading({self.first: attention or Attention(query, width)})
        self.ask = nn.Linear(carried, second.value_size, bias=False) if ask == "sum" else None
        self.onward = nn.Linear(width, width, bias=False) if cell is None else None
        self.cell = None if cell is None else make_cell(cell, 4 * width, size)
        self.gather = nn.Linear(carried + second.summary_size, size)
        self.output = nn.Linear(size, classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, memories: Mapping[str, Memory]) -> tuple[Tensor, dict[str, Tensor]]:
        """Logits (B, C), and the attention of each word of the second text to the first, (B, T, S)."""
        assert self.reading is not None
        asking = memories[self.second]
        values = self.dropout(asking.values)
        state = values.new_zeros(len(values), self._carried)  # (B, D): r, and what a cell carries beside it
        looked = {self.first: memories[self.first]}
        constants = Constants(self.reading.keys(looked))
        previous, steps = self.reading.first_looks(looked), []
        for step in range(values.shape[1]):
            query = self._query(values[:, step], self._found(state))
            read = self.reading(query.unsqueeze(1), looked, constants, step, previous)
            there = asking.mask[:, step, None]
            state = torch.where(there, self._onward(values[:, step], read.context.squeeze(1), state), state)
            previous = {name: read.weights[name] for name in previous}
            steps.append({self.first: read.weights[self.first] * there.unsqueeze(1)})
        gathered = torch.tanh(self.gather(self.dropout(torch.cat([self._found(state), asking.summary], -1))))
        return self.output(self.dropout(gathered)), joined(steps)

    def _query(self, word: Tensor, found: Tensor) -> Tensor:
        """A word and what was found before, (B, D) each → the query (B, Q)."""
        if self.ask is None:
            return torch.cat([word, found], -1)
        asked: Tensor = word + self.ask(found)
        return asked

    @property
    def _carried(self) -> int:
        assert self.reading is not None
        return self.reading.context_size if self.cell is None else self.cell.state_size

    def _found(self, state: Tensor) -> Tensor:
        """The part r of a state."""
        return state if self.cell is None else self.cell.output(state)

    def _onward(self, word: Tensor, context: Tensor, state: Tensor) -> Tensor:
        """A word, its context and the previous state, (B, D) each → the next state."""
        if self.cell is None:
            assert self.onward is not None
            return context + torch.tanh(self.onward(state))
        compared = torch.cat([word, context, (word - context).abs(), word * context], -1)
        onward: Tensor = self.cell(compared, state)
        return onward
