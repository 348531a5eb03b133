"""The gradients of weights and inputs after the last backward step, each a single product over all times.

dU = dZᵀ h,   dW = dZᵀ [words; summary; context or o],   d words = dZ W,   d values = Σ_t ρ_t dc_t

The gradients of words, keys and values overwrite the words, keys and values, which are no longer needed.
"""

from __future__ import annotations

import torch

from regard.fast.cuda.product import multiply
from regard.fast.cuda.recurrence.launches import keys_back
from regard.fast.cuda.recurrence.workspace import UnrollWorkspace


def gather(workspace: UnrollWorkspace) -> None:
    plan = workspace.plan
    for m, look in enumerate(plan.looks):
        if look.additive:
            keys_back(workspace, m)
        else:
            _product_keys(workspace, m)
        _values(workspace, m)
        if look.select == "segments":
            torch.sum(workspace["corners", m].view(-1, 2, 2), 0, out=workspace["d_transitions", m])
    for layer in range(plan.layers):
        _of_state(workspace, layer)
        if layer:
            below = workspace.below(layer)[1:].flatten(0, 1)
            multiply(workspace.gates(layer).t(), below, workspace["d_weight_ih", layer])
    _of_first_layer(workspace)
    if plan.after:
        _of_combine(workspace)
    _of_words(workspace)


def _of_state(workspace: UnrollWorkspace, layer: int) -> None:
    """dU, split into its rows (queries, the state's part of p, gates), and the gradients of the biases."""
    plan, H = workspace.plan, workspace.plan.size
    lead, times = plan.lead(layer), plan.steps + (1 if plan.after else 0)
    if plan.after:  # no gates after the last step, no q and p before the first
        workspace.z(layer, plan.steps, slice(lead, None)).zero_()
        workspace.z(layer, 0, slice(0, lead)).zero_()
    z = workspace["z", layer][:times].flatten(0, 1)
    hidden, row = workspace["d_hidden", layer], workspace["d_row", layer]
    multiply(z[:, plan.from_state(layer)].t(), workspace["states", layer][:times].flatten(0, 1), hidden)
    torch.sum(z, 0, out=row)
    weight, bias, second = (
        workspace["d_weight_hh", layer],
        workspace["d_bias_ih", layer],
        workspace["d_bias_hh", layer],
    )
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
                workspace["d_query", m].copy_(hidden[at : at + plan.looks[m].features])
        if plan.after:
            workspace["d_combine"][:, :H].copy_(hidden[plan.combined])
            workspace["d_combine_bias"].copy_(row[plan.combined])


def _of_first_layer(workspace: UnrollWorkspace) -> None:
    plan, E, T = workspace.plan, workspace.plan.words, workspace.plan.steps
    known = E + plan.summary
    gates, weight = workspace.gates(0), workspace["d_weight_ih", 0]
    multiply(gates.t(), workspace["words"].flatten(0, 1), weight[:, :E])
    if plan.summary:
        shares = workspace["shares"]
        torch.sum(workspace["z", 0][:T][..., plan.from_input(0)], 0, out=shares)
        multiply(shares.t(), workspace["summary"], weight[:, E:known])
        multiply(shares, workspace["weight_ih", 0][:, E:known], workspace["d_summary"])
    if plan.after:
        late = workspace["z", 0][1:T].flatten(0, 1)[:, plan.from_input(0)]
        multiply(late.t(), workspace["out"][1:T].flatten(0, 1), weight[:, known:])
    else:
        multiply(gates.t(), workspace["context"][1:].flatten(0, 1), weight[:, known:])


def _of_combine(workspace: UnrollWorkspace) -> None:
    plan = workspace.plan
    seen = plan.size + plan.context
    rows, weight = workspace.combined(), workspace["d_combine"]
    multiply(rows.t(), workspace["context"][1:].flatten(0, 1), weight[:, plan.size : seen])
    if plan.deep:
        multiply(rows.t(), workspace["words"].flatten(0, 1), weight[:, seen:])


def _of_words(workspace: UnrollWorkspace) -> None:
    plan = workspace.plan
    words = workspace["words"].flatten(0, 1)
    multiply(workspace.gates(0), workspace["weight_ih", 0][:, : plan.words], words)
    if plan.after and plan.deep:
        multiply(workspace.combined(), workspace["combine"][:, plan.size + plan.context :], words, add=True)


def _values(workspace: UnrollWorkspace, m: int) -> None:
    look, at = workspace.plan.looks[m], workspace.plan.context_places[m]
    weights = workspace["weights", m]
    if look.mass:
        weights = weights / (weights.sum(-1, keepdim=True).clamp(min=1e-20) / look.mass)
    d_context = workspace["d_context"][1:, :, at : at + look.values]
    torch.bmm(weights.permute(1, 2, 0), d_context.transpose(0, 1), out=workspace["values", m])


def _product_keys(workspace: UnrollWorkspace, m: int) -> None:
    plan, look = workspace.plan, workspace.plan.looks[m]
    states = workspace["states", plan.layers - 1]
    queries, d_keys = states[1:] if plan.after else states[:-1], workspace["keys", m]
    torch.bmm(workspace["d_scores", m].permute(1, 2, 0), queries.transpose(0, 1), out=d_keys)
    if look.scale != 1.0:
        d_keys.mul_(look.scale)
