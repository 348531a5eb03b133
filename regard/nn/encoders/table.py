"""Table encoder: one memory position for each cell, from the name of its field and its value, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batch import Sentences
from regard.data.table_cells import TableCells
from regard.nn.cells import AnyCell
from regard.nn.embedding import Embedding, Width, width_of
from regard.nn.encoders.encoder import Encoder
from regard.nn.encoders.hierarchical import (
    WordsOptions,
    check_level,
    extras,
    make_words,
    size_note,
    word_layer,
    word_lines,
)
from regard.nn.encoders.mean import masked_mean
from regard.nn.letters import Letters, linear, under
from regard.nn.memory import Memory, Parts
from regard.nn.symbols import MemorySymbols
from regard.parts import Depth, Mistakes, Plan, Size, register


class LabelWordsOptions(WordsOptions):
    """How to read a short text: the value of a cell, the label of a node."""

    cell: AnyCell | None = None
    """The recurrent cell that reads the units in order; null: none, the text is the mean of its vectors."""
    embedding: Width = 64
    """Size of the vectors of words or characters, or pretrained ones."""


def label_symbols(options: Any) -> MemorySymbols:
    """The symbols of a memory whose positions are short texts z_j of units w_jm."""
    values, keys = "x_jm", ""
    if options.words.cell is not None:
        values, keys = ("b_jm", "") if options.words.values == "states" else ("x_jm", "b_jm")
    words = MemorySymbols(values, keys=keys, summary="", index="m", length="N_j", embedding="")
    return MemorySymbols(words=words)


def label_letters(options: Any) -> Letters:
    found: Letters = {"words.embedding.weight": "E_x"}
    if options.words.cell is not None:
        found |= under("words.layers.0", word_layer(options.words).letters())
    return found


def read_labels(words: Encoder, given: Sentences) -> tuple[Tensor, Parts]:
    """(B, S, D) the vector of each short text, and its units."""
    read = [words(tokens) for tokens in given.buckets]
    vectors = given.gather([memory.summary for memory in read])
    keys = [memory.keys for memory in read if memory.keys is not None]
    return vectors, Parts(given, [memory.values for memory in read], keys or None)


class SetLayer(nn.Module):
    """h_j + tanh(W h_j + U a + b), where a is the mean of all h_j: equal for any order (Zaheer et al. 2017)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.own, self.mean = nn.Linear(size, size), nn.Linear(size, size, bias=False)

    def forward(self, found: Tensor, mask: Tensor) -> Tensor:
        together = self.mean(masked_mean(found, mask)).unsqueeze(1)
        return found + torch.tanh(self.own(found) + together)


@register("encoder", "table")
class TableEncoder(Encoder):
    """The cells of a table as a set:

        z_j = the mean of the vectors of the value, or the last states of a recurrent network over them
        g_j = tanh(W [f_j; z_j] + b)                   f_j: the vector of the field
        h_j = g_j + tanh(W′ g_j + U′ mean_i g_i + b′)  in each layer: what the other cells hold

    The order of the cells makes no difference.
    """

    class Options(Encoder.Options):
        """TableCells as a set: h_j from the name of the field and the value of each cell, and the mean of all cells."""

        words: LabelWordsOptions = LabelWordsOptions()
        """How to read the units of a value."""
        fields: Size = 32
        """Size of the vectors of fields."""
        size: Size = 128
        """Features of a cell."""
        layers: Depth = 1
        """Number of layers in which each cell reads the mean of all."""

    reads = ("table",)
    of_words = True

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> TableEncoder:
        return cls(
            make_words(options.words, column, read_files=read_files),
            Embedding(len(column.names), options.fields),
            size=options.size,
            layers=options.layers,
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        check_level(options.words, mistakes.at("words"))

    @classmethod
    def width(cls, options: Any) -> int | None:
        return int(options.size)

    @classmethod
    def symbols(cls, options: Any) -> MemorySymbols:
        return label_symbols(options)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        words, last = options.words, options.layers
        arrows = ", d ∈ {→, ←}" if words.cell is not None and words.bidirectional else ""
        return [
            f"j = 1 … S, m = 1 … N_j, l = 1 … {last}{arrows}     — w_jm: unit m of the value of cell j; f_j: its field",
            *word_lines(words, what="the value of cell j"),
            "g_0j = tanh(W_v [F_x[f_j]; z_j] + b_v)",
            "a_l = Σ_j g_{l−1,j} / S     — all cells, in any order",
            "g_lj = g_{l−1,j} + tanh(W_l g_{l−1,j} + U_l a_l + b_l)",
            f"h_j = g_{last}j",
            "h = Σ_j h_j / S     — the summary",
            f"— values: {size_note(words)}vectors of {width_of(words.embedding)}{extras(words)}",
            f"— {options.size} features, vectors of {options.fields} for fields",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return {
            **label_letters(options),
            "fields.weight": "F_x",
            **linear("cell", "W_v", "b_v"),
            **linear("layers.*.own", "W_l", "b_l"),
            "layers.*.mean.weight": "U_l",
        }

    def __init__(self, words: Encoder, fields: Embedding, *, size: int = 128, layers: int = 1) -> None:
        super().__init__()
        self.words, self.fields = words, fields
        self.cell = nn.Linear(fields.size + words.summary_size, size)
        self.layers: Sequence[Any] = nn.ModuleList(SetLayer(size) for _ in range(layers))  # type: ignore[assignment]
        self.value_size = self.summary_size = size

    @property
    def embedding(self) -> Embedding:
        """The embedding of the units of values."""
        found: Embedding = self.words.embedding  # type: ignore[assignment]
        return found

    def forward(self, table: TableCells) -> Memory:
        vectors, units = read_labels(self.words, table)
        mask = table.mask
        found = torch.tanh(self.cell(torch.cat([self.fields(table.laid_names()), vectors], -1)))
        for layer in self.layers:
            found = layer(found, mask)
        values = found * mask.unsqueeze(-1)
        return Memory(values, mask, masked_mean(values, mask), layout="table", parts=units)
