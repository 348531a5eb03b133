"""Launches of the kernels on the tensors of a room, one step at a time."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.fast.cuda.recurrence import gates, keys, looks
from regard.fast.cuda.recurrence.plan import LookPlan
from regard.fast.cuda.recurrence.room import UnrollRoom
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


def look_forth(room: UnrollRoom, m: int, step: int, time: int) -> None:
    """Attend at step `step` (from 1) with the query in row `time`."""
    plan, look = room.plan, room.plan.looks[m]
    query, width = _query(room, m, time)
    options = look_options(look)
    options["BLOCK_A"] = feature_block(look.features, options["BLOCK_S"], 4096)
    options["BLOCK_D"] = feature_block(look.values, options["BLOCK_S"], 16384)
    context = room["context"][step][:, plan.context_places[m] :]
    chain = look.select == "segments"
    looks.look_forth[(plan.rows,)](
        query,
        room["keys", m],
        room["values", m],
        room["vector", m] if look.additive else None,
        room["transitions", m] if chain else None,
        room.masks[m],
        room.alive[step - 1],
        context,
        room["weights", m][step - 1],
        room["joints", m][step - 1] if chain else None,
        QW=width,
        CW=plan.context,
        **options,
    )


def look_back(room: UnrollRoom, m: int, step: int, time: int, outside: bool) -> None:
    """Backward through `look_forth`; `outside`: whether the weights themselves have a gradient."""
    plan, look = room.plan, room.plan.looks[m]
    query, width = _query(room, m, time)
    d_query = query if look.additive else room["d_states", plan.layers - 1][time]
    options = look_options(look)
    options["BLOCK_A"] = feature_block(look.features, options["BLOCK_S"], 16384)
    options["BLOCK_D"] = feature_block(look.values, options["BLOCK_S"], 4096)
    chain = look.select == "segments"
    looks.look_back[(plan.rows,)](
        query,
        room["keys", m],
        room["values", m],
        room["vector", m] if look.additive else None,
        room.masks[m],
        room.alive[step - 1],
        room["weights", m][step - 1],
        room["joints", m][step - 1] if chain else None,
        room["d_context"][step][:, plan.context_places[m] :],
        room["d_weights", m][step - 1] if outside else None,
        room["d_scores", m][step - 1],
        d_query,
        room["queries", m][step - 1] if look.additive else None,
        room["corners", m][step - 1] if chain else None,
        QW=width,
        CW=plan.context,
        GW=width if look.additive else plan.size,
        **options,
    )


def _query(room: UnrollRoom, m: int, time: int) -> tuple[Tensor, int]:
    """The queries of one time, and the stride of their rows."""
    plan, top = room.plan, room.plan.layers - 1
    if plan.looks[m].additive:
        return room.z(top, time, slice(plan.query_places[m], None)), plan.width(top)
    return room["states", top][time], plan.size


def keys_back(room: UnrollRoom, m: int) -> None:
    """Overwrite the keys by their gradients, and compute the gradient of the vector."""
    plan, look = room.plan, room.plan.looks[m]
    S, A = look.positions, look.features
    block, features = min(8, power_of_two(S, 4)), min(512, power_of_two(A, 16))
    blocks, B = -(-S // block), plan.rows
    shares = room["queries", m].new_empty(B, blocks, A)
    grid = (B, blocks, -(-A // features))
    given = (room["queries", m], room["keys", m], room["vector", m], room["d_scores", m])
    found = (room["keys", m], shares)
    keys.keys_back[grid](*given, *found, plan.steps, B, S, A=A, BLOCK_S=block, BLOCK_A=features, num_warps=4)
    torch.sum(shares, (0, 1), out=room["d_vector", m])


def _cell(room: UnrollRoom, layer: int) -> tuple[int, tuple[int], dict[str, Any]]:
    """The total number of features, the grid over them, and the options of a cell's kernel."""
    plan = room.plan
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


def cell_forth(room: UnrollRoom, layer: int, step: int) -> None:
    count, grid, options = _cell(room, layer)
    options |= {"BIAS": False, "NARROW": False}  # the rows of z already contain the bias
    z, states = room["z", layer][step - 1], room["states", layer]
    mask = below = None
    if options["DROPS"]:
        mask, below = room["masks", layer][step], room["below", layer][step]
    if room.plan.cell == "gru":
        gates.gru_forth[grid](z, z, None, states[step - 1], states[step], mask, below, None, count, **options)
    elif room.plan.cell == "lstm":
        carries = room["carries", layer]
        gates.lstm_forth[grid](
            z, z, None, carries[step - 1], carries[step], states[step], mask, below, None, count, **options
        )
    else:
        gates.rnn_forth[grid](z, None, states[step], mask, below, None, count, **options)


def cell_back(room: UnrollRoom, layer: int, step: int) -> None:
    count, grid, options = _cell(room, layer)
    z, states, d_states = room["z", layer][step - 1], room["states", layer], room["d_states", layer]
    mask = d_below = None
    if options["DROPS"]:
        mask, d_below = room["masks", layer][step], room["d_below", layer]
    if room.plan.cell == "gru":
        given = (z, states[step - 1], d_states[step], d_states[step - 1])
        gates.gru_back[grid](*given, mask, d_below, count, **options)
    elif room.plan.cell == "lstm":
        carries = room["carries", layer]
        given = (z, carries[step - 1], carries[step], room["d_carry", layer])
        gates.lstm_back[grid](*given, d_states[step], mask, d_below, count, **options)
    else:
        gates.rnn_back[grid](z, states[step], d_states[step], mask, d_below, count, **options)


def combine_forth(room: UnrollRoom, step: int) -> None:
    z, count, grid, options = _combined(room, step)
    gates.combine_forth[grid](z, room["out"][step], count, **options)


def combine_back(room: UnrollRoom, step: int) -> None:
    z, count, grid, options = _combined(room, step)
    gates.combine_back[grid](z, room["out"][step], room["d_out"][step], count, **options)


def _combined(room: UnrollRoom, step: int) -> tuple[Tensor, int, tuple[int], dict[str, Any]]:
    plan, top = room.plan, room.plan.layers - 1
    count = plan.rows * plan.readout
    options = {"H": plan.readout, "W": plan.width(top), "AT": plan.queries, "ZD": 0, "SD": 0, "BLOCK": BLOCK}
    return room["z", top][step], count, (-(-count // BLOCK),), options
