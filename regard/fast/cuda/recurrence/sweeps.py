"""Sweeps: a recurrent layer over whole sequences, in one or several directions with separate weights.

    Z = W x for all steps at once;   for t = 1 … T:   Z[t−1] += U h_{t−1},   h_t = cell(Z[t−1] + b)

Each of the D directions reads the sequence in its own order (for example from the last position of a row to
the first): its inputs are put into that order before, and its outputs taken from it after. One batched
product and one kernel per step serve all directions. Rows of Z (D, T+1, B, W) are as in `plan`, without q and
p.

If a sweep is `narrow`, its products read bfloat16 (inputs, states, weights, gradients of gates) and
accumulate in single precision. States stay in single precision; outputs and the values for the backward pass
are bfloat16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.fast.cuda import thin
from regard.fast.cuda.recurrence import gates
from regard.fast.cuda.recurrence.plan import GATES, Cell
from regard.fast.cuda.recurrence.rows import sum_rows
from regard.fast.cuda.recurrence.workspace import Buffer, Named
from regard.private import copy_all

BLOCK = 256
"""Features per program."""
LARGE = 1 << 17
"""Tensors of at least this many numbers are copied faster alone than with others in one launch."""


@dataclass(frozen=True)
class Sweep:
    """T steps of B rows (both rounded) of I inputs through D cells of size H."""

    cell: Cell
    size: int
    directions: int
    inputs: int
    rows: int
    steps: int
    activation: str = "tanh"
    dtype: torch.dtype = torch.float32
    narrow: bool = False

    @property
    def width(self) -> int:
        return GATES[self.cell] * self.size

    @property
    def extra(self) -> int:
        """Size of hn, which the input's product skips, and of n, which the state's skips; 0 without a gru."""
        return self.size if self.cell == "gru" else 0


def shapes(sweep: Sweep) -> dict[str, tuple[int, ...]]:
    """The shape of every tensor by name, the gradients of the weights first."""
    D, B, T, H, W = sweep.directions, sweep.rows, sweep.steps, sweep.size, sweep.width
    G, half = W - sweep.extra, 2 if sweep.narrow else 1  # two bfloat16 numbers take the memory of one
    found = {"d_entry": (D, G, sweep.inputs), "d_hidden": (D, G, H), "d_row": (D, W), "row": (D, W)}
    found |= {"entry": (D, G, sweep.inputs // half), "hidden": (D, G, H // half)}
    found |= {"words": (D, T, B, sweep.inputs // half), "z": (D, T + 1, B, W)}
    found |= dict.fromkeys(("states", "d_states"), (D, T + 1, B, H))
    if sweep.narrow:
        found |= {"slim_states": (D, T + 1, B, H // half), "slim_z": (D, T + 1, B, W // half)}
    if sweep.cell == "lstm":
        found |= dict.fromkeys(("carries", "d_carries"), (D, T + 1, B, H))
    return found


class SweepWorkspace(Named):
    def __init__(self, sweep: Sweep, buffer: Buffer) -> None:
        super().__init__(buffer, shapes(sweep))
        self.sweep = sweep
        self.from_state = slice(0, sweep.width - sweep.extra)
        self.from_input = slice(sweep.extra, sweep.width)
        if sweep.narrow:
            for name in ("words", "hidden", "entry", "slim_states", "slim_z"):
                self.tensors[name] = self.tensors[name].view(torch.bfloat16)

    def read(self, name: str) -> Tensor:
        """ "states" or "z" as products read them."""
        return self[f"slim_{name}" if self.sweep.narrow else name]

    def arrange(self, weights: Sequence[Tensor]) -> None:
        """Copy in W, U, b, c of each direction, reordering the gates from torch's order to that of Z."""
        H, extra = self.sweep.size, self.sweep.extra
        places, sources = [], []
        for d in range(self.sweep.directions):
            entry, hidden, bias, second = weights[4 * d : 4 * d + 4]
            row, kept = self["row"][d], len(second) - extra  # of a gru, n comes after r and z
            places += [self["entry"][d], self["hidden"][d, extra:], row[extra:]]
            sources += [entry, hidden[:kept], bias]
            if extra:
                places += [self["hidden"][d, :H], row[:H]]
                sources += [hidden[kept:], second[kept:]]
        large = [place.numel() >= LARGE for place in places]
        copy_all(
            *(
                [one for one, alone in zip(some, large, strict=True) if not alone]
                for some in (places, sources)
            )
        )
        for place, source, alone in zip(places, sources, large, strict=True):
            if alone:
                place.copy_(source)
        for d, second in enumerate(weights[3::4]):
            kept = len(second) - extra
            self["row"][d, extra : extra + kept].add_(second[:kept])

    def gradients(self, *, copied: bool) -> list[Tensor]:
        """Gradients of W, U, b, c of each direction; copies if the workspace may be reused before."""
        extra, names = self.sweep.extra, ("d_entry", "d_hidden", "d_row")
        entry, hidden, row = self.copies(*names) if copied else [self[name] for name in names]
        found: list[Tensor] = []
        for d in range(self.sweep.directions):
            if extra:
                kept = slice(extra, row.shape[1] - extra)
                state = torch.cat([hidden[d, extra:], hidden[d, :extra]])
                found += [entry[d], state, row[d, extra:], torch.cat([row[d, kept], row[d, :extra]])]
            else:
                found += [entry[d], hidden[d], row[d], row[d].clone()]  # a caller may scale each in place
        return found

    def steps(self, of: Tensor) -> Tensor:
        """(D, T·B, ·) all steps, without the last time."""
        return of.flatten(1, 2)[:, : self.sweep.steps * self.sweep.rows]


def forth(workspace: SweepWorkspace) -> None:
    """The whole forward pass; inputs, first states and weights have been copied in."""
    sweep, z, entry, hidden = workspace.sweep, workspace["z"], workspace["entry"], workspace["hidden"]
    put_product(
        workspace.steps(z)[..., workspace.from_input], workspace["words"].flatten(1, 2), entry.transpose(1, 2)
    )
    if sweep.extra:
        z[..., : sweep.extra].zero_()
    for step in range(1, sweep.steps + 1):
        gates_ = z[:, step - 1, :, workspace.from_state]
        add_product(gates_, workspace.read("states")[:, step - 1], hidden.transpose(1, 2))
        _cell(workspace, step, forward=True)


def back(workspace: SweepWorkspace) -> None:
    """The whole backward pass; `d_states` holds the gradients from outside."""
    sweep = workspace.sweep
    if sweep.cell == "lstm":
        workspace["d_carries"][:, 0].zero_()
    z, d_states, hidden = workspace.read("z"), workspace["d_states"], workspace["hidden"]
    for step in range(sweep.steps, 0, -1):
        _cell(workspace, step, forward=False)
        add_product(d_states[:, step - 1], z[:, step - 1, :, workspace.from_state], hidden)
    flat, states, words = (
        workspace.steps(z),
        workspace.steps(workspace.read("states")),
        workspace["words"].flatten(1, 2),
    )
    gates_ = flat[..., workspace.from_input]
    put_product(workspace["d_hidden"], flat[..., workspace.from_state].transpose(1, 2), states)
    put_product(workspace["d_entry"], gates_.transpose(1, 2), words)
    put_product(words, gates_, workspace["entry"])
    sum_rows(flat, workspace["d_row"])


def add_product(out: Tensor, left: Tensor, right: Tensor) -> None:
    """out += left · right for each direction, in the precision of `out`."""
    if thin.multiplied(left, right, out, add=True):
        return
    if left.dtype == out.dtype:
        out.baddbmm_(left, right)
    elif out.is_cuda:
        torch.baddbmm(out, left, right, out.dtype, out=out)
    else:
        out.baddbmm_(left.to(out.dtype), right.to(out.dtype))


def put_product(out: Tensor, left: Tensor, right: Tensor) -> None:
    """out = left · right."""
    if left.dtype == out.dtype:
        torch.bmm(left, right, out=out)
    elif out.is_cuda:
        torch.bmm(left, right, out.dtype, out=out)
    else:
        torch.bmm(left.to(out.dtype), right.to(out.dtype), out=out)


def _cell(workspace: SweepWorkspace, step: int, *, forward: bool) -> None:
    """One kernel for the cells of all directions; the tensors are those of the first direction at `step`."""
    sweep = workspace.sweep
    count, apart = sweep.rows * sweep.size, (sweep.steps + 1) * sweep.rows
    grid = (-(-count // BLOCK), sweep.directions)
    options: dict[str, Any] = {"H": sweep.size, "W": sweep.width, "AT": 0, "DROPS": False, "BLOCK": BLOCK}
    options |= {"ZD": apart * sweep.width, "SD": apart * sweep.size}
    if sweep.cell == "rnn":
        options["ACTIVATION"] = sweep.activation
    kept = workspace.read("z")[0, step - 1]
    if forward:
        _cell_forth(workspace, step, kept, grid, count, options | {"BIAS": True, "NARROW": sweep.narrow})
    else:
        _cell_back(workspace, step, kept, grid, count, options)


def _cell_forth(
    workspace: SweepWorkspace, step: int, kept: Tensor, grid: Any, count: int, options: Any
) -> None:
    z, row, states = workspace["z"][0, step - 1], workspace["row"], workspace["states"][0]
    slim = workspace["slim_states"][0, step] if workspace.sweep.narrow else None
    if workspace.sweep.cell == "gru":
        given = (z, kept, row, states[step - 1], states[step])
        gates.gru_forth[grid](*given, None, None, slim, count, **options)
    elif workspace.sweep.cell == "lstm":
        carries = workspace["carries"][0]
        given = (z, kept, row, carries[step - 1], carries[step])
        gates.lstm_forth[grid](*given, states[step], None, None, slim, count, **options)
    else:
        gates.rnn_forth[grid](z, row, states[step], None, None, slim, count, **options)


def _cell_back(
    workspace: SweepWorkspace, step: int, kept: Tensor, grid: Any, count: int, options: Any
) -> None:
    states, d_states = workspace["states"][0], workspace["d_states"][0]
    if workspace.sweep.cell == "gru":
        given = (kept, states[step - 1], d_states[step], d_states[step - 1])
        gates.gru_back[grid](*given, None, None, count, **options)
    elif workspace.sweep.cell == "lstm":
        carries = workspace["carries"][0]
        given = (kept, carries[step - 1], carries[step], workspace["d_carries"][0, 0])
        gates.lstm_back[grid](*given, d_states[step], None, None, count, **options)
    else:
        gates.rnn_back[grid](kept, states[step], d_states[step], None, None, count, **options)
