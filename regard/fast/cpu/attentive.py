"""A recurrent decoder with attention over packed targets on the CPU, teacher-forced.

looking from the previous state:   c = attend(h),  h' = cells(p + R c, h)                               reads: c
looking from the current state:    h' = cells(p + R o, h),  c = attend(h'),  o' = tanh(Q + O [h'; c])   reads: o'

p (N, G) is the contribution of the input word to the gates of the first layer and Q (N, O) its contribution
to o. h and h' are the states of the top layer in attend, o' and the outputs. As in `recurrence`, the loop
contains only operations that depend on the state, each core runs some rows from the first step to the last,
and each weight's gradient is one matrix product at the end.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.fast.cpu.back import Gradients, backward
from regard.fast.cpu.forth import Between, Biases, Kept, Panels, forward
from regard.fast.cpu.layout import (
    ADDITIVE,
    DOT,
    GRU,
    SEGMENTS,
    Choice,
    kept_gates,
    location_of,
    memories,
    panels,
    products,
    room,
    stacked_panels,
)
from regard.fast.cpu.looks import Alone, reading_backward
from regard.fast.cpu.recurrence import Packed
from regard.structures.kernels.availability import once
from regard.structures.kernels.cpu.parallel import shares, side_by_side


class AttentivePlan(NamedTuple):
    """The computation, and its inputs without gradients.

    packing    the targets
    mask       (B, S) the unmasked positions of the memory, rows in their original order
    kind       the cell, one of `gates`
    residual   whether a layer above the first adds its input to its output
    masks      (L − 1, N, H) dropout masks between the layers, or None
    score      one of `energies`, and the `scale` of the queries of a dot product
    choice     how energies become weights; `forward` fills in its transitions
    alone      which queries read a single position
    """

    packing: Packed
    mask: Tensor
    kind: int
    residual: bool
    masks: Tensor | None
    score: int
    scale: float
    choice: Choice
    alone: Alone


class AttentiveWeights(NamedTuple):
    """The tensors that may want a gradient.

    projected   (N, G)     combined (N, O), or None if queries come from the previous state
    first       (L, B, Z)  first states, [h; m] or h of each layer, rows longest first
    keys        (B, S, A), values (B, S, D), rows in their original order
    recurrent   U (L, G, H) and its bias (L, G);  below W (L − 1, G, H) and its bias (L − 1, G) of the layers above
    read        R (G, D or O)     query (A, H), None for a dot product; vector (A) of an additive score
    output      O (O, H + D) or None     transitions (2, 2) of segments or None
    filters     (R, J) and place V (A, J) of a location score, or None
    """

    projected: Tensor
    combined: Tensor | None
    first: Tensor
    keys: Tensor
    values: Tensor
    recurrent: Tensor
    recurrent_bias: Tensor
    below: Tensor
    below_bias: Tensor
    read: Tensor
    query: Tensor | None
    vector: Tensor | None
    output: Tensor | None
    transitions: Tensor | None
    filters: Tensor | None
    place: Tensor | None


class PackedAttentive(torch.autograd.Function):
    """`apply(plan, *weights)` returns states (N, H) (None if queries come from the current state), reads (N,
    D or O) and weights (N, S).
    """

    @staticmethod
    def forward(
        ctx: Any, plan: AttentivePlan, *tensors: Tensor | None
    ) -> tuple[Tensor | None, Tensor, Tensor]:
        given: Any = AttentiveWeights(*tensors)  # type: ignore[arg-type]
        projected, first, values = given.projected, given.first, given.values
        vector = projected.new_empty(0) if given.vector is None else given.vector
        transitions = given.transitions
        between = projected.new_zeros(1, 4) if transitions is None else transitions.detach().reshape(1, 4)
        location = location_of(given.filters, given.place, projected)
        (layers, _, size), count = given.recurrent.shape, len(projected)
        new, current = partial(room, projected), given.combined is not None
        combined = given.combined if current else new(count, 0)
        width = combined.shape[1]
        buffers = (
            new(count, size + values.shape[2]),
            new(layers, count, size),
            new(layers, count, kept_gates(plan.kind) * size),
            new(layers - 1, count, size),
            new(count, given.keys.shape[2]),
            new(count, values.shape[1]),
            new(count, width),
            projected.new_zeros(count, width),
            new(count, 4 * max(values.shape[1] - 1, 0) if plan.choice.kind == SEGMENTS else 0),
        )
        # Detached, because some are returned and would keep their own graph alive.
        ctx.kept = Kept(*(buffer.detach().numpy() for buffer in buffers))
        masks = new(0, 0, 0) if plan.masks is None else plan.masks.contiguous()
        ctx.plan, ctx.current, ctx.between = plan, current, Between(plan.residual, masks.numpy())
        ctx.parts, ctx.source = shares(first.shape[1]), plan.packing.order.numpy()
        ctx.starts, ctx.wide = np.array(plan.packing.starts), first.shape[2]
        ctx.memories = memories(
            given.keys,
            values,
            plan.mask,
            vector,
            plan.choice._replace(between=between.numpy()),
            score=plan.score,
            scale=projected.detach().numpy().dtype.type(plan.scale),
            location=location,
        )
        biases = Biases(
            *(bias.detach().contiguous().numpy() for bias in (given.recurrent_bias, given.below_bias))
        )
        side_by_side(
            forward,
            ctx.parts,
            plan.kind,
            current,
            projected.detach().contiguous().numpy(),
            combined.detach().contiguous().numpy(),
            first.detach().contiguous().numpy(),
            ctx.memories,
            ctx.source,
            plan.alone,
            _panels(given.recurrent, given.below, given.read, given.query, given.output),
            biases,
            ctx.between,
            ctx.starts,
            ctx.kept,
        )
        ctx.save_for_backward(given.recurrent, given.below, given.read, given.query, given.output)
        both, _, _, _, _, looks, vectors, *_ = buffers
        if current:
            return None, vectors, looks
        return both[:, :size].contiguous(), both[:, size:].contiguous(), looks

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        d_states, d_reads, d_weights = gradients
        kept, new, zeros = ctx.kept, partial(room, d_reads), d_reads.new_zeros
        recurrent, below, *others = ctx.saved_tensors
        layers, gates, size = recurrent.shape
        count, rows, features = len(d_reads), len(ctx.source), kept.queries.shape[1]
        filters = ctx.memories.location.filters.shape
        buffers = (
            new(layers, rows, ctx.wide),
            new(layers, count, gates),
            new(layers, count, gates if ctx.plan.kind == GRU else 0),
            new(count, features),
            new(*kept.vectors.shape),
            new(*kept.both.shape),
            zeros(ctx.memories.keys.shape),
            zeros(rows, features),
            zeros(rows, 4),
            zeros(ctx.parts, *filters),
            zeros(ctx.parts, filters[1], features),
        )
        found = Gradients(*(buffer.numpy() for buffer in buffers))
        transposed = (None if weight is None else weight.t() for weight in others)
        side_by_side(
            backward,
            ctx.parts,
            ctx.plan.kind,
            ctx.current,
            (new(0, size) if ctx.current else d_states.contiguous()).numpy(),
            d_reads.contiguous().numpy(),
            d_weights.contiguous().numpy(),
            ctx.memories,
            ctx.source,
            ctx.plan.alone,
            _panels(recurrent.transpose(1, 2), below.transpose(1, 2), *transposed),
            ctx.between,
            ctx.starts,
            kept,
            found,
        )
        return None, *_gathered(ctx, Gradients(*buffers))


def _panels(recurrent: Tensor, below: Tensor, *weights: Tensor | None) -> Panels:
    """The panels of all weights; a missing weight has none."""
    nothing = recurrent.new_empty(0, 1)
    return Panels(
        stacked_panels(recurrent),
        stacked_panels(below),
        *(panels(nothing if weight is None else weight) for weight in weights),
    )


def _gathered(ctx: Any, d: Any) -> AttentiveWeights:
    """The gradient of each weight, from the values that the steps have kept."""
    kept = Kept(*(torch.from_numpy(array) for array in ctx.kept))
    size = kept.previous.shape[2]
    d_values = d.both.new_zeros(ctx.memories.values.shape)
    side_by_side(
        reading_backward,
        ctx.parts,
        ctx.kept.weights,
        ctx.plan.alone.chosen,
        d.both.numpy(),
        size,
        ctx.starts,
        ctx.source,
        d_values.numpy(),
    )
    score, from_state = ctx.memories.score, d.recurrent if ctx.plan.kind == GRU else d.inputs
    asked_from = kept.both[:, :size] if ctx.current else kept.previous[-1]
    located = len(ctx.memories.location.filters) > 0
    return AttentiveWeights(
        projected=d.inputs[0],
        combined=d.combined if ctx.current else None,
        first=d.first,
        keys=d.keys,
        values=d_values,
        recurrent=products(from_state, kept.previous),
        recurrent_bias=from_state.sum(1),
        below=products(d.inputs[1:], kept.below),
        below_bias=d.inputs[1:].sum(1),
        read=d.inputs[0].t() @ (kept.fed if ctx.current else kept.both[:, size:]),
        query=None if score == DOT else d.queries.t() @ asked_from,
        vector=d.vector.sum(0) if score == ADDITIVE else None,
        output=d.combined.t() @ kept.both if ctx.current else None,
        transitions=d.between.sum(0).view(2, 2) if ctx.plan.choice.kind == SEGMENTS else None,
        filters=d.filters.sum(0) if located else None,
        place=d.place.sum(0).t() if located else None,
    )
