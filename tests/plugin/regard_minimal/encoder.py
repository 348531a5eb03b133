"""A text read from its end to its beginning."""

from __future__ import annotations

from typing import Any

import torch

import regard
from regard.data import Tokens
from regard.nn import AnyCell, Memory, build_word_embedding, make_cell, word_vector
from regard.nn.letters import Letters, under
from regard.parts import Options, Size


@regard.register("encoder", "backward")
class BackwardEncoder(regard.nn.TextEncoder):
    """h_s = cell(h_{s+1}, e(x_s)), h_{n+1} = 0; the summary is h_1."""

    class Options(regard.nn.TextEncoder.Options):
        """h_j = cell(h_{j+1}, e(x_j)), from the last unit to the first."""

        cell: AnyCell = "minimal-gated"
        """The recurrent cell."""
        size: Size = 64
        """Units."""

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> BackwardEncoder:
        embedding = build_word_embedding(options, column, read_files=read_files)
        return cls(embedding, cell=options.cell, size=options.size)

    @classmethod
    def width(cls, options: Any) -> int | None:
        return int(options.size)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        cell = options.cell.part
        return [
            "j = 1 … S",
            f"x_j = {word_vector(options)}",
            cell.written_step(options.cell, "x", "h_j", "h_{j+1}", "x_j"),
            "h_{S+1} = 0",
            "h = h_1     — the summary",
            *cell.equations(options.cell, "x"),
            f"— {options.size} units, vectors of {options.embedding}",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return super().letters(options) | under("cell", options.cell.part.letters(options.cell, "x"))

    def __init__(self, embedding: Any, *, cell: str | Options = "minimal-gated", size: int = 64) -> None:
        super().__init__()
        self.embedding, self.cell = embedding, make_cell(cell, embedding.size, size)
        self.value_size = self.summary_size = size

    def forward(self, tokens: Tokens) -> Memory:
        mask = tokens.mask
        projected = self.cell.project(self.embedding.read(tokens))  # (B, S, gates·size)
        state = projected.new_zeros(len(mask), self.cell.state_size)
        states = []
        for step in reversed(range(mask.shape[1])):
            advanced = self.cell.advance(projected[:, step], state)
            state = torch.where(mask[:, step, None], advanced, state)
            states.append(self.cell.output(state))
        values = torch.stack(states[::-1], 1) * mask.unsqueeze(-1)
        return Memory(values, mask, self.cell.output(state))
