"""Launches of the kernels on the tensors of a workspace, one step at a time."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.fast.cuda.recurrence import gates, keys, looks
from regard.fast.cuda.recurrence.plan import LookPlan
from regard.fast.cuda.recurrence.workspace import UnrollWorkspace
from regard.structures.kernels.cuda.launching import power_of_two

BLOCK = 512
"""Features, of all rows together, per program of a cell."""


def look_options(look: LookPlan) -> dict[str, Any]:
    S, A, D = look.positions, look.features, look.values
    block = power_of_two(S, 16)
    return {
        "S": S,
        "A": A,
        "D": D,
        "SCALE": look.scale,
        "MASS": look.mass,
        "ADDITIVE": look.additive,
        "SELECT": look.select,
        "BLOCK_S": block,
        "num_warps": 8,
    }


def feature_block(size: int, positions: int, numbers: int) -> int:
    """Features of a tile of about `numbers` numbers: at least 16, at most those that exist."""
    return min(power_of_two(size, 16), max(16, numbers // positions))


def look_forth(workspace: UnrollWorkspace, m: int, step: int, time: int) -> None:
    """Attend at step `step` (from 1) with the query in row `time`."""
    plan, look = workspace.plan, workspace.plan.looks[m]
    query, width = _query(workspace, m, time)
    options = look_options(look)
    options["BLOCK_A"] = feature_block(look.features, options["BLOCK_S"], 4096)
    options["BLOCK_D"] = feature_block(look.values, options["BLOCK_S"], 16384)
    context = workspace["context"][step][:, plan.context_places[m] :]
    chain = look.select == "segments"
    looks.look_forth[(plan.rows,)](
        query,
        workspace["keys", m],
        workspace["values", m],
        workspace["vector", m] if look.additive else None,
        workspace["transitions", m] if chain else None,
        workspace.masks[m],
        workspace.alive[step - 1],
        context,
        workspace["weights", m][step - 1],
        workspace["joints", m][step - 1] if chain else None,
        QW=width,
        CW=plan.context,
        **options,
    )


def look_back(workspace: UnrollWorkspace, m: int, step: int, time: int, outside: bool) -> None:
    """Backward through `look_forth`; `outside`: whether the weights themselves have a gradient."""
    plan, look = workspace.plan, workspace.plan.looks[m]
    query, width = _query(workspace, m, time)
    d_query = query if look.additive else workspace["d_states", plan.layers - 1][time]
    options = look_options(look)
    options["BLOCK_A"] = feature_block(look.features, options["BLOCK_S"], 16384)
    options["BLOCK_D"] = feature_block(look.values, options["BLOCK_S"], 4096)
    chain = look.select == "segments"
    looks.look_back[(plan.rows,)](
        query,
        workspace["keys", m],
        workspace["values", m],
        workspace["vector", m] if look.additive else None,
        workspace.masks[m],
        workspace.alive[step - 1],
        workspace["weights", m][step - 1],
        workspace["joints", m][step - 1] if chain else None,
        workspace["d_context"][step][:, plan.context_places[m] :],
        workspace["d_weights", m][step - 1] if outside else None,
        workspace["d_scores", m][step - 1],
        d_query,
        workspace["queries", m][step - 1] if look.additive else None,
        workspace["corners", m][step - 1] if chain else None,
        QW=width,
        CW=plan.context,
        GW=width if look.additive else plan.size,
        **options,
    )


def _query(workspace: UnrollWorkspace, m: int, time: int) -> tuple[Tensor, int]:
    """The queries of one time, and the stride of their rows."""
    plan, top = workspace.plan, workspace.plan.layers - 1
    if plan.looks[m].additive:
        return workspace.z(top, time, slice(plan.query_places[m], None)), plan.width(top)
    return workspace["states", top][time], plan.size


def keys_back(workspace: UnrollWorkspace, m: int) -> None:
    """Overwrite the keys by their gradients, and compute the gradient of the vector."""
    plan, look = workspace.plan, workspace.plan.looks[m]
    S, A = look.positions, look.features
    block, features = min(8, power_of_two(S, 4)), min(512, power_of_two(A, 16))
    blocks, B = -(-S // block), plan.rows
    shares = workspace["queries", m].new_empty(B, blocks, A)
    grid = (B, blocks, -(-A // features))
    given = (workspace["queries", m], workspace["keys", m], workspace["vector", m], workspace["d_scores", m])
    found = (workspace["keys", m], shares)
    keys.keys_back[grid](*given, *found, plan.steps, B, S, A=A, BLOCK_S=block, BLOCK_A=features, num_warps=4)
    torch.sum(shares, (0, 1), out=workspace["d_vector", m])


def _cell(workspace: UnrollWorkspace, layer: int) -> tuple[int, tuple[int], dict[str, Any]]:
    """The total number of features, the grid over them, and the options of a cell's kernel."""
    plan = workspace.plan
    count = plan.rows * plan.size
    drops = plan.drops and layer < plan.layers - 1
    options: dict[str, Any] = {
        "H": plan.size,
        "W": plan.width(layer),
        "AT": plan.lead(layer),
        "ZD": 0,
        "SD": 0,
    }
    options |= {"DROPS": drops, "BLOCK": BLOCK}
    if plan.cell == "rnn":
        options["ACTIVATION"] = plan.activation
    return count, (-(-count // BLOCK),), options


def cell_forth(workspace: UnrollWorkspace, layer: int, step: int) -> None:
    count, grid, options = _cell(workspace, layer)
    options |= {"BIAS": False, "NARROW": False}  # the rows of z already contain the bias
    z, states = workspace["z", layer][step - 1], workspace["states", layer]
    mask = below = None
    if options["DROPS"]:
        mask, below = workspace["masks", layer][step], workspace["below", layer][step]
    if workspace.plan.cell == "gru":
        gates.gru_forth[grid](z, z, None, states[step - 1], states[step], mask, below, None, count, **options)
    elif workspace.plan.cell == "lstm":
        carries = workspace["carries", layer]
        gates.lstm_forth[grid](
            z, z, None, carries[step - 1], carries[step], states[step], mask, below, None, count, **options
        )
    else:
        gates.rnn_forth[grid](z, None, states[step], mask, below, None, count, **options)


def cell_back(workspace: UnrollWorkspace, layer: int, step: int) -> None:
    count, grid, options = _cell(workspace, layer)
    z, states, d_states = (
        workspace["z", layer][step - 1],
        workspace["states", layer],
        workspace["d_states", layer],
    )
    mask = d_below = None
    if options["DROPS"]:
        mask, d_below = workspace["masks", layer][step], workspace["d_below", layer]
    if workspace.plan.cell == "gru":
        given = (z, states[step - 1], d_states[step], d_states[step - 1])
        gates.gru_back[grid](*given, mask, d_below, count, **options)
    elif workspace.plan.cell == "lstm":
        carries = workspace["carries", layer]
        given = (z, carries[step - 1], carries[step], workspace["d_carry", layer])
        gates.lstm_back[grid](*given, d_states[step], mask, d_below, count, **options)
    else:
        gates.rnn_back[grid](z, states[step], d_states[step], mask, d_below, count, **options)


def combine_forth(workspace: UnrollWorkspace, step: int) -> None:
    z, count, grid, options = _combined(workspace, step)
    gates.combine_forth[grid](z, workspace["out"][step], count, **options)


def combine_back(workspace: UnrollWorkspace, step: int) -> None:
    z, count, grid, options = _combined(workspace, step)
    gates.combine_back[grid](z, workspace["out"][step], workspace["d_out"][step], count, **options)


def _combined(workspace: UnrollWorkspace, step: int) -> tuple[Tensor, int, tuple[int], dict[str, Any]]:
    plan, top = workspace.plan, workspace.plan.layers - 1
    count = plan.rows * plan.readout
    options = {"H": plan.readout, "W": plan.width(top), "AT": plan.queries, "ZD": 0, "SD": 0, "BLOCK": BLOCK}
    return workspace["z", top][step], count, (-(-count // BLOCK),), options
