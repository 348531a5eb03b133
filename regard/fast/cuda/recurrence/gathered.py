"""The gradients of weights and inputs after the last backward step, each a single product over all times.

dU = dZᵀ h,   dW = dZᵀ [words; summary; context or o],   d words = dZ W,   d values = Σ_t ρ_t dc_t

The gradients of words, keys and values overwrite the words, keys and values, which are no longer needed.
"""

from __future__ import annotations

import torch

from regard.fast.cuda.product import multiply
from regard.fast.cuda.recurrence.launches import keys_back
from regard.fast.cuda.recurrence.room import UnrollRoom


def gather(room: UnrollRoom) -> None:
    plan = room.plan
    for m, look in enumerate(plan.looks):
        if look.additive:
            keys_back(room, m)
        else:
            _product_keys(room, m)
        _values(room, m)
        if look.select == "segments":
            torch.sum(room["corners", m].view(-1, 2, 2), 0, out=room["d_transitions", m])
    for layer in range(plan.layers):
        _of_state(room, layer)
        if layer:
            below = room.below(layer)[1:].flatten(0, 1)
            multiply(room.gates(layer).t(), below, room["d_weight_ih", layer])
    _of_first_layer(room)
    if plan.after:
        _of_combine(room)
    _of_words(room)


def _of_state(room: UnrollRoom, layer: int) -> None:
    """dU, split into its rows (queries, the state's part of p, gates), and the gradients of the biases."""
    plan, H = room.plan, room.plan.size
    lead, times = plan.lead(layer), plan.steps + (1 if plan.after else 0)
    if plan.after:  # no gates after the last step, no q and p before the first
        room.z(layer, plan.steps, slice(lead, None)).zero_()
        room.z(layer, 0, slice(0, lead)).zero_()
    z = room["z", layer][:times].flatten(0, 1)
    hidden, row = room["d_hidden", layer], room["d_row", layer]
    multiply(z[:, plan.from_state(layer)].t(), room["states", layer][:times].flatten(0, 1), hidden)
    torch.sum(z, 0, out=row)
    weight, bias, second = room["d_weight_hh", layer], room["d_bias_ih", layer], room["d_bias_hh", layer]
    if plan.cell == "gru":
        weight[2 * H :].copy_(hidden[lead : lead + H])
        weight[: 2 * H].copy_(hidden[lead + H :])
        bias.copy_(row[lead + H :])
        second[2 * H :].copy_(row[lead : lead + H])
        second[: 2 * H].copy_(row[lead + H : lead + 3 * H])
    else:
        weight.copy_(hidden[lead:])
        bias.copy_(row[lead:])
        second.copy_(row[lead:])
    if layer == plan.layers - 1:
        for m, at in enumerate(plan.query_places):
            if at >= 0:
                room["d_query", m].copy_(hidden[at : at + plan.looks[m].features])
        if plan.after:
            room["d_combine"][:, :H].copy_(hidden[plan.combined])
            room["d_combine_bias"].copy_(row[plan.combined])


def _of_first_layer(room: UnrollRoom) -> None:
    plan, E, T = room.plan, room.plan.words, room.plan.steps
    known = E + plan.summary
    gates, weight = room.gates(0), room["d_weight_ih", 0]
    multiply(gates.t(), room["words"].flatten(0, 1), weight[:, :E])
    if plan.summary:
        shares = room["shares"]
        torch.sum(room["z", 0][:T][..., plan.from_input(0)], 0, out=shares)
        multiply(shares.t(), room["summary"], weight[:, E:known])
        multiply(shares, room["weight_ih", 0][:, E:known], room["d_summary"])
    if plan.after:
        late = room["z", 0][1:T].flatten(0, 1)[:, plan.from_input(0)]
        multiply(late.t(), room["out"][1:T].flatten(0, 1), weight[:, known:])
    else:
        multiply(gates.t(), room["context"][1:].flatten(0, 1), weight[:, known:])


def _of_combine(room: UnrollRoom) -> None:
    plan = room.plan
    seen = plan.size + plan.context
    rows, weight = room.combined(), room["d_combine"]
    multiply(rows.t(), room["context"][1:].flatten(0, 1), weight[:, plan.size : seen])
    if plan.deep:
        multiply(rows.t(), room["words"].flatten(0, 1), weight[:, seen:])


def _of_words(room: UnrollRoom) -> None:
    plan = room.plan
    words = room["words"].flatten(0, 1)
    multiply(room.gates(0), room["weight_ih", 0][:, : plan.words], words)
    if plan.after and plan.deep:
        multiply(room.combined(), room["combine"][:, plan.size + plan.context :], words, add=True)


def _values(room: UnrollRoom, m: int) -> None:
    look, at = room.plan.looks[m], room.plan.context_places[m]
    weights = room["weights", m]
    if look.mass:
        weights = weights / (weights.sum(-1, keepdim=True).clamp(min=1e-20) / look.mass)
    d_context = room["d_context"][1:, :, at : at + look.values]
    torch.bmm(weights.permute(1, 2, 0), d_context.transpose(0, 1), out=room["values", m])


def _product_keys(room: UnrollRoom, m: int) -> None:
    plan, look = room.plan, room.plan.looks[m]
    states = room["states", plan.layers - 1]
    queries, d_keys = states[1:] if plan.after else states[:-1], room["keys", m]
    torch.bmm(room["d_scores", m].permute(1, 2, 0), queries.transpose(0, 1), out=d_keys)
    if look.scale != 1.0:
        d_keys.mul_(look.scale)
