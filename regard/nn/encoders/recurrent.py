"""Recurrent encoder: reads the text from left to right, from right to left, or both."""

from __future__ import annotations

from typing import Literal

from torch import nn

from regard.data.batch import Tokens
from regard.errors import RegardError
from regard.nn.cells import Activation, CellName, Update
from regard.nn.embedding import Reading
from regard.nn.encoders.base import Encoder
from regard.nn.encoders.layer import First, RecurrentLayer
from regard.nn.memory import Memory
from regard.nn.packing import Packing

Values = Literal["states", "embeddings"]


class RecurrentEncoder(Encoder):
    """h_s = [→h_s; ←h_s] with →h_s = cell(→h_{s−1}, e(x_s)) and ←h_s = cell(←h_{s+1}, e(x_s)).

    The summary is [→h_n; ←h_1], what each direction held when it had read everything. `layers` are stacked; with
    `residual` each layer from the second on adds its input to its output; dropout acts between layers.

    values   what a look reads: the states h_s, or the embeddings e(x_s), with the states as keys. States know what
             stands around a position, so that one of them may be enough; embeddings must be read together.
    """

    def __init__(
        self,
        embedding: Reading,
        *,
        cell: CellName = "gru",
        size: int = 256,
        layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
        residual: bool = False,
        activation: Activation = "tanh",
        update: Update = "torch",
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
                activation=activation,
                update=update,
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
