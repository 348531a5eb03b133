"""Room: the memory a recurrence is computed in, at addresses that stay, so that graphs can be recorded over it.

All plans of one device and precision share one piece (`Ground`): whoever runs writes over what the last one left, and
`holder` says whose numbers lie there. T+1 rows of time: row 0 is the first state, row t is step t; what belongs to
steps alone has T rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from regard.kernels.cuda.recurrence.plan import Plan

ALIGNED = 64
"""Every tensor begins at a multiple of so many numbers."""


class Ground:
    """One flat piece of memory, as large as the largest plan so far has needed, with some to spare."""

    def __init__(self, device: torch.device, dtype: torch.dtype, size: int) -> None:
        self.flat = torch.zeros(size, device=device, dtype=dtype)
        self.holder: object | None = None


def shapes(plan: Plan) -> dict[str, tuple[int, ...]]:
    """Every tensor of a plan by name; layers and looks are numbered."""
    B, T, H, top = plan.rows, plan.steps, plan.size, plan.layers - 1
    found: dict[str, tuple[int, ...]] = {
        "context": (T + 1, B, plan.context),
        "d_context": (T + 1, B, plan.context),
    }
    if plan.after:
        found |= dict.fromkeys(("out", "d_out"), (T + 1, B, plan.readout))
        found["combine"] = (plan.readout, plan.context)
    for layer in range(plan.layers):
        hidden, inputs = plan.from_state(layer), plan.from_input(layer)
        found[f"z{layer}"] = (T + 1, B, plan.width(layer))
        found |= {f"{name}{layer}": (T + 1, B, H) for name in ("states", "d_states")}
        found[f"hidden{layer}"] = (hidden.stop - hidden.start, H)
        found[f"inputs{layer}"] = (inputs.stop - inputs.start, H if layer else plan.read)
        if plan.cell == "lstm":
            found |= {f"carries{layer}": (T + 1, B, H), f"d_carry{layer}": (B, H)}
        if plan.drops and layer < top:
            found |= {f"{name}{layer}": (T + 1, B, H) for name in ("masks", "below")}
            found[f"d_below{layer}"] = (B, H)
    for m, look in enumerate(plan.looks):
        S = look.positions
        found |= {f"keys{m}": (B, S, look.features), f"values{m}": (B, S, look.values)}
        found |= {f"{name}{m}": (T, B, S) for name in ("weights", "d_weights", "d_scores")}
        if look.additive:
            found |= {f"vector{m}": (look.features,), f"queries{m}": (T, B, look.features)}
        if look.select == "segments":
            found |= {f"joints{m}": (T, B, S, 4), f"transitions{m}": (4,), f"d_transitions{m}": (T, B, 4)}
    return found


def needed(plan: Plan) -> int:
    """Numbers in all."""
    return sum(_taken(shape) for shape in shapes(plan).values())


def _taken(shape: tuple[int, ...]) -> int:
    return -(-math.prod(shape) // ALIGNED) * ALIGNED


class Room:
    """The tensors of one plan, as views of the ground: `room["states", 0]`."""

    def __init__(self, plan: Plan, ground: Ground) -> None:
        self.plan, self.ground = plan, ground
        self.tensors: dict[str, Tensor] = {}
        at = 0
        for name, shape in shapes(plan).items():
            self.tensors[name] = ground.flat[at : at + math.prod(shape)].view(shape)
            at += _taken(shape)
        device = ground.flat.device
        self.lengths = torch.zeros(plan.rows, device=device, dtype=torch.int32)
        self.masks = [
            torch.zeros(plan.rows, look.positions, device=device, dtype=torch.int8) for look in plan.looks
        ]

    def __getitem__(self, key: str | tuple[str, int]) -> Tensor:
        return self.tensors[key if isinstance(key, str) else f"{key[0]}{key[1]}"]

    def z(self, layer: int, time: int, part: slice) -> Tensor:
        """(B, ·) a slice of the rows of one time."""
        return self[("z", layer)][time][:, part]

    def below(self, layer: int, time: int) -> Tensor:
        """(B, H) what layer ≥ 1 reads."""
        name = "below" if self.plan.drops else "states"
        return self[(name, layer - 1)][time]

    def layers_down(self) -> Iterator[int]:
        return iter(range(self.plan.layers - 1, -1, -1))


def fill(target: Tensor, source: Tensor) -> None:
    """The source in the corner of a larger target, zeros elsewhere."""
    if target.shape != source.shape:
        target.zero_()
        target = target[tuple(slice(size) for size in source.shape)]
    target.copy_(source)
