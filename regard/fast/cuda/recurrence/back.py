"""The backward steps.

    before   dZ[t−1] ← cells(ds_t);  dc_t += dZ[t−1] W;  dq_t ← attend;  ds_{t−1} += dZ[t−1] U
    after    dp_t = do_t (1 − o_t²);  dc_t = dp_t W_c;  dq_t ← attend;  ds_t += dZ[t] U;  dZ[t−1] ← cells(ds_t);
             do_{t−1} += dZ[t−1] W

`d_states`, `d_context` and `d_out` hold the gradients from outside before the first backward step. The
gradients of weights and inputs are computed after the last one (`gathered`).
"""

from __future__ import annotations

from regard.fast.cuda.product import multiply
from regard.fast.cuda.recurrence.forth import reached
from regard.fast.cuda.recurrence.gathered import gather
from regard.fast.cuda.recurrence.launches import cell_back, combine_back, look_back
from regard.fast.cuda.recurrence.workspace import UnrollWorkspace


def back(workspace: UnrollWorkspace, outside: tuple[bool, ...]) -> None:
    """The whole backward pass. `outside`: which looks have a gradient of their weights."""
    plan, top = workspace.plan, workspace.plan.layers - 1
    for step in range(plan.steps, 0, -1):
        if plan.after:
            combine_back(workspace, step)
            combine = workspace["combine"][:, plan.size : plan.size + plan.context]
            multiply(workspace.z(top, step, plan.combined), combine, workspace["d_context"][step], add=True)
            for m in range(len(plan.looks)):
                look_back(workspace, m, step, step, outside[m])
            for layer in range(plan.layers):
                _homewards(workspace, layer, step)
        for layer in workspace.layers_down():
            cell_back(workspace, layer, step)
            if layer:
                _descend(workspace, layer, step)
        d_gates = workspace.z(0, step - 1, plan.from_input(0))
        if not plan.after:
            multiply(d_gates, workspace.entering(), workspace["d_context"][step], add=True)
            for m in range(len(plan.looks)):
                look_back(workspace, m, step, step - 1, outside[m])
            for layer in range(plan.layers):
                _homewards(workspace, layer, step - 1)
        elif step > 1:
            multiply(d_gates, workspace.entering(), workspace["d_out"][step - 1], add=True)
    if plan.after:
        for layer in range(plan.layers):
            _homewards(workspace, layer, 0)
    gather(workspace)


def _homewards(workspace: UnrollWorkspace, layer: int, time: int) -> None:
    """Add to the gradient of the state at a time, from all rows that depend on it."""
    part = reached(workspace, layer, time)
    if part.start < part.stop:
        multiply(
            workspace.z(layer, time, part),
            workspace["hidden", layer][part],
            workspace["d_states", layer][time],
            add=True,
        )


def _descend(workspace: UnrollWorkspace, layer: int, step: int) -> None:
    """Propagate to the layer below: to `d_below` if it has dropout, else to the gradient of its state."""
    d_gates, weight = (
        workspace.z(layer, step - 1, workspace.plan.from_input(layer)),
        workspace["weight_ih", layer],
    )
    if workspace.plan.drops:
        multiply(d_gates, weight, workspace["d_below", layer - 1])
    else:
        multiply(d_gates, weight, workspace["d_states", layer - 1][step], add=True)
