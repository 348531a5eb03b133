"""The steps backward, and after them the gradients of the weights, each a single product over all rows and times.

    before   dZ[t−1] ← cells(ds_t);  dc_t += dZ[t−1] W;  dq_t ← attend;  ds_{t−1} += dZ[t−1] U
    after    dp_t = do_t (1 − o_t²);  dc_t = dp_t W_c;  dq_t ← attend;  ds_t += dZ[t] U;  dZ[t−1] ← cells(ds_t);
             do_{t−1} += dZ[t−1] W

`d_states`, `d_context` and `d_out` hold what comes from outside before the first step back.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.kernels.cuda.recurrence.forth import reached
from regard.kernels.cuda.recurrence.launches import cell_back, combine_back, keys_back, look_back
from regard.kernels.cuda.recurrence.room import Room


def back(room: Room, outside: tuple[bool, ...]) -> None:
    """All steps. `outside`: which looks' weights have a gradient of their own."""
    plan, top = room.plan, room.plan.layers - 1
    for step in range(plan.steps, 0, -1):
        if plan.after:
            combine_back(room, step)
            torch.mm(room.z(top, step, plan.combined), room["combine"], out=room["d_context"][step])
            for m in range(len(plan.looks)):
                look_back(room, m, step, step, outside[m])
            for layer in range(plan.layers):
                _homewards(room, layer, step)
        for layer in room.layers_down():
            cell_back(room, layer, step)
            if layer:
                _descend(room, layer, step)
        d_gates = room.z(0, step - 1, plan.from_input(0))
        if not plan.after:
            room["d_context"][step].addmm_(d_gates, room["inputs", 0])
            for m in range(len(plan.looks)):
                look_back(room, m, step, step - 1, outside[m])
            for layer in range(plan.layers):
                _homewards(room, layer, step - 1)
        elif step > 1:
            room["d_out"][step - 1].addmm_(d_gates, room["inputs", 0])
    if plan.after:
        for layer in range(plan.layers):
            _homewards(room, layer, 0)


def _homewards(room: Room, layer: int, time: int) -> None:
    """To the state of a time, from everything that waited for it."""
    part = reached(room, layer, time)
    if part.start < part.stop:
        room["d_states", layer][time].addmm_(room.z(layer, time, part), room["hidden", layer][part])


def _descend(room: Room, layer: int, step: int) -> None:
    """To the layer below, through its dropout where it has one."""
    d_gates, weight = room.z(layer, step - 1, room.plan.from_input(layer)), room["inputs", layer]
    if room.plan.drops:
        torch.mm(d_gates, weight, out=room["d_below", layer - 1])
    else:
        room["d_states", layer - 1][step].addmm_(d_gates, weight)


# After the loop.


def of_state(room: Room, layer: int, biased: bool) -> tuple[Tensor, Tensor | None]:
    """The gradients of U (·, H) and, if asked for, of the biases (W)."""
    plan = room.plan
    times = plan.steps + (1 if plan.after else 0)
    z = room["z", layer][:times]
    rows = z[..., plan.from_state(layer)].flatten(0, 1)
    weight = rows.t() @ room["states", layer][:times].flatten(0, 1)
    return weight, z.sum((0, 1)) if biased else None


def of_inputs(room: Room, layer: int) -> Tensor:
    """The gradient of W (·, what enters)."""
    plan, T = room.plan, room.plan.steps
    gates = room["z", layer][..., plan.from_input(layer)]
    if layer:
        below = room[("below" if plan.drops else "states", layer - 1)]
        return gates[:T].flatten(0, 1).t() @ below[1:].flatten(0, 1)
    if plan.after:
        return gates[1:T].flatten(0, 1).t() @ room["out"][1:T].flatten(0, 1)
    return gates[:T].flatten(0, 1).t() @ room["context"][1:].flatten(0, 1)


def of_combine(room: Room) -> Tensor:
    plan = room.plan
    rows = room["z", plan.layers - 1][1:, :, plan.combined].flatten(0, 1)
    return rows.t() @ room["context"][1:].flatten(0, 1)


def of_values(room: Room, m: int) -> Tensor:
    """(B, S, D): Σ_t ρ_ts dc_t."""
    look, at = room.plan.looks[m], room.plan.context_places[m]
    weights = room["weights", m]
    if look.mass:
        weights = weights / (weights.sum(-1, keepdim=True).clamp(min=1e-20) / look.mass)
    d_context = room["d_context"][1:, :, at : at + look.values]
    return torch.bmm(weights.permute(1, 2, 0), d_context.transpose(0, 1))


def of_keys(room: Room, m: int) -> tuple[Tensor, Tensor | None]:
    """(B, S, A), and the gradient of the vector of an additive score."""
    plan, look = room.plan, room.plan.looks[m]
    keys = room["keys", m]
    if look.additive:
        d_keys = torch.empty_like(keys)
        return d_keys, keys_back(room, m, d_keys, plan.steps)
    states = room["states", plan.layers - 1]
    queries = states[1:] if plan.after else states[:-1]
    d_keys = torch.bmm(room["d_scores", m].permute(1, 2, 0), queries.transpose(0, 1))
    return (d_keys if look.scale == 1.0 else d_keys.mul_(look.scale)), None
