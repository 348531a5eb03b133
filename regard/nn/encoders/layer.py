"""One recurrent layer over whole packed sequences, in one direction or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from regard.nn.cells import Cell, make_cell
from regard.nn.cells.cell import carried_by
from regard.nn.letters import Letters, under
from regard.nn.packing import Packing
from regard.nn.path import faster
from regard.nn.recurrence import recurrence_of, run_cells
from regard.parts import Options

First = Literal["learned", "zero"]


@dataclass(frozen=True)
class LayerSymbols:
    """Symbols of a recurrent layer: `→h_j = gru_→(→h_{j−1}, x_j)`, and likewise from the other end.

    cell      the options of its cell
    inputs    the symbol of its inputs
    letter    the letter of its states; `carried`: of what the cell carries beside them
    at        the indices before that of the position
    mark      the subscript of the cell, before its direction
    first     the positions before the first and after the last, which have the first states
    backward  whether a layer of one direction reads from the end to the beginning
    """

    cell: Any
    both: bool = True
    inputs: str = "x_j"
    letter: str = "h"
    carried: str = "m"
    at: tuple[str, ...] = ()
    index: str = "j"
    mark: str = ""
    first: tuple[str, str] = ("0", "S+1")
    backward: bool = False

    def state(self, place: str, arrow: str = "") -> str:
        """The state at a position: →h_j, →h_{l,j−1}."""
        items = (*self.at, place)
        below = "".join(items) if all(len(item) == 1 for item in items) else f"{{{','.join(items)}}}"
        return f"{arrow}{self.letter}_{below}"

    def steps(self) -> list[str]:
        """Equations of the recurrence, a line for each direction."""
        step, j = self.cell.part.written_step, self.index
        if not self.both:
            now, back = self.state(j), self.state(f"{j}+1" if self.backward else f"{j}−1")
            return [step(self.cell, self.mark or "x", now, back, self.inputs, self.carried)]
        return [
            step(
                self.cell,
                self.mark + arrow,
                self.state(j, arrow),
                self.state(from_, arrow),
                self.inputs,
                self.carried,
            )
            for arrow, from_ in (("→", f"{j}−1"), ("←", f"{j}+1"))
        ]

    def functions(self) -> list[str]:
        """Equations of the cell, once for both directions."""
        lines: list[str] = self.cell.part.equations(
            self.cell, self.mark + "d" if self.both else self.mark or "x"
        )
        return lines

    def letters(self) -> Letters:
        """The letters of a `RecurrentLayer` with these symbols."""
        marks = [self.mark + arrow for arrow in "→←"] if self.both else [self.mark or "x"]
        found: Letters = {}
        for number, mark in enumerate(marks):
            found |= under(f"cells.{number}", self.cell.part.letters(self.cell, mark))
        places = self.first[::-1] if self.backward else self.first
        arrows = ("→", "←") if self.both else ("",)
        found["first"] = tuple(
            f"{arrow}{self.letter}_{{{','.join((*self.at, place))}}}"
            for arrow, place in zip(arrows, places, strict=False)
        )
        return found

    def first_states(self, first: First, size: int) -> tuple[str, list[str]]:
        """A note on the first states if they are learned, else their equations."""
        arrows = ("→", "←") if self.both else ("",)
        places = self.first[::-1] if self.backward else self.first
        states = [self.state(place, arrow) for arrow, place in zip(arrows, places, strict=False)]
        letters = self.cell.part.carried_letters(self.carried)
        states += [carried_by(state, letter) for letter in letters for state in states]
        if first == "learned":
            return f"     — {', '.join(states)}: learned", []
        return "", [f"{state} = 0_{size}" for state in states]


class RecurrentLayer(nn.Module):
    """Packed inputs (N, I) → packed outputs (N, directions·size) and the last states (B, directions·size) of the rows.

    The backward direction starts at the last position of each row. Each direction has its own `Cell` with the
    weights. torch's kernels run the cells that they know; the remaining cells run step by step. The results are
    the same.

    backward   whether a layer of one direction reads each row from its end; the last state is then at the
               first position

    With `whole`, the last states are followed by what the cells carry beside them, vector by vector:
    (B, states·directions·size).
    """

    def __init__(
        self,
        input_size: int,
        size: int,
        *,
        cell: str | Options = "gru",
        bidirectional: bool = True,
        first: First = "learned",
        backward: bool = False,
    ) -> None:
        super().__init__()
        self.backward = backward
        self.cells = nn.ModuleList(
            make_cell(cell, input_size, size) for _ in range(2 if bidirectional else 1)
        )
        states = torch.zeros(len(self.cells), self.cell(0).state_size)
        self.first = nn.Parameter(states, requires_grad=first == "learned")

    def cell(self, direction: int) -> Cell:
        return cast(Cell, self.cells[direction])

    def each(self) -> list[Cell]:
        """The cells of all directions."""
        return [self.cell(direction) for direction in range(len(self.cells))]

    def forward(self, inputs: Tensor, packing: Packing, *, whole: bool = False) -> tuple[Tensor, Tensor]:
        if not self.backward:
            return self.run(inputs, packing, whole=whole)
        turned = packing.turned()
        outputs, last = self.run(inputs.index_select(0, turned), packing, whole=whole)
        return outputs.index_select(0, turned), last

    def run(self, inputs: Tensor, packing: Packing, *, whole: bool = False) -> tuple[Tensor, Tensor]:
        """Run forward, or in both directions."""
        found: tuple[Tensor, Tensor] | None = faster(
            "layer.run", inputs.device, self, inputs, packing, whole=whole
        )
        if found is not None:
            return found
        run = self.by_cells if recurrence_of(self.each()) is None else self.by_torch
        return run(inputs, packing, whole=whole)

    def last_states(self, states: Tensor, whole: bool) -> Tensor:
        """(B, directions, state) → (B, directions·size), with `whole` followed by what is carried."""
        size = self.cell(0).size
        if not whole:
            return states[..., :size].flatten(1)
        vectors: Tensor = states.unflatten(-1, (-1, size))  # (B, directions, states, size)
        return vectors.transpose(1, 2).flatten(1)

    def by_torch(self, inputs: Tensor, packing: Packing, *, whole: bool = False) -> tuple[Tensor, Tensor]:
        rows = len(packing.longest)
        first = self.first.unsqueeze(1).expand(-1, rows, -1)  # (directions, B, state)
        outputs, last = run_cells(self.each(), inputs, packing, first, training=self.training)
        return outputs, self.last_states(last.index_select(1, packing.back).transpose(0, 1), whole)

    def by_cells(self, inputs: Tensor, packing: Packing, *, whole: bool = False) -> tuple[Tensor, Tensor]:
        outputs, lasts = [], []
        for direction in range(len(self.cells)):
            cell = self.cell(direction)
            projected = cell.project(inputs)
            state = self.first[direction].expand(len(packing.longest), -1)
            reached = []
            for low, high in packing.steps if direction == 0 else packing.steps[::-1]:
                advanced = cell.advance(projected[low:high], state[: high - low])
                state = torch.cat([advanced, state[high - low :]])
                reached.append(cell.output(advanced))
            outputs.append(torch.cat(reached if direction == 0 else reached[::-1]))
            lasts.append(state)
        states = torch.stack(lasts, 1).index_select(0, packing.back)
        return torch.cat(outputs, -1), self.last_states(states, whole)
