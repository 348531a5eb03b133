"""Recurrences over whole packed sequences: the layers of encoders, the stacked cells of decoders, and torch's kernels
for both (cuDNN's on CUDA).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from regard.nn.cells import Cell, make_cell
from regard.nn.cells.cell import TorchRecurrence
from regard.nn.memory import Memory
from regard.nn.packing import Packing, PaddedRows
from regard.nn.path import faster
from regard.nn.watching import record_of
from regard.parts import Mistakes, Options
from regard.parts.definition import remember
from regard.private import scanned, transforms_active

Weights = tuple[Tensor, Tensor, Tensor, Tensor]
"""W, U, b, c of a cell, as `Cell.torch_weights` gives them."""


def recurrence_of(cells: Sequence[Cell]) -> TorchRecurrence | None:
    """torch's recurrence of all of these cells, if there is one. It takes the number of active rows as numbers in
    memory, which a transform of `torch.func` hides."""
    if not torch.compiler.is_compiling() and transforms_active():
        return None
    run = cells[0].torch_recurrence()
    return run if all(cell.torch_recurrence() is run for cell in cells[1:]) else None


def run_cells(
    cells: Sequence[Cell], inputs: Tensor, packing: Packing, first: Tensor, *, training: bool
) -> tuple[Tensor, Tensor]:
    """Run one layer with a cell for each direction: packed inputs (N, I) and first states
    (directions, B, state), longest row first → packed outputs (N, directions·size) and last states
    (directions, B, state).

    The cells must have a `recurrence_of`.
    """
    run = recurrence_of(cells)
    if run is None:
        raise TypeError(f"torch has no recurrence of {type(cells[0]).__name__}")
    weights = [weight for one in cells for weight in one.torch_weights()]
    common = (weights, True, 1, 0.0, _kept(training), len(cells) == 2)
    with _quiet():
        return run(inputs, packing.sizes, first.contiguous(), *common)


def run_layers(
    cells: Sequence[Cell],
    weights: Sequence[Weights],
    inputs: Tensor,
    first: Tensor,
    *,
    dropout: float,
    training: bool,
) -> tuple[Tensor, Tensor]:
    """Run stacked layers in one call: inputs (T, B, I) of rows of equal length and first states
    (layers, B, state) → outputs (T, B, size) of the top layer and last states (layers, B, state).

    weights   the weights to use for each cell, which need not be its own
    dropout   dropout between the layers

    The cells must have a `recurrence_of` and the same size.
    """
    run = recurrence_of(cells)
    if run is None:
        raise TypeError(f"torch has no recurrence of {type(cells[0]).__name__}")
    flat = [weight for one in weights for weight in one]
    dropout = dropout if training else 0.0
    with _quiet():
        return run(inputs, None, first.contiguous(), flat, True, len(cells), dropout, _kept(training), False)


def _kept(training: bool) -> bool:
    """What to tell torch as its training mode. cuDNN keeps what a backward pass needs only in that mode, which
    without dropout computes the same; gradients of a model in evaluation mode need it too."""
    return training or torch.is_grad_enabled()


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence torch's warning that cuDNN copies the weights at each call: the copies are cheap."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")
        yield


def check_residual(options: Any, mistakes: Mistakes) -> None:
    """Require a second layer for `residual`."""
    if options.residual and options.layers == 1:
        mistakes.add(
            "residual has no effect: it needs at least two layers, and there is only one.",
            "residual",
            fix="Add layers, or leave residual out.",
        )


First = Literal["learned", "zero"]


@remember
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
        outputs, last = self.run(packing.turn(inputs), packing, whole=whole)
        if (record := record_of(self.cell(0))) is not None:
            record.turn(packing)
        return packing.turn(outputs), last

    def run(self, inputs: Tensor, packing: Packing, *, whole: bool = False) -> tuple[Tensor, Tensor]:
        """Run forward, or in both directions."""
        found: tuple[Tensor, Tensor] | None = faster(
            "layer.run", inputs.device, self, inputs, packing, whole=whole
        )
        if found is not None:
            return found
        if isinstance(packing, PaddedRows):
            return self.by_scan(inputs, packing, whole=whole)
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
                advanced = cell.stepped(projected[low:high], state[: high - low])
                state = torch.cat([advanced, state[high - low :]])
                reached.append(cell.output(advanced))
            if (record := record_of(cell)) is not None:
                record.place(packing, backward=direction == 1)
            outputs.append(torch.cat(reached if direction == 0 else reached[::-1]))
            lasts.append(state)
        states = torch.stack(lasts, 1).index_select(0, packing.back)
        return torch.cat(outputs, -1), self.last_states(states, whole)

    def by_scan(self, inputs: Tensor, packing: PaddedRows, *, whole: bool = False) -> tuple[Tensor, Tensor]:
        """As `by_cells`, for rows with their padding, (B, W, I), which leaves the state as it is."""
        outputs, lasts = [], []
        rows, mask = packing.lengths.shape[0], packing.mask.transpose(0, 1)  # (W, B)
        for direction in range(len(self.cells)):
            cell = self.cell(direction)

            def advance(state: Tensor, given: Sequence[Tensor], cell: Cell = cell) -> tuple[Tensor, Tensor]:
                advanced = torch.where(given[1].unsqueeze(-1), cell.stepped(given[0], state), state)
                return advanced, cell.output(advanced).clone()

            projected = cell.project(inputs).transpose(0, 1)  # (W, B, G)
            first = self.first[direction].expand(rows, -1).clone()
            last, reached = scanned(advance, first, (projected, mask), reverse=direction == 1)
            outputs.append(reached.transpose(0, 1))
            lasts.append(last)
        return torch.cat(outputs, -1), self.last_states(torch.stack(lasts, 1), whole)


@remember
class Stack(nn.Module):
    """Layer l reads the output of layer l − 1. With `residual`, layers from the second on add their input to
    their output."""

    def __init__(
        self,
        input_size: int,
        size: int,
        *,
        cell: str | Options = "gru",
        layers: int = 1,
        dropout: float = 0.0,
        residual: bool = False,
    ) -> None:
        super().__init__()
        self.size, self.residual = size, residual
        self.cells = nn.ModuleList(
            make_cell(cell, input_size if index == 0 else size, size) for index in range(layers)
        )
        self.dropout = nn.Dropout(dropout)

    @property
    def states(self) -> int:
        """Features of the states of all layers."""
        return len(self.cells) * self.cell(0).state_size

    def cell(self, layer: int) -> Cell:
        return cast(Cell, self.cells[layer])

    def each(self) -> list[Cell]:
        """The cells of all layers."""
        return [self.cell(layer) for layer in range(len(self.cells))]

    def forward(self, projected: Tensor, states: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The first layer's projected input (…, G) and all states → the output (…, size) and the new states."""
        cell = self.cell(0)
        state = cell.stepped(projected, states[0])
        output, advanced = cell.output(state), [state]
        for index in range(1, len(self.cells)):
            cell = self.cell(index)
            below = self.dropout(output)
            state = cell.stepped(cell.project(below), states[index])
            output = cell.output(state) + below if self.residual else cell.output(state)
            advanced.append(state)
        return output, tuple(advanced)

    def top(self, states: tuple[Tensor, ...]) -> Tensor:
        """The output of the top cell: the query, if the decoder looks before the step."""
        return self.cell(len(self.cells) - 1).output(states[-1])

    def run(self, inputs: Tensor, first: Sequence[Tensor], packing: Packing) -> Tensor:
        """A whole output, if no context enters the recurrence: packed inputs (N, I) and first states
        (B, state) of each layer → packed outputs (N, size)."""
        for index, state in enumerate(first):
            below = inputs if index == 0 else self.dropout(inputs)
            inputs = self._layer(self.cell(index), below, state, packing)
            if index > 0 and self.residual:
                inputs = inputs + below
        return inputs

    def _layer(self, cell: Cell, inputs: Tensor, first: Tensor, packing: Packing) -> Tensor:
        """One layer, from the first states (B, state) of the rows."""
        found: Tensor | None = faster("stack.layer", inputs.device, cell, inputs, first, packing)
        if found is not None:
            return found
        first = first.index_select(0, packing.order)
        if recurrence_of([cell]) is not None:
            return run_cells([cell], inputs, packing, first.unsqueeze(0), training=self.training)[0]
        projected, state, reached = cell.project(inputs), first, []
        for low, high in packing.steps:
            state = cell.stepped(projected[low:high], state[: high - low])
            reached.append(cell.output(state))
        if (record := record_of(cell)) is not None:
            record.place(packing, backward=False)
        return torch.cat(reached)


class Bridge(nn.Linear):
    """The first states of all layers from the summary h, including what the cells carry: tanh(W h + b), or
    W h + b without `squashes`."""

    def __init__(self, summary_size: int, stack: Stack, *, squashes: bool = True) -> None:
        super().__init__(summary_size, stack.states)
        self.layers, self.squashes = len(stack.cells), squashes

    def first_states(self, summary: Tensor) -> tuple[Tensor, ...]:
        """(B, D) → one (B, 1, state) for each layer."""
        made = torch.tanh(self(summary)) if self.squashes else self(summary)
        return by_layer(made, self.layers)


def by_layer(states: Tensor, layers: int) -> tuple[Tensor, ...]:
    """Split the concatenated states of all layers: (B, L·state) → one (B, 1, state) for each."""
    return states.view(states.shape[0], 1, layers, -1).unbind(2)


def handed_on(memory: Memory, stack: Stack) -> tuple[Tensor, ...]:
    """`bridge: copy`: the last states of the encoder's layers, one (B, 1, state) for each."""
    size = stack.cell(0).state_size
    return tuple(one[:, None, :size] for one in memory.last or (memory.summary,))


PLACES = ("layers", "cells", "stack", "cell", "layer")
"""Names of attributes that tell nothing about a cell."""


def named_cells(module: nn.Module) -> dict[str, Cell]:
    """The recurrent cells inside a module, by the way to them: "2.forward" of its second layer, "" of its only cell."""
    found: dict[str, Cell] = {}
    for path, part in module.named_modules():
        if isinstance(part, Cell):
            name = ".".join(_written_path(module, path.split(".") if path else []))
            found[f"{name} ({path})" if name in found else name] = part
    return found


def _written_path(module: nn.Module, path: Sequence[str]) -> Iterator[str]:
    """The names on the way to a cell; of lists with several parts, the number from 1."""
    reader = owner = module
    for name in path:
        below = owner.get_submodule(name)
        if isinstance(owner, nn.ModuleList):
            if isinstance(reader, RecurrentLayer) and isinstance(below, Cell):
                if len(owner) == 2 or reader.backward:
                    yield "backward" if name == "1" or reader.backward else "forward"
            elif len(owner) > 1:
                yield str(int(name) + 1)
        elif name not in PLACES:
            yield name
        reader, owner = owner, below
