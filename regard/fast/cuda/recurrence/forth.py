"""The forward steps.

    before   c_t = attend(q_t);  Z[t−1] += W c_t;  s_t = cells(Z[t−1]);  Z[t] += U s_t, q_{t+1} among it
    after    Z[t−1] += W o_{t−1};  s_t = cells(Z[t−1]);  Z[t] += U s_t, q_t and p_t among it;
             c_t = attend(q_t);  p_t += W_c c_t;  o_t = tanh p_t

Every product is added to one slice of the rows of Z (see `plan`), which holds the biases, the product of the
words (one for all steps), or the previous product.
"""

from __future__ import annotations

from regard.fast.cuda.product import multiply
from regard.fast.cuda.recurrence.launches import cell_forth, combine_forth, look_forth
from regard.fast.cuda.recurrence.room import UnrollRoom


def forth(room: UnrollRoom) -> None:
    """The whole forward pass; `attend` has copied in the inputs."""
    for layer in range(room.plan.layers):
        _arrange(room, layer)
    _words(room)
    _clear(room)
    _steps(room)


def _arrange(room: UnrollRoom, layer: int) -> None:
    """Concatenate the weights that multiply the state, and write the biases to all rows of Z."""
    plan, H = room.plan, room.plan.size
    hidden, row, lead = room["hidden", layer], room["row", layer], plan.lead(layer)
    weight, bias, second = room["weight_hh", layer], room["bias_ih", layer], room["bias_hh", layer]
    row.zero_()
    if layer == plan.layers - 1:
        for m, at in enumerate(plan.query_places):
            if at >= 0:
                hidden[at : at + plan.looks[m].features].copy_(room["query", m])
        if plan.after:
            hidden[plan.combined].copy_(room["combine"][:, :H])
            row[plan.combined].copy_(room["combine_bias"])
    if plan.cell == "gru":
        hidden[lead : lead + H].copy_(weight[2 * H :])
        hidden[lead + H :].copy_(weight[: 2 * H])
        row[lead : lead + H].copy_(second[2 * H :])
        row[lead + H :].copy_(bias)
        row[lead + H : lead + 3 * H].add_(second[: 2 * H])
    else:
        hidden[lead:].copy_(weight)
        row[lead:].copy_(bias).add_(second)
    room["z", layer].copy_(row.expand_as(room["z", layer]))


def _words(room: UnrollRoom) -> None:
    """Products known before the first step: words and summary in the gates, words in p."""
    plan, E = room.plan, room.plan.words
    words, weight = room["words"].flatten(0, 1), room["weight_ih", 0]
    multiply(words, weight[:, :E].t(), room.gates(0), add=True)
    if plan.summary:
        known = slice(E, E + plan.summary)
        share = room["shares"].zero_().addmm_(room["summary"], weight[:, known].t())
        room["z", 0][: plan.steps][..., plan.from_input(0)].add_(share)
    if plan.after and plan.deep:
        multiply(words, room["combine"][:, plan.size + plan.context :].t(), room.combined(), add=True)


def _clear(room: UnrollRoom) -> None:
    """Set the gradients to zero, because those from outside fill only some places."""
    for name, tensor in room.tensors.items():
        if name.startswith(("d_states", "d_carry", "d_below", "d_context", "d_out", "d_weights")):
            tensor.zero_()


def _steps(room: UnrollRoom) -> None:
    plan, top = room.plan, room.plan.layers - 1
    for layer in range(plan.layers):
        _onwards(room, layer, 0)
    for step in range(1, plan.steps + 1):
        if not plan.after:
            for m in range(len(plan.looks)):
                look_forth(room, m, step, step - 1)
        entering = room["out"][step - 1] if plan.after else room["context"][step]
        for layer in range(plan.layers):
            below = room.below(layer)[step] if layer else entering
            if layer or step > 1 or not plan.after:  # the first step has no feedback
                part = plan.from_input(layer)
                multiply(below, room.inputs(layer).t(), room.z(layer, step - 1, part), add=True)
            cell_forth(room, layer, step)
            _onwards(room, layer, step)
        if plan.after:
            for m in range(len(plan.looks)):
                look_forth(room, m, step, step)
            combine = room["combine"][:, plan.size : plan.size + plan.context]
            multiply(room["context"][step], combine.t(), room.z(top, step, plan.combined), add=True)
            combine_forth(room, step)


def _onwards(room: UnrollRoom, layer: int, time: int) -> None:
    """The product of a state with all weights that multiply it."""
    part = reached(room, layer, time)
    if part.start < part.stop:
        weight = room["hidden", layer][part]
        multiply(room["states", layer][time], weight.t(), room.z(layer, time, part), add=True)


def reached(room: UnrollRoom, layer: int, time: int) -> slice:
    """The slice to which state h_time contributes: no q, p before the first step, no gates after the last."""
    plan = room.plan
    whole, lead = plan.from_state(layer), plan.lead(layer)
    if time == plan.steps:
        return slice(0, lead if plan.after else 0)
    return slice(lead, whole.stop) if plan.after and time == 0 else whole
