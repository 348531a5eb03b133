"""The steps backward.

    before   dZ[t−1] ← cells(ds_t);  dc_t += dZ[t−1] W;  dq_t ← attend;  ds_{t−1} += dZ[t−1] U
    after    dp_t = do_t (1 − o_t²);  dc_t = dp_t W_c;  dq_t ← attend;  ds_t += dZ[t] U;  dZ[t−1] ← cells(ds_t);
             do_{t−1} += dZ[t−1] W

`d_states`, `d_context` and `d_out` hold what comes from outside before the first step back. The gradients of weights
and inputs come after the last (`gathered`).
"""

from __future__ import annotations

import torch

from regard.kernels.cuda.recurrence.aside import Aside
from regard.kernels.cuda.recurrence.forth import reached
from regard.kernels.cuda.recurrence.gathered import gather
from regard.kernels.cuda.recurrence.launches import cell_back, combine_back, look_back
from regard.kernels.cuda.recurrence.room import Room


def back(room: Room, outside: tuple[bool, ...]) -> None:
    """Everything backward. `outside`: which looks' weights have a gradient of their own."""
    plan, top = room.plan, room.plan.layers - 1
    aside = Aside(plan, room.alive.device)
    for step in range(plan.steps, 0, -1):
        if plan.after:
            combine_back(room, step)
            combine = room["combine"][:, plan.size : plan.size + plan.context]
            room["d_context"][step].addmm_(room.z(top, step, plan.combined), combine)
            _look_and_return(room, step, step, outside, aside)
        for layer in room.layers_down():
            cell_back(room, layer, step)
            if aside.active:
                with aside.work():
                    _homewards(room, layer, step - 1, slice(plan.lead(layer), None))
            if layer:
                _descend(room, layer, step)
        d_gates = room.z(0, step - 1, plan.from_input(0))
        if not plan.after:
            room["d_context"][step].addmm_(d_gates, room.entering())
            _look_and_return(room, step, step - 1, outside, aside)
        elif step > 1:
            room["d_out"][step - 1].addmm_(d_gates, room.entering())
    aside.join()
    if plan.after and not aside.active:
        for layer in range(plan.layers):
            _homewards(room, layer, 0, slice(None))
    gather(room)


def _look_and_return(room: Room, step: int, time: int, outside: tuple[bool, ...], aside: Aside) -> None:
    """Through the looks of a step to the states of the time they looked from."""
    looks, joined = room.plan.looks, False
    for m, look in enumerate(looks):
        if not look.additive and not joined:  # it adds to the state's gradient itself
            aside.join()
            joined = True
        look_back(room, m, step, time, outside[m])
    aside.join()
    for layer in range(room.plan.layers):
        _homewards(room, layer, time, slice(0, room.plan.lead(layer)) if aside.active else slice(None))


def _homewards(room: Room, layer: int, time: int, wanted: slice) -> None:
    """To the state of a time, from everything that waited for it, or the wanted part of that."""
    part = reached(room, layer, time)
    low = max(part.start, wanted.start or 0)
    high = part.stop if wanted.stop is None else min(part.stop, wanted.stop)
    if low < high:
        some = slice(low, high)
        room["d_states", layer][time].addmm_(room.z(layer, time, some), room["hidden", layer][some])


def _descend(room: Room, layer: int, step: int) -> None:
    """To the layer below, through its dropout where it has one."""
    d_gates, weight = room.z(layer, step - 1, room.plan.from_input(layer)), room["weight_ih", layer]
    if room.plan.drops:
        torch.mm(d_gates, weight, out=room["d_below", layer - 1])
    else:
        room["d_states", layer - 1][step].addmm_(d_gates, weight)
