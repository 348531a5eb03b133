# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""One step of the memory of a Neural Turing Machine on the CPU: one kernel forward, one backward.

The equations are those of `regard.nn.stores.ntm`. In torch a step takes about thirty calls forward and twice
as many backward, and each call takes longer than its computation. Only inputs and results are kept. The
backward pass recomputes everything else.

    said   (B, I) output of the controller: κ of the write and the read heads and the added vectors (3 K W),
           before tanh; the gates of both and the erase vectors (2 K + K W), before σ; β and γ of both (4 K),
           before softplus; the shifts of both (6 K), before softmax
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.structures.kernels.availability import once
from regard.structures.kernels.cpu.arguments import arrays
from regard.structures.kernels.cpu.compilation import kernel, part, reduction
from regard.structures.kernels.cpu.exponential import exponential
from regard.structures.kernels.cpu.mathematics import hyperbolic, larger, logistic
from regard.structures.kernels.cpu.parallel import over_batch

Array = NDArray[Any]
EPSILON = 1e-6  # as in `regard.nn.stores.content`


class HeadPlaces(NamedTuple):
    """Offsets of one head's parameters in `said`: key, gate, β, γ, shifts."""

    key: int
    gate: int
    strength: int
    power: int
    shift: int


class Room(NamedTuple):
    """Intermediate values of the addressing of one head, for each slot (N), and its key (W).

    lengths    1 / √(m·m + ε)
    alike      cos(κ, m)
    content    softmax(β cos)
    gated      g v + (1 − g) w
    moved      the gated weights after the shift
    """

    key: Array
    lengths: Array
    alike: Array
    content: Array
    gated: Array
    moved: Array


class Head(NamedTuple):
    """Scalars of the addressing of one head: 1 / √(κ·κ + ε), β, g, γ, and the three shifts."""

    length: float
    strength: float
    gate: float
    power: float
    back: float
    stay: float
    on: float


@part
def places(head: int, heads: int, width: int, reads: bool) -> HeadPlaces:
    at = head + heads if reads else head
    gates, powers = 3 * heads * width, 3 * heads * width + 2 * heads + heads * width
    return HeadPlaces(
        at * width, gates + at, powers + at, powers + 2 * heads + at, powers + 4 * heads + 3 * at
    )


@part
def _furnished(said: Array, slots: int, width: int) -> Room:
    kind = said.dtype
    return Room(
        np.empty(width, kind), np.empty(slots, kind), np.empty(slots, kind), np.empty(slots, kind),
        np.empty(slots, kind), np.empty(slots, kind),
    )  # fmt: skip


@reduction
def _dot(x: Array, y: Array) -> Any:
    total = x.dtype.type(0)
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@part
def _softplus(x: Any, kind: Any) -> Any:
    return kind(max(x, 0.0) + math.log1p(math.exp(-abs(x)))) if x == x else x


@part
def _softmax(energies: Array, out: Array) -> None:
    highest = energies[0]
    for s in range(len(energies)):
        highest = larger(highest, energies[s])
    for s in range(len(energies)):
        out[s] = exponential(energies[s] - highest)
    total = _sum(out)
    for s in range(len(out)):
        out[s] /= total


@reduction
def _sum(x: Array) -> Any:
    total = x.dtype.type(0)
    for i in range(len(x)):
        total += x[i]
    return total


@part
def _address(said: Array, at: HeadPlaces, slots: Array, before: Array, room: Room, out: Array) -> Head:
    """The new weights (N) of one head over slots (N, W), from its previous weights `before` (N)."""
    kind, one = said.dtype.type, said.dtype.type(1)
    count = len(slots)
    key = room.key
    for i in range(len(key)):
        key[i] = hyperbolic(said[at.key + i])
    length = one / kind(math.sqrt(_dot(key, key) + kind(EPSILON)))
    strength = _softplus(said[at.strength], kind)
    for s in range(count):
        room.lengths[s] = one / kind(math.sqrt(_dot(slots[s], slots[s]) + kind(EPSILON)))
        room.alike[s] = _dot(key, slots[s]) * length * room.lengths[s]
        room.moved[s] = strength * room.alike[s]
    _softmax(room.moved, room.content)
    gate = logistic(said[at.gate])
    for s in range(count):
        room.gated[s] = before[s] + gate * (room.content[s] - before[s])
    x, y, z = said[at.shift], said[at.shift + 1], said[at.shift + 2]
    highest = larger(larger(x, y), z)
    back, stay, on = exponential(x - highest), exponential(y - highest), exponential(z - highest)
    total = back + stay + on
    back, stay, on = back / total, stay / total, on / total
    gated = room.gated
    for s in range(count):
        after, behind = s + 1 if s + 1 < count else 0, s - 1 if s > 0 else count - 1
        room.moved[s] = back * gated[after] + stay * gated[s] + on * gated[behind]
    power = one + _softplus(said[at.power], kind)
    tiny = kind(np.finfo(said.dtype).tiny)
    for s in range(count):
        out[s] = power * kind(math.log(larger(room.moved[s], tiny)))
    _softmax(out, out)
    return Head(length, strength, gate, power, back, stay, on)


@part
def _address_back(
    said: Array, at: HeadPlaces, slots: Array, before: Array, room: Room, head: Head, now: Array, d_now: Array,
    d_said: Array, d_slots: Array, d_before: Array, scratch: Array,
) -> None:  # fmt: skip
    """Backward through `_address`; d_now, the gradient of the new weights, is changed. Adds to d_slots."""
    kind, one = said.dtype.type, said.dtype.type(1)
    count = len(slots)
    tiny = kind(np.finfo(said.dtype).tiny)
    mean, d_power = _dot(now, d_now), kind(0)
    for s in range(count):  # gradient of the shifted weights
        change = now[s] * (d_now[s] - mean)
        moved = room.moved[s]
        d_power += change * kind(math.log(larger(moved, tiny)))
        scratch[s] = change * head.power / moved if not moved < tiny else kind(0)
    d_said[at.power] = d_power * logistic(said[at.power])
    d_back, d_stay, d_on, d_gate = kind(0), kind(0), kind(0), kind(0)
    for s in range(count):
        after, behind = s + 1 if s + 1 < count else 0, s - 1 if s > 0 else count - 1
        d_back += scratch[s] * room.gated[after]
        d_stay += scratch[s] * room.gated[s]
        d_on += scratch[s] * room.gated[behind]
        change = head.back * scratch[behind] + head.stay * scratch[s] + head.on * scratch[after]
        d_gate += change * (room.content[s] - before[s])
        d_before[s] = (one - head.gate) * change
        d_now[s] = head.gate * change  # gradient of the content weights
    mean = head.back * d_back + head.stay * d_stay + head.on * d_on
    d_said[at.shift] = head.back * (d_back - mean)
    d_said[at.shift + 1] = head.stay * (d_stay - mean)
    d_said[at.shift + 2] = head.on * (d_on - mean)
    d_said[at.gate] = d_gate * head.gate * (one - head.gate)
    mean, d_strength, turned = _dot(room.content, d_now), kind(0), kind(0)
    for i in range(len(room.key)):
        d_said[at.key + i] = kind(0)
    for s in range(count):
        change = room.content[s] * (d_now[s] - mean)
        d_strength += change * room.alike[s]
        change *= head.strength  # gradient of the cosine
        turn = change * room.alike[s]
        turned += turn
        along = change * head.length * room.lengths[s]
        shorter = turn * room.lengths[s] * room.lengths[s]
        for i in range(len(room.key)):
            d_said[at.key + i] += along * slots[s, i]
            d_slots[s, i] += along * room.key[i] - shorter * slots[s, i]
    d_said[at.strength] = d_strength * logistic(said[at.strength])
    turned *= head.length * head.length
    for i in range(len(room.key)):
        key = room.key[i]
        d_said[at.key + i] = (d_said[at.key + i] - turned * key) * (one - key * key)


@part
def _write(said: Array, weights: Array, slots: Array, out: Array, bent: Array) -> None:
    """m ⊙ Π_k (1 − w_k e_k) + Σ_k w_k a_k: weights (K, N), slots and out (N, W), bent (2, W) scratch."""
    heads, width = len(weights), slots.shape[1]
    one = said.dtype.type(1)
    added, erased = 2 * heads * width, 3 * heads * width + 2 * heads
    for s in range(len(slots)):
        for i in range(width):
            out[s, i] = slots[s, i]
    for k in range(heads):
        for i in range(width):
            bent[0, i] = logistic(said[erased + k * width + i])
        for s in range(len(slots)):
            for i in range(width):
                out[s, i] *= one - weights[k, s] * bent[0, i]
    for k in range(heads):
        for i in range(width):
            bent[1, i] = hyperbolic(said[added + k * width + i])
        for s in range(len(slots)):
            for i in range(width):
                out[s, i] += weights[k, s] * bent[1, i]


@part
def _write_back(
    said: Array,
    weights: Array,
    slots: Array,
    d_out: Array,
    d_said: Array,
    d_weights: Array,
    bent: Array,
    kept: Array,
) -> None:
    """Backward through `_write`: d_out (N, W), the gradient of the new slots, becomes that of the old slots.
    Adds to d_weights (K, N); kept (K, N, W) is scratch."""
    heads, width = len(weights), slots.shape[1]
    kind, one = said.dtype.type, said.dtype.type(1)
    added, erased = 2 * heads * width, 3 * heads * width + 2 * heads
    for k in range(heads):
        for i in range(width):
            bent[0, i] = hyperbolic(said[added + k * width + i])
            bent[1, i] = kind(0)
        for s in range(len(slots)):
            weight = weights[k, s]
            d_weights[k, s] += _dot(d_out[s], bent[0])
            for i in range(width):
                bent[1, i] += weight * d_out[s, i]
        for i in range(width):
            d_said[added + k * width + i] = bent[1, i] * (one - bent[0, i] * bent[0, i])
    for k in range(heads):  # the slots before each head erases
        for s in range(len(slots)):
            for i in range(width):
                if k == 0:
                    kept[k, s, i] = slots[s, i]
                else:
                    gone = logistic(said[erased + (k - 1) * width + i])
                    kept[k, s, i] = kept[k - 1, s, i] * (one - weights[k - 1, s] * gone)
    for k in range(heads - 1, -1, -1):
        for i in range(width):
            bent[0, i] = logistic(said[erased + k * width + i])
            bent[1, i] = kind(0)
        for s in range(len(slots)):
            weight, d_weight = weights[k, s], kind(0)
            for i in range(width):
                change = d_out[s, i] * kept[k, s, i]
                d_weight += change * bent[0, i]
                bent[1, i] += weight * change
                d_out[s, i] *= one - weight * bent[0, i]
            d_weights[k, s] -= d_weight
        for i in range(width):
            d_said[erased + k * width + i] = -bent[1, i] * bent[0, i] * (one - bent[0, i])


@kernel
def _forth(
    said: Array, slots: Array, write: Array, read: Array, out: Array, wrote: Array, looked: Array, reads: Array,
    first: int, last: int,
) -> None:  # fmt: skip
    heads, (count, width) = write.shape[1], slots.shape[1:]
    room, bent = _furnished(said, count, width), np.empty((2, width), said.dtype)
    for b in range(first, last):
        for k in range(heads):
            _address(said[b], places(k, heads, width, False), slots[b], write[b, k], room, wrote[b, k])
        _write(said[b], wrote[b], slots[b], out[b], bent)
        for k in range(heads):
            _address(said[b], places(k, heads, width, True), out[b], read[b, k], room, looked[b, k])
            for i in range(width):
                reads[b, k, i] = 0
            for s in range(count):
                for i in range(width):
                    reads[b, k, i] += looked[b, k, s] * out[b, s, i]


@kernel
def _back(
    said: Array, slots: Array, write: Array, read: Array, out: Array, wrote: Array, looked: Array,
    d_said: Array, d_slots: Array, d_write: Array, d_read: Array, d_wrote: Array, d_looked: Array, d_reads: Array,
    first: int, last: int,
) -> None:  # fmt: skip
    """d_slots holds the gradient of `out` and becomes that of `slots`; d_wrote and d_looked are changed."""
    heads, (count, width) = write.shape[1], slots.shape[1:]
    room, bent = _furnished(said, count, width), np.empty((2, width), said.dtype)
    again, scratch = np.empty(count, said.dtype), np.empty(count, said.dtype)
    kept = np.empty((heads, count, width), said.dtype)
    for b in range(first, last):
        for k in range(heads):
            for s in range(count):
                d_looked[b, k, s] += _dot(d_reads[b, k], out[b, s])
        for k in range(heads):
            for s in range(count):
                weight = looked[b, k, s]
                for i in range(width):
                    d_slots[b, s, i] += weight * d_reads[b, k, i]
        for k in range(heads):
            at = places(k, heads, width, True)
            head = _address(said[b], at, out[b], read[b, k], room, again)
            _address_back(
                said[b], at, out[b], read[b, k], room, head, looked[b, k], d_looked[b, k], d_said[b], d_slots[b],
                d_read[b, k], scratch,
            )  # fmt: skip
        _write_back(said[b], wrote[b], slots[b], d_slots[b], d_said[b], d_wrote[b], bent, kept)
        for k in range(heads):
            at = places(k, heads, width, False)
            head = _address(said[b], at, slots[b], write[b, k], room, again)
            _address_back(
                said[b], at, slots[b], write[b, k], room, head, wrote[b, k], d_wrote[b, k], d_said[b], d_slots[b],
                d_write[b, k], scratch,
            )  # fmt: skip


class NTMStep(torch.autograd.Function):
    """said (B, I), slots (B, N, W), write and read (B, K, N) → new slots, write and read; reads (B, K, W)."""

    @staticmethod
    def forward(
        ctx: Any, said: Tensor, slots: Tensor, write: Tensor, read: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        rows, count, width = slots.shape
        out, wrote, looked = (one.new_empty(one.shape) for one in (slots, write, read))
        reads = slots.new_empty(rows, write.shape[1], width)
        given = arrays(said, slots, write, read, out, wrote, looked)
        over_batch(_forth, rows, 8 * count * width, *given, *arrays(reads))
        ctx.save_for_backward(said, slots, write, read, out, wrote, looked)
        return out, wrote, looked, reads

    @staticmethod
    @once
    def backward(ctx: Any, d_out: Tensor, d_wrote: Tensor, d_looked: Tensor, d_reads: Tensor) -> Any:
        said, slots, write, read, *_ = kept = ctx.saved_tensors
        made = [one.new_empty(one.shape) for one in (said, slots, write, read)]
        made[1].copy_(d_out)
        received = [
            torch.empty_like(one, memory_format=torch.contiguous_format).copy_(one)
            for one in (d_wrote, d_looked)
        ]
        rows, count, width = slots.shape
        over_batch(_back, rows, 24 * count * width, *arrays(*kept), *arrays(*made, *received, d_reads))
        return tuple(made)
