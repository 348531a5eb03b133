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
from regard.fast.cuda.recurrence.workspace import UnrollWorkspace


def forth(workspace: UnrollWorkspace) -> None:
    """The whole forward pass; `attend` has copied in the inputs."""
    for layer in range(workspace.plan.layers):
        _arrange(workspace, layer)
    _words(workspace)
    _clear(workspace)
    _steps(workspace)


def _arrange(workspace: UnrollWorkspace, layer: int) -> None:
    """Concatenate the weights that multiply the state, and write the biases to all rows of Z."""
    plan, H = workspace.plan, workspace.plan.size
    hidden, row, lead = workspace["hidden", layer], workspace["row", layer], plan.lead(layer)
    weight, bias, second = (
        workspace["weight_hh", layer],
        workspace["bias_ih", layer],
        workspace["bias_hh", layer],
    )
    row.zero_()
    if layer == plan.layers - 1:
        for m, at in enumerate(plan.query_places):
            if at >= 0:
                hidden[at : at + plan.looks[m].features].copy_(workspace["query", m])
        if plan.after:
            hidden[plan.combined].copy_(workspace["combine"][:, :H])
            row[plan.combined].copy_(workspace["combine_bias"])
    if plan.cell == "gru":
        hidden[lead : lead + H].copy_(weight[2 * H :])
        hidden[lead + H :].copy_(weight[: 2 * H])
        row[lead : lead + H].copy_(second[2 * H :])
        row[lead + H :].copy_(bias)
        row[lead + H : lead + 3 * H].add_(second[: 2 * H])
    else:
        hidden[lead:].copy_(weight)
        row[lead:].copy_(bias).add_(second)
    workspace["z", layer].copy_(row.expand_as(workspace["z", layer]))


def _words(workspace: UnrollWorkspace) -> None:
    """Products known before the first step: words and summary in the gates, words in p."""
    plan, E = workspace.plan, workspace.plan.words
    words, weight = workspace["words"].flatten(0, 1), workspace["weight_ih", 0]
    multiply(words, weight[:, :E].t(), workspace.gates(0), add=True)
    if plan.summary:
        known = slice(E, E + plan.summary)
        share = workspace["shares"].zero_().addmm_(workspace["summary"], weight[:, known].t())
        workspace["z", 0][: plan.steps][..., plan.from_input(0)].add_(share)
    if plan.after and plan.deep:
        multiply(
            words, workspace["combine"][:, plan.size + plan.context :].t(), workspace.combined(), add=True
        )


def _clear(workspace: UnrollWorkspace) -> None:
    """Set the gradients to zero, because those from outside fill only some places."""
    for name, tensor in workspace.tensors.items():
        if name.startswith(("d_states", "d_carry", "d_below", "d_context", "d_out", "d_weights")):
            tensor.zero_()


def _steps(workspace: UnrollWorkspace) -> None:
    plan, top = workspace.plan, workspace.plan.layers - 1
    for layer in range(plan.layers):
        _onwards(workspace, layer, 0)
    for step in range(1, plan.steps + 1):
        if not plan.after:
            for m in range(len(plan.looks)):
                look_forth(workspace, m, step, step - 1)
        entering = workspace["out"][step - 1] if plan.after else workspace["context"][step]
        for layer in range(plan.layers):
            below = workspace.below(layer)[step] if layer else entering
            if layer or step > 1 or not plan.after:  # the first step has no feedback
                part = plan.from_input(layer)
                multiply(below, workspace.inputs(layer).t(), workspace.z(layer, step - 1, part), add=True)
            cell_forth(workspace, layer, step)
            _onwards(workspace, layer, step)
        if plan.after:
            for m in range(len(plan.looks)):
                look_forth(workspace, m, step, step)
            combine = workspace["combine"][:, plan.size : plan.size + plan.context]
            multiply(workspace["context"][step], combine.t(), workspace.z(top, step, plan.combined), add=True)
            combine_forth(workspace, step)


def _onwards(workspace: UnrollWorkspace, layer: int, time: int) -> None:
    """The product of a state with all weights that multiply it."""
    part = reached(workspace, layer, time)
    if part.start < part.stop:
        weight = workspace["hidden", layer][part]
        multiply(workspace["states", layer][time], weight.t(), workspace.z(layer, time, part), add=True)


def reached(workspace: UnrollWorkspace, layer: int, time: int) -> slice:
    """The slice to which state h_time contributes: no q, p before the first step, no gates after the last."""
    plan = workspace.plan
    whole, lead = plan.from_state(layer), plan.lead(layer)
    if time == plan.steps:
        return slice(0, lead if plan.after else 0)
    return slice(lead, whole.stop) if plan.after and time == 0 else whole
