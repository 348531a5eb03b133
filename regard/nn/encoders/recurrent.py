"""Recurrent encoder: reads the text from left to right, from right to left, or both."""

from __future__ import annotations

from typing import Any, Literal

from torch import nn

from regard.data.batch import Tokens
from regard.errors import RegardError
from regard.nn.cells import AnyCell
from regard.nn.embedding import TokenVectors, check_dropout
from regard.nn.encoders.encoder import positions_read, refuse_unread
from regard.nn.encoders.layer import First, RecurrentLayer
from regard.nn.encoders.text import TextEncoder, build_word_embedding, embedding_note, parents_lines
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.parts import Count, Mistakes, Options, Plan, Size, register

Values = Literal["states", "embeddings"]


@register("encoder", "recurrent")
class RecurrentEncoder(TextEncoder):
    """h_s = [→h_s; ←h_s] with →h_s = cell(→h_{s−1}, e(x_s)) and ←h_s = cell(←h_{s+1}, e(x_s)).

    The summary is [→h_n; ←h_1], what each direction held when it had read everything. `layers` are stacked; with
    `residual` each layer from the second on adds its input to its output; dropout acts between layers.

    values   what a look reads: the states h_s, or the embeddings e(x_s), with the states as keys. States know what
             stands around a position, so that one of them may be enough; embeddings must be read together.
    """

    class Options(TextEncoder.Options):
        """h_t = cell(h_{t−1}, e(x_t)), read once or from both ends."""

        cell: AnyCell = "gru"
        """The recurrent cell."""
        size: Size = 256
        """Units of a layer, in each direction."""
        layers: Count = 1
        """Recurrent layers on top of each other."""
        bidirectional: bool = True
        """Read from both ends."""
        residual: bool = False
        """Each layer from the second on adds its input to its output."""
        first: First = "learned"
        """The state before the first unit."""
        values: Values = "states"
        """What a look reads: the states, or the embeddings, with the states as keys that say where they are."""

        moved = {
            "activation": "cell: {type: rnn, activation: …}",
            "update": "cell: {type: gru, update: …}",
        }

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> RecurrentEncoder:
        return cls(
            build_word_embedding(options, column, read_files=read_files),
            cell=options.cell,
            size=options.size,
            layers=options.layers,
            bidirectional=options.bidirectional,
            dropout=options.dropout,
            residual=options.residual,
            first=options.first,
            values=options.values,
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        super().check(options, name, plan, mistakes)
        refuse_unread(options, ["values"], plan, mistakes)
        if options.layers == 1:
            check_dropout(options, mistakes)
        if options.residual and options.layers == 2 and not positions_read(plan, options):
            mistakes.add(
                "residual has no effect: of two layers it changes the positions alone, which no decoder reads.",
                "residual",
                fix="Leave residual out, or add layers.",
            )
        if options.residual and options.layers == 1:
            mistakes.add(
                "residual adds a layer's input to its output from the second layer on, and there is one.",
                "residual",
                fix="Add layers, or leave residual out.",
            )

    @classmethod
    def width(cls, options: Any) -> int | None:
        return int(options.size * (2 if options.bidirectional else 1))

    @classmethod
    def board(cls, options: Any) -> list[str]:
        first = "learned" if options.first == "learned" else "0"
        layers = f"{options.layers} layers, " if options.layers > 1 else ""
        residual = "residual, " if options.residual else ""
        both = " in each direction" if options.bidirectional else ""
        if options.bidirectional:
            states = "h_j = [→h_j; ←h_j]   →h_j = {0}(→h_{{j−1}}, e(x_j))   ←h_j = {0}(←h_{{j+1}}, e(x_j))"
            summary = "summary [→h_S; ←h_1]"
        else:
            states, summary = "h_j = {0}(h_{{j−1}}, e(x_j))", "summary h_S"
        return [
            states.format(options.cell.type) + f"   h_0 {first}",
            *options.cell.part.equations(options.cell, "h", "x"),
            f"{layers}{residual}{options.size} units{both}, {embedding_note(options)}; {summary}",
            *parents_lines(options),
        ]

    def __init__(
        self,
        embedding: TokenVectors,
        *,
        cell: str | Options = "gru",
        size: int = 256,
        layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
        residual: bool = False,
        first: First = "learned",
        values: Values = "states",
    ) -> None:
        super().__init__()
        if layers < 1:
            raise RegardError(f"An encoder needs at least one layer; received {layers}.")
        width = size * (2 if bidirectional else 1)
        self.embedding, self.residual = embedding, residual
        self.values = values
        self.summary_size = self.key_size = width
        self.value_size = width if values == "states" else embedding.size
        self.layers = nn.ModuleList(
            RecurrentLayer(
                embedding.size if index == 0 else width,
                size,
                cell=cell,
                bidirectional=bidirectional,
                first=first,
            )
            for index in range(layers)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tokens) -> Memory:
        packing = Packing.of(tokens.lengths, tokens.ids.shape[1], tokens.counts)
        values = embedded = self.embedding.read(tokens, packing.pack)  # (N, E): padding is never computed
        for index, layer in enumerate(self.layers):
            inputs = values if index == 0 else self.dropout(values)
            values, summary = layer(inputs, packing)
            if self.residual and index > 0:
                values = values + inputs
        if self.values == "states":
            return Memory(packing.unpack(values), tokens.mask, summary)
        return Memory(packing.unpack(embedded), tokens.mask, summary, keys=packing.unpack(values))
