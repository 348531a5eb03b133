"""A recurrence that attends, as one function with a gradient.

Inputs and results are packed (N positions that exist, at places index = t·B + b of time and row); in between everything
has the plan's rounded sizes, and what is padding is zero or comes to nothing: no gradient enters there.

What the forward pass leaves in the room is what the backward pass starts from. Where somebody else has used the room
in the meantime (another model, a second backward pass), the forward pass is run again, from the inputs that were kept.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.kernels.cuda.recurrence import back as backward_steps
from regard.kernels.cuda.recurrence.back import back
from regard.kernels.cuda.recurrence.forth import forth
from regard.kernels.cuda.recurrence.graphs import Recorded, recorded
from regard.kernels.cuda.recurrence.plan import Plan
from regard.kernels.cuda.recurrence.room import Room, fill
from regard.structures.kernels.cuda.launching import on_device_of

Some = tuple[Tensor | None, ...]


@dataclass(frozen=True)
class Given:
    """What has no gradient.

    index     (N) int64, t·rows + b with the plan's rows
    lengths   (b) steps of each row that exists
    masks     (b, S) of each look, False where there is no position
    drops     (T, b, H) dropout masks, between each two layers
    """

    plan: Plan
    index: Tensor
    lengths: Tensor
    masks: tuple[Tensor, ...]
    drops: tuple[Tensor, ...] = ()


@dataclass(frozen=True)
class Inputs:
    """What has a gradient; columns in the order of `plan`.

    words        (N, ·) the input's slice of the first layer's gates, biases of both kinds included (gru: all but c_n)
    combined     (N, O) the words' share of p and its bias
    first        (b, H) of each layer, of an lstm (b, 2H)
    biases       (W) of each layer, what Z begins with: of the first layer c_n alone is used
    hidden       (·, H) of each layer: W_q, W_p of the state, and U
    inputs       (·, read) of the first layer, (·, H) of the others
    combine      (O, context)
    keys, values (b, S, ·), vectors (A) and transitions (2, 2) of each look
    """

    words: Tensor
    combined: Tensor | None
    combine: Tensor | None
    first: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    hidden: tuple[Tensor, ...]
    inputs: tuple[Tensor, ...]
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    vectors: Some
    transitions: Some

    def flat(self) -> list[Tensor | None]:
        flat: list[Tensor | None] = []
        for field in fields(self):
            value = getattr(self, field.name)
            flat.extend(value if isinstance(value, tuple) else [value])
        return flat

    @staticmethod
    def of(flat: list[Any], plan: Plan) -> Inputs:
        left = iter(flat)
        counts = {**dict.fromkeys(("first", "biases", "hidden", "inputs"), plan.layers)}
        counts |= dict.fromkeys(("keys", "values", "vectors", "transitions"), len(plan.looks))
        parts: dict[str, Any] = {}
        for field in fields(Inputs):
            count = counts.get(field.name)
            parts[field.name] = next(left) if count is None else tuple(next(left) for _ in range(count))
        return Inputs(**parts)


def recur(given: Given, inputs: Inputs) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """States (N, H) or, after the step, attentional vectors (N, O); contexts (N, ·); weights (N, S) of each look."""
    said, context, *weights = _Recurrence.apply(given, *inputs.flat())
    return said, context, tuple(weights)


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, given: Given, *flat: Tensor | None) -> tuple[Tensor, ...]:
        plan = given.plan
        inputs = Inputs.of(list(flat), plan)
        with on_device_of(inputs.words), torch.autocast(inputs.words.device.type, enabled=False):
            entry = recorded(plan, inputs.words.device)
            _forward(entry, given, inputs)
        room = entry.room
        ctx.given, ctx.token, ctx.widths = given, object(), [mask.shape[1] for mask in given.masks]
        room.ground.holder = ctx.token
        ctx.save_for_backward(*flat)
        ctx.set_materialize_grads(False)
        said = room["out"] if plan.after else room["states", plan.layers - 1]
        weights = [_packed(room["weights", m], given.index)[:, :width] for m, width in enumerate(ctx.widths)]
        return _packed(said[1:], given.index), _packed(room["context"][1:], given.index), *weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_said: Tensor | None, d_context: Tensor | None, *d_weights: Tensor | None) -> Any:
        given, flat = ctx.given, ctx.saved_tensors
        inputs = Inputs.of(list(flat), given.plan)
        with on_device_of(inputs.words), torch.autocast(inputs.words.device.type, enabled=False):
            entry = recorded(given.plan, inputs.words.device)
            room = entry.room
            if room.ground.holder is not ctx.token:
                _forward(entry, given, inputs)
            room.ground.holder = None  # the way back writes over what the way forth has left
            _enter(room, given, d_said, d_context, d_weights)
            outside = tuple(gradient is not None for gradient in d_weights)
            entry.run(("back", outside), lambda: back(room, outside))
            return None, *_gradients(room, given, inputs, ctx.needs_input_grad[1:])


def _packed(padded: Tensor, index: Tensor) -> Tensor:
    return padded.flatten(0, 1).index_select(0, index)


def _forward(entry: Recorded, given: Given, inputs: Inputs) -> None:
    """Fills the room and goes through the steps."""
    room, plan = entry.room, entry.room.plan
    T, H, top = plan.steps, plan.size, plan.layers - 1
    fill(room.lengths, given.lengths)
    for layer in range(plan.layers):
        room["z", layer].copy_(inputs.biases[layer].expand_as(room["z", layer]))
        first = inputs.first[layer]
        fill(room["states", layer][0], first[:, :H])
        if plan.cell == "lstm":
            fill(room["carries", layer][0], first[:, H:])
        room["hidden", layer].copy_(inputs.hidden[layer])
        room["inputs", layer].copy_(inputs.inputs[layer])
        if plan.drops and layer < top:
            fill(room["masks", layer][1:], given.drops[layer])
    room["z", 0][:T].flatten(0, 1)[:, plan.from_input(0)].index_copy_(0, given.index, inputs.words)
    if inputs.combined is not None and inputs.combine is not None:
        room["combine"].copy_(inputs.combine)
        target = room["z", top][1:].flatten(0, 1)[:, plan.combined]
        target.index_copy_(0, given.index, inputs.combined)
    for m, mask in enumerate(given.masks):
        fill(room.masks[m], mask)
        fill(room["keys", m], inputs.keys[m])
        fill(room["values", m], inputs.values[m])
        vector, transitions = inputs.vectors[m], inputs.transitions[m]
        if vector is not None:
            room["vector", m].copy_(vector)
        if transitions is not None:
            room["transitions", m].copy_(transitions.flatten())
    entry.run("forth", lambda: forth(room))


def _enter(
    room: Room, given: Given, d_said: Tensor | None, d_context: Tensor | None, d_weights: Some
) -> None:
    """The gradients from outside, zeros where there are none."""
    plan = room.plan
    top = plan.layers - 1
    for layer in range(plan.layers):
        room["d_states", layer].zero_()
        if plan.cell == "lstm":
            room["d_carry", layer].zero_()
        if plan.drops and layer < top:
            room["d_below", layer].zero_()
        if plan.after:  # no gates follow the last step
            room["z", layer][plan.steps][:, plan.lead(layer) :].zero_()
    if plan.after:
        room["d_out"].zero_()
    else:
        room["d_context"].zero_()
    said = room["d_out"] if plan.after else room["d_states", top]
    places = [(said[1:], d_said), (room["d_context"][1:], None if plan.after else d_context)]
    for m, gradient in enumerate(d_weights):
        if gradient is not None:
            room["d_weights", m].zero_()
            places.append((room["d_weights", m][..., : gradient.shape[1]], gradient))
    for padded, gradient in places:
        if gradient is not None:
            padded.flatten(0, 1).index_copy_(0, given.index, gradient)


def _gradients(room: Room, given: Given, inputs: Inputs, needed: tuple[bool, ...]) -> list[Tensor | None]:
    """Of all inputs, in their order; None for those that need none."""
    plan = room.plan
    wanted = Inputs.of(list(needed), plan)
    rows, T, top = len(given.lengths), plan.steps, plan.layers - 1
    layers = range(plan.layers)
    looks = range(len(plan.looks))
    of_state = [backward_steps.of_state(room, layer, bool(wanted.biases[layer])) for layer in layers]
    of_keys = [backward_steps.of_keys(room, m) for m in looks]

    def first(layer: int) -> Tensor:
        d_state = room["d_states", layer][0, :rows]
        if plan.cell != "lstm":
            return d_state.clone()
        return torch.cat([d_state, room["d_carry", layer][:rows]], -1)

    def cut(padded: Tensor, like: Tensor) -> Tensor:
        return padded[:rows, : like.shape[1]]

    found: dict[str, Any] = {
        "words": _packed(room["z", 0][:T, :, plan.from_input(0)], given.index),
        "combined": _packed(room["z", top][1:, :, plan.combined], given.index) if plan.after else None,
        "combine": backward_steps.of_combine(room) if plan.after else None,
        "first": [first(layer) for layer in layers],
        "hidden": [weight for weight, _ in of_state],
        "biases": [bias for _, bias in of_state],
        "inputs": [backward_steps.of_inputs(room, layer) for layer in layers],
        "keys": [cut(of_keys[m][0], inputs.keys[m]) for m in looks],
        "values": [cut(backward_steps.of_values(room, m), inputs.values[m]) for m in looks],
        "vectors": [of_keys[m][1] for m in looks],
        "transitions": [
            room["d_transitions", m].sum((0, 1)).view(2, 2) if look.select == "segments" else None
            for m, look in enumerate(plan.looks)
        ],
    }
    parts: dict[str, Any] = {name: tuple(p) if isinstance(p, list) else p for name, p in found.items()}
    return [
        gradient if asked else None for gradient, asked in zip(Inputs(**parts).flat(), needed, strict=True)
    ]
