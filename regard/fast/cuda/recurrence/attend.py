"""A recurrence with attention as one autograd function.

Inputs and results are packed: N positions at index = t·B + b of time and row. In between all tensors have the
plan's rounded sizes. Padding is zero or has no effect, since no gradient enters there.

The backward pass starts from the values that the forward pass leaves in the workspace. If another computation has
used the workspace in the meantime (another model, a second backward pass), the forward pass runs again from the
saved inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.fast.cuda.recurrence.back import back
from regard.fast.cuda.recurrence.forth import forth
from regard.fast.cuda.recurrence.graphs import PlanGraphs, recorded, unnarrowed
from regard.fast.cuda.recurrence.plan import UnrollPlan
from regard.fast.cuda.recurrence.workspace import Hold, UnrollWorkspace, fill, shapes
from regard.fast.recording.buffers import buffers, using_buffers
from regard.private import apply, copy_all
from regard.structures.kernels.availability import once
from regard.structures.kernels.cuda.launching import on_device_of


@dataclass(frozen=True)
class UnrollGiven:
    """Inputs without gradients.

    index     (N) int64, t·rows + b with the plan's rows
    masks     (b, S) of each look, False for padding
    drops     (T, b, H) dropout masks, one between each two layers
    looks     whether to return the weights of the looks
    contexts  whether to return the contexts
    """

    plan: UnrollPlan
    index: Tensor
    masks: tuple[Tensor, ...]
    drops: tuple[Tensor, ...] = ()
    looks: bool = True
    contexts: bool = False


@dataclass(frozen=True)
class Inputs:
    """Inputs with gradients.

    words        (N, E), the previous words; `summary` (b, R), if a summary enters every step
    first        (b, H) of each layer, (b, 2H) for an lstm
    keys, values (b, S, ·) of each look
    weights      by the names of `UnrollPlan.parameters`
    """

    words: Tensor
    summary: Tensor | None
    first: tuple[Tensor, ...]
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    weights: Mapping[str, Tensor]

    def flat(self, plan: UnrollPlan) -> list[Tensor | None]:
        weights = [self.weights[name] for name in plan.parameters]
        return [self.words, self.summary, *self.first, *self.keys, *self.values, *weights]

    @staticmethod
    def of(flat: tuple[Any, ...], plan: UnrollPlan) -> Inputs:
        words, summary, *rest = flat
        layers, looks = plan.layers, len(plan.looks)
        first, rest = rest[:layers], rest[layers:]
        keys, values, rest = rest[:looks], rest[looks : 2 * looks], rest[2 * looks :]
        weights = dict(zip(plan.parameters, rest, strict=True))
        return Inputs(words, summary, tuple(first), tuple(keys), tuple(values), weights)


def recur(given: UnrollGiven, inputs: Inputs) -> tuple[Tensor, Tensor | None, tuple[Tensor, ...]]:
    """States (N, H) or, for attention after the step, attentional vectors (N, O); contexts (N, ·) and the
    weights (N, S) of each look, if requested.
    """
    found = apply(_Recurrence, given, *inputs.flat(given.plan))
    looks = len(given.plan.looks) if given.looks else 0
    context = found[1 + looks] if len(found) > 1 + looks else None
    return found[0], context, tuple(found[1 : 1 + looks])


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, given: UnrollGiven, *flat: Tensor | None) -> tuple[Tensor, ...]:
        plan = given.plan
        inputs = Inputs.of(flat, plan)
        device = inputs.words.device
        with on_device_of(inputs.words), unnarrowed(inputs.words):
            entry = recorded(plan, shapes, UnrollWorkspace, device)
            _forward(entry, given, inputs)
            workspace = entry.workspace
            said = workspace["out"] if plan.after else workspace["states", plan.layers - 1]
            found = [_packed(said[1:], given.index)]
            for m, mask in enumerate(given.masks if given.looks else ()):
                found.append(_packed(workspace["weights", m], given.index)[:, : mask.shape[1]])
            if given.contexts:
                found.append(_packed(workspace["context"][1:], given.index))
        ctx.given, ctx.hold, ctx.buffers = given, Hold(), buffers()
        workspace.buffer.holder = ctx.hold
        ctx.save_for_backward(*flat)
        ctx.set_materialize_grads(False)
        return tuple(found)

    @staticmethod
    @once
    def backward(ctx: Any, d_said: Tensor | None, *gradients: Tensor | None) -> Any:
        given: UnrollGiven = ctx.given
        inputs = Inputs.of(ctx.saved_tensors, given.plan)
        device = inputs.words.device
        with on_device_of(inputs.words), unnarrowed(inputs.words), using_buffers(ctx.buffers):
            entry = recorded(given.plan, shapes, UnrollWorkspace, device)
            workspace = entry.workspace
            if workspace.buffer.holder is not ctx.hold:
                _forward(entry, given, inputs)
            workspace.buffer.holder = None  # the backward pass overwrites the values of the forward pass
            looks = len(given.plan.looks)
            d_weights: tuple[Tensor | None, ...] = gradients[:looks] if given.looks else (None,) * looks
            d_context = gradients[looks:] if given.looks else gradients
            _enter(workspace, given, d_said, d_weights, d_context[0] if d_context else None)
            outside = tuple(gradient is not None for gradient in d_weights)
            entry.run(("back", outside), lambda: back(workspace, outside))
            return None, *_gradients(workspace, given, inputs).flat(given.plan)


def _packed(padded: Tensor, index: Tensor) -> Tensor:
    return padded.flatten(0, 1)[index]


def _forward(entry: PlanGraphs[UnrollWorkspace], given: UnrollGiven, inputs: Inputs) -> None:
    """Copy all inputs into the workspace and run the steps."""
    workspace, plan = entry.workspace, entry.workspace.plan
    H, words = plan.size, workspace["words"].flatten(0, 1)
    copy_all(workspace.parameters, list(inputs.weights.values()))
    if len(given.index) < len(words):
        words.zero_()
    words.index_copy_(0, given.index, inputs.words)
    if len(given.index) < len(words):
        workspace.alive.zero_().view(-1).index_fill_(0, given.index, 1)
    else:
        workspace.alive.fill_(1)
    if inputs.summary is not None:
        fill(workspace["summary"], inputs.summary)
    for layer, first in enumerate(inputs.first):
        fill(workspace["states", layer][0], first[:, :H])
        if plan.cell == "lstm":
            fill(workspace["carries", layer][0], first[:, H:])
    for layer, drop in enumerate(given.drops):
        fill(workspace["masks", layer][1:], drop)
    for m, mask in enumerate(given.masks):
        fill(workspace.masks[m], mask)
        fill(workspace["keys", m], inputs.keys[m])
        fill(workspace["values", m], inputs.values[m])
    entry.run("forth", lambda: forth(workspace))


def _enter(
    workspace: UnrollWorkspace,
    given: UnrollGiven,
    d_said: Tensor | None,
    d_weights: tuple[Tensor | None, ...],
    d_context: Tensor | None,
) -> None:
    """Copy in the gradients from outside. The forward pass has set their places to zero."""
    said = workspace["d_out"] if workspace.plan.after else workspace["d_states", workspace.plan.layers - 1]
    places = [(said[1:], d_said), (workspace["d_context"][1:], d_context)]
    for m, gradient in enumerate(d_weights):
        if gradient is not None:
            places.append((workspace["d_weights", m][..., : gradient.shape[1]], gradient))
    for padded, gradient in places:
        if gradient is not None:
            padded.flatten(0, 1).index_copy_(0, given.index, gradient)


def _gradients(workspace: UnrollWorkspace, given: UnrollGiven, inputs: Inputs) -> Inputs:
    """Copies of the gradients of all inputs."""
    plan, rows = workspace.plan, len(inputs.first[0])

    def first(layer: int) -> Tensor:
        d_state = workspace["d_states", layer][0, :rows]
        if plan.cell != "lstm":
            return d_state.clone()
        return torch.cat([d_state, workspace["d_carry", layer][:rows]], -1)

    def cut(name: str, m: int, like: Tensor) -> Tensor:
        return workspace[name, m][:rows, : like.shape[1]].clone()

    return Inputs(
        words=_packed(workspace["words"], given.index),
        summary=None if inputs.summary is None else workspace["d_summary"][:rows].clone(),
        first=tuple(first(layer) for layer in range(plan.layers)),
        keys=tuple(cut("keys", m, keys) for m, keys in enumerate(inputs.keys)),
        values=tuple(cut("values", m, values) for m, values in enumerate(inputs.values)),
        weights=workspace.gradients(),
    )
