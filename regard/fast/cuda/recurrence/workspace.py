"""UnrollWorkspace: the memory of a recurrence, at fixed addresses, so that graphs can be recorded over it.

All plans of one kind, device and precision share one buffer (`Buffer`): each run overwrites the values of the
last one, and `holder` says whose values are there. Tensors have T+1 rows of time: row 0 is the first state,
row t is step t. Tensors that exist only for steps have T rows. The weights are copied in, and their gradients
are adjacent, so that one launch copies them out.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from regard.fast.cuda.recurrence.plan import UnrollPlan

ALIGNED = 64
"""Every tensor begins at a multiple of this many numbers."""


class Hold:
    """Token of the computation whose values lie in a buffer; alive while its backward pass may still run."""


class Buffer:
    """One flat buffer, large enough for the largest plan so far."""

    def __init__(self, device: torch.device, dtype: torch.dtype, size: int) -> None:
        self.flat = torch.zeros(size, device=device, dtype=dtype)
        self._holder: weakref.ref[Hold] | None = None

    @property
    def holder(self) -> Hold | None:
        return None if self._holder is None else self._holder()

    @holder.setter
    def holder(self, hold: Hold | None) -> None:
        self._holder = None if hold is None else weakref.ref(hold)


def shapes(plan: UnrollPlan) -> dict[str, tuple[int, ...]]:
    """The shapes of all tensors of a plan by name, numbered by layer or look; weight gradients come first."""
    found: dict[str, tuple[int, ...]] = {f"d_{name}": shape for name, shape in plan.parameters.items()}
    found |= plan.parameters
    B, T, H, top = plan.rows, plan.steps, plan.size, plan.layers - 1
    found |= {"words": (T, B, plan.words), "context": (T + 1, B, plan.context)}
    found["d_context"] = (T + 1, B, plan.context)
    if plan.summary:
        found |= {"summary": (B, plan.summary), "d_summary": (B, plan.summary)}
        found["shares"] = (B, plan.parameters["weight_ih0"][0])
    if plan.after:
        found |= dict.fromkeys(("out", "d_out"), (T + 1, B, plan.readout))
    for layer in range(plan.layers):
        hidden = plan.from_state(layer)
        found[f"z{layer}"] = (T + 1, B, plan.width(layer))
        found |= dict.fromkeys((f"row{layer}", f"d_row{layer}"), (plan.width(layer),))
        found |= dict.fromkeys((f"hidden{layer}", f"d_hidden{layer}"), (hidden.stop - hidden.start, H))
        found |= dict.fromkeys((f"states{layer}", f"d_states{layer}"), (T + 1, B, H))
        if plan.cell == "lstm":
            found |= {f"carries{layer}": (T + 1, B, H), f"d_carry{layer}": (B, H)}
        if plan.drops and layer < top:
            found |= dict.fromkeys((f"masks{layer}", f"below{layer}"), (T + 1, B, H))
            found[f"d_below{layer}"] = (B, H)
    for m, look in enumerate(plan.looks):
        S = look.positions
        found |= {f"keys{m}": (B, S, look.features), f"values{m}": (B, S, look.values)}
        found |= dict.fromkeys((f"weights{m}", f"d_weights{m}", f"d_scores{m}"), (T, B, S))
        if look.additive:
            found[f"queries{m}"] = (T, B, look.features)
        if look.select == "segments":
            found |= {f"joints{m}": (T, B, S, 4), f"corners{m}": (T, B, 4)}
    return found


def needed(shapes: Mapping[str, tuple[int, ...]]) -> int:
    """Total size, in numbers."""
    return sum(_taken(shape) for shape in shapes.values())


def _taken(shape: tuple[int, ...]) -> int:
    return -(-math.prod(shape) // ALIGNED) * ALIGNED


class Named:
    """Tensors by name, as views of the buffer: `workspace["states", 0]`."""

    def __init__(self, buffer: Buffer, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.buffer = buffer
        self.tensors: dict[str, Tensor] = {}
        self.places: dict[str, int] = {}
        at = 0
        for name, shape in shapes.items():
            self.tensors[name] = buffer.flat[at : at + math.prod(shape)].view(shape)
            self.places[name] = at
            at += _taken(shape)

    def __getitem__(self, key: str | tuple[str, int]) -> Tensor:
        return self.tensors[key if isinstance(key, str) else f"{key[0]}{key[1]}"]

    def copies(self, *names: str) -> list[Tensor]:
        """Copies of adjacent tensors, in one launch."""
        tensors, places = [self.tensors[name] for name in names], [self.places[name] for name in names]
        flat = self.buffer.flat[places[0] : places[-1] + tensors[-1].numel()].clone()
        return [
            flat[place - places[0] :][: tensor.numel()].view(tensor.shape)
            for tensor, place in zip(tensors, places, strict=True)
        ]


class UnrollWorkspace(Named):
    """The tensors of one plan.

    alive   (T, B) nonzero where a row has a step
    masks   (B, S) of each look, nonzero at unmasked positions
    """

    def __init__(self, plan: UnrollPlan, buffer: Buffer) -> None:
        super().__init__(buffer, shapes(plan))
        self.plan, device = plan, buffer.flat.device
        self.parameters = [self.tensors[name] for name in plan.parameters]
        self.alive = torch.zeros(plan.steps, plan.rows, device=device, dtype=torch.int8)
        self.masks = [
            torch.zeros(plan.rows, look.positions, device=device, dtype=torch.int8) for look in plan.looks
        ]

    def gradients(self) -> dict[str, Tensor]:
        """Copies of the gradients of all weights, by name."""
        names = tuple(self.plan.parameters)
        return dict(zip(names, self.copies(*(f"d_{name}" for name in names)), strict=True))

    def z(self, layer: int, time: int, part: slice) -> Tensor:
        """(B, ·) a slice of the rows of Z at one time."""
        return self[("z", layer)][time][:, part]

    def gates(self, layer: int) -> Tensor:
        """(T·B, ·) the slice of the input's product, for all steps."""
        return self[("z", layer)][: self.plan.steps].flatten(0, 1)[:, self.plan.from_input(layer)]

    def combined(self) -> Tensor:
        """(T·B, O) p of all steps."""
        return self[("z", self.plan.layers - 1)][1:].flatten(0, 1)[:, self.plan.combined]

    def below(self, layer: int) -> Tensor:
        """(T+1, B, H) the input of a layer ≥ 1."""
        return self[("below" if self.plan.drops else "states", layer - 1)]

    def entering(self) -> Tensor:
        """(·, read) the first layer's weight for contexts or fed-back vectors."""
        return self["weight_ih", 0][:, self.plan.words + self.plan.summary :]

    def inputs(self, layer: int) -> Tensor:
        """The weight for the input of a layer at each step."""
        return self["weight_ih", layer] if layer else self.entering()

    def layers_down(self) -> Iterator[int]:
        return iter(range(self.plan.layers - 1, -1, -1))


def fill(target: Tensor, source: Tensor) -> None:
    """Copy the source into the corner of a target that may be larger, and zeros elsewhere."""
    if target.shape != source.shape:
        target.zero_()
        target = target[tuple(slice(size) for size in source.shape)]
    target.copy_(source)
