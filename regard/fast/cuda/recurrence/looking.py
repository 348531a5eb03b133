"""One attention step of K queries on each memory, for a search: score, select and read in one launch."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.fast.cuda.recurrence import looks
from regard.fast.cuda.recurrence.launches import feature_block, look_options
from regard.fast.cuda.recurrence.plan import LookPlan
from regard.structures.kernels.cuda.launching import on_device_of


def look_at(
    plan: LookPlan,
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    *,
    vector: Tensor | None = None,
    transitions: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """query (B, K, A or Q), keys (B, S, ·), values (B, S, D), mask (B, S) → context (B, K, D), weights (B, K, S).

    Without a gradient. `plan.positions` must be S. For additive scores the query is already projected.
    """
    (rows, count, width), S = query.shape, keys.shape[1]
    query, keys, values = query.contiguous(), keys.contiguous(), values.contiguous()
    context = values.new_empty(rows, count, plan.values)
    weights = values.new_empty(rows, count, S)
    chain = plan.select == "segments"
    options = look_options(plan)
    options["BLOCK_A"] = feature_block(plan.features, options["BLOCK_S"], 4096)
    options["BLOCK_D"] = feature_block(plan.values, options["BLOCK_S"], 16384)
    with on_device_of(query):
        looks.look_forth[(rows * count,)](
            query,
            keys,
            values,
            vector,
            transitions.contiguous() if transitions is not None and chain else None,
            mask.contiguous().view(torch.int8),
            None,
            context,
            weights,
            weights.new_empty(rows, count, S, 4) if chain else None,
            QW=width,
            CW=plan.values,
            SHARED=count,
            **options,
        )
    return context, weights
