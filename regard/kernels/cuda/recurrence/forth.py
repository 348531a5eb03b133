"""The steps forward.

    before   c_t = attend(q_t);  Z[t−1] += W c_t;  s_t = cells(Z[t−1]);  Z[t] += U s_t, q_{t+1} among it
    after    Z[t−1] += W o_{t−1};  s_t = cells(Z[t−1]);  Z[t] += U s_t, q_t and p_t among it;
             c_t = attend(q_t);  p_t += W_c c_t;  o_t = tanh p_t

Every product goes into one slice of the rows of Z (see `plan`), on top of what is there: the biases, the projected
words, or the product before it.
"""

from __future__ import annotations

from regard.kernels.cuda.recurrence.launches import cell_forth, combine_forth, look_forth
from regard.kernels.cuda.recurrence.room import Room


def forth(room: Room) -> None:
    """All steps; the room has been filled (`attend`)."""
    plan, top = room.plan, room.plan.layers - 1
    for layer in range(plan.layers):
        _onwards(room, layer, 0)
    for step in range(1, plan.steps + 1):
        if not plan.after:
            for m in range(len(plan.looks)):
                look_forth(room, m, step, step - 1)
            _enter(room, 0, step, "context", step)
        elif step > 1:
            _enter(room, 0, step, "out", step - 1)
        for layer in range(plan.layers):
            if layer:
                part = plan.from_input(layer)
                room.z(layer, step - 1, part).addmm_(room.below(layer, step), room["inputs", layer].t())
            cell_forth(room, layer, step)
            _onwards(room, layer, step)
        if plan.after:
            for m in range(len(plan.looks)):
                look_forth(room, m, step, step)
            room.z(top, step, plan.combined).addmm_(room["context"][step], room["combine"].t())
            combine_forth(room, step)


def _enter(room: Room, layer: int, step: int, name: str, time: int) -> None:
    """What was read enters the gates of a step."""
    part = room.plan.from_input(layer)
    room.z(layer, step - 1, part).addmm_(room[name][time], room["inputs", layer].t())


def _onwards(room: Room, layer: int, time: int) -> None:
    """The product of a state with everything that waits for it."""
    part = reached(room, layer, time)
    if part.start < part.stop:
        weight = room["hidden", layer][part]
        room.z(layer, time, part).addmm_(room["states", layer][time], weight.t())


def reached(room: Room, layer: int, time: int) -> slice:
    """What state h_time leads to: no q and p of a step before the first, no gates of a step after the last."""
    plan = room.plan
    whole, lead = plan.from_state(layer), plan.lead(layer)
    if time == plan.steps:
        return slice(0, lead if plan.after else 0)
    return slice(lead, whole.stop) if plan.after and time == 0 else whole
