"""External memories: every step of addressing against its equation in loops, and rows of several lengths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.nn.stores import DNCStore, LieStore, NTMStore, content, dnc, lie, ntm

B, K, N, W = 2, 2, 6, 3


def made(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def shares(*shape: int, seed: int = 1) -> Tensor:
    return made(*shape, seed=seed).softmax(-1)


def same(found: Tensor, truth: Any) -> None:
    np.testing.assert_allclose(found.numpy(), np.asarray(truth), rtol=1e-10, atol=1e-10)


def test_content_is_the_softmax_of_cosines() -> None:
    keys, strengths, slots = made(B, K, W), made(B, K, seed=2).exp(), made(B, N, W, seed=3)
    truth = np.zeros((B, K, N))
    for b in range(B):
        for k in range(K):
            for n in range(N):
                key, slot = keys[b, k].numpy(), slots[b, n].numpy()
                lengths = math.sqrt(sum(key**2) + 1e-6) * math.sqrt(sum(slot**2) + 1e-6)
                truth[b, k, n] = math.exp(float(strengths[b, k]) * sum(key * slot) / lengths)
            truth[b, k] /= truth[b, k].sum()
    same(content.content_weights(keys, strengths, slots), truth)


def test_a_gate_chooses_between_content_and_the_last_place() -> None:
    found, before, gate = shares(B, K, N), shares(B, K, N, seed=2), made(B, K, seed=3).sigmoid()
    truth = [
        [
            [gate[b, k] * found[b, k, n] + (1 - gate[b, k]) * before[b, k, n] for n in range(N)]
            for k in range(K)
        ]
        for b in range(B)
    ]
    same(ntm.interpolated(found, before, gate), truth)


def test_a_shift_turns_the_circle() -> None:
    weights, shifts = shares(B, K, N), shares(B, K, 3, seed=2)
    truth = np.zeros((B, K, N))
    for b in range(B):
        for k in range(K):
            for n in range(N):
                for place, by in enumerate((-1, 0, 1)):  # Graves: Σ_j w(j) s(i − j)
                    truth[b, k, n] += float(weights[b, k, (n - by) % N] * shifts[b, k, place])
    same(ntm.shifted(weights, shifts), truth)
    on = torch.tensor([[[0.0, 0.0, 1.0]]], dtype=torch.float64)
    assert ntm.shifted(torch.eye(N, dtype=torch.float64)[None, N - 1 :], on).argmax() == 0


def test_sharpening_is_a_power() -> None:
    weights, power = shares(B, K, N), 1 + made(B, K, seed=2).exp()
    truth = weights.numpy() ** power.numpy()[..., None]
    same(ntm.sharpened(weights, power), truth / truth.sum(-1, keepdims=True))


def test_sharpening_survives_large_powers_and_zeros() -> None:
    weights = torch.tensor([[[0.0, 0.2, 0.3, 0.5]]], requires_grad=True)
    power = torch.tensor([[200.0]], requires_grad=True)
    found = ntm.sharpened(weights, power)
    found[0, 0, 3].backward()
    assert float(found[0, 0, 3].detach()) == pytest.approx(1.0)
    assert torch.isfinite(weights.grad).all() and torch.isfinite(power.grad).all()  # type: ignore[arg-type]


def test_all_heads_erase_before_any_adds() -> None:
    slots, weights = made(B, N, W), shares(B, K, N, seed=2)
    erase, add = made(B, K, W, seed=3).sigmoid(), made(B, K, W, seed=4)
    truth = slots.clone().numpy()
    for b in range(B):
        for n in range(N):
            for k in range(K):
                truth[b, n] *= 1 - weights[b, k, n].item() * erase[b, k].numpy()
            for k in range(K):
                truth[b, n] += weights[b, k, n].item() * add[b, k].numpy()
    same(ntm.written(slots, weights, erase, add), truth)


def test_an_untrained_machine_with_a_tape_writes_to_one_slot_after_the_other() -> None:
    torch.manual_seed(1)
    store = NTMStore(5, slots=9, width=4, heads=2, tape=True)
    state = store.start(3)
    for step in range(1, 5):
        state = store.step(torch.zeros(3, 5), state).state
        assert torch.equal(state.write.argmax(-1), torch.full((3, 2), step))


def test_focused_heads_begin_by_reading_fewer_slots() -> None:
    shares = []
    for focus in (0.0, 3.0):
        torch.manual_seed(1)
        store = NTMStore(5, slots=9, width=4, heads=2, focus=focus)
        state = store.start(3)
        for step in range(4):
            state = store.step(made(3, 5, seed=step).float(), state).state
        shares.append(state.read.amax(-1))
    assert (shares[1] > shares[0]).all()


def test_allocation_goes_to_the_least_used() -> None:
    usage = torch.tensor([[0.9, 0.1, 0.5, 0.1], [0.0, 0.0, 1.0, 0.3]], dtype=torch.float64)
    truth = np.zeros((2, 4))
    for b in range(2):
        known = [1e-6 + (1 - 1e-6) * float(u) for u in usage[b]]
        product = 1.0
        for slot in sorted(range(4), key=lambda n: known[n]):  # stable: equal keys keep their order
            truth[b, slot] = (1 - known[slot]) * product
            product *= known[slot]
    same(dnc.allocated(usage), truth)


def test_usage_grows_by_writing_and_falls_by_freeing() -> None:
    usage, write = made(B, N).sigmoid(), shares(B, N, seed=2)
    for heads in (1, K):
        read, free = shares(B, heads, N, seed=3), made(B, heads, seed=4).sigmoid()
        truth = np.zeros((B, N))
        for b in range(B):
            for n in range(N):
                kept = math.prod(1 - float(free[b, k] * read[b, k, n]) for k in range(heads))
                u, w = float(usage[b, n]), float(write[b, n])
                truth[b, n] = (u + w - u * w) * kept
        same(dnc.used(usage, write, read, free), truth)


@pytest.mark.parametrize("free", [True, False])
def test_a_memory_that_frees_nothing_keeps_what_it_has(free: bool) -> None:
    """With free gates, which are wide open here, usage decreases; without them it never does."""
    torch.manual_seed(1)
    store = DNCStore(5, slots=6, width=4, free=free).double()
    assert ("fr" in store.pieces) == free
    if free:
        store.begin_with({"fr": 10.0})
    state, falls = store.start(2), False
    with torch.no_grad():
        for step in range(8):
            before, state = state.usage, store.step(made(2, 5, seed=step), state).state
            falls |= bool((state.usage < before - 1e-3).any())
    assert falls == free


def test_links_and_the_three_ways_to_read() -> None:
    link, write, precedence = made(B, N, N).sigmoid() / N, shares(B, N, seed=2), shares(B, N, seed=3)
    truth = np.zeros((B, N, N))
    for b in range(B):
        for i in range(N):
            for j in range(N):
                if i != j:
                    kept = (1 - write[b, i] - write[b, j]) * link[b, i, j]
                    truth[b, i, j] = float(kept + write[b, i] * precedence[b, j])
    same(dnc.linked(link, write, precedence), truth)
    read, found, modes = shares(B, K, N, seed=4), shares(B, K, N, seed=5), shares(B, K, 3, seed=6)
    weights = np.zeros((B, K, N))
    for b in range(B):
        for k in range(K):
            w, links, (back, here, on) = read[b, k].numpy(), link[b].numpy(), modes[b, k].tolist()
            weights[b, k] = back * links.T @ w + here * found[b, k].numpy() + on * links @ w
    same(dnc.followed(link, read, found, modes), weights)


def test_links_follow_the_order_of_writing() -> None:
    """Slots are fully written one after the other: each is linked to the previous one and to no other."""
    link, precedence = torch.zeros(1, 4, 4), torch.zeros(1, 4)
    for slot in (2, 0, 3):
        write = torch.eye(4)[None, slot]
        link = dnc.linked(link, write, precedence)
        precedence = (1 - write.sum()) * precedence + write
    expected = torch.zeros(4, 4)
    expected[0, 2] = expected[3, 0] = 1.0
    assert torch.equal(link[0], expected)


def test_lie_moves_and_weights() -> None:
    points, angles, keys = made(B, K, 2), made(B, K, seed=2), made(B, N, 2, seed=3)
    turned = np.zeros((B, K, 2))
    for b in range(B):
        for k in range(K):
            turn = complex(math.cos(angles[b, k]), math.sin(angles[b, k]))
            moved = complex(*points[b, k].tolist()) * turn
            turned[b, k] = moved.real, moved.imag
    same(lie.rotated(points, angles), turned)
    same(lie.rotated(lie.rotated(points, angles), -angles), points)  # the inverse of the group
    strengths, temperatures = made(B, N, seed=4).sigmoid(), made(B, K, seed=5).exp()
    near, soft = np.zeros((B, K, N)), np.zeros((B, K, N))
    for b in range(B):
        for k in range(K):
            for n in range(N):
                distance = float(((points[b, k] - keys[b, n]) ** 2).sum())
                near[b, k, n] = strengths[b, n] / (distance + 1e-4)
                soft[b, k, n] = strengths[b, n] * math.exp(-distance / float(temperatures[b, k]))
    distances = lie.squared_distances(points, keys)
    same(lie.nearest_by_inverse_square(distances, strengths), near / near.sum(-1, keepdims=True))
    same(lie.nearest_by_softmax(distances, strengths, temperatures), soft / soft.sum(-1, keepdims=True))


@pytest.mark.parametrize("move", ["shift", "rotate"])
def test_steps_within_reach_are_alike(move: Any) -> None:
    """The controller's output differs by row; where it is large, every step has the length of the reach."""
    store = LieStore(5, width=4, heads=2, move=move, reach=0.3).double()
    with torch.no_grad():
        begin = 0
        for name, size in store.pieces.items():
            store.interface.bias[begin : begin + size] += {"g": -1e3, "d": 40.0, "η": 40.0}.get(name[0], 0.0)
            begin += size
        start = store.start(3)  # all heads at (1, 0)
        done = store.step(made(3, 5), start).state
    goal = [1.3, 0.3] if move == "shift" else [math.cos(0.3), math.sin(0.3)]
    for found, heads in ((done.write, 1), (done.read, 2)):
        same(found, np.broadcast_to(np.array(goal), (3, heads, 2)))


def test_a_step_within_reach_is_a_gate_times_a_hyperbolic_tangent() -> None:
    store, said = LieStore(5, width=4, reach=0.3).double(), made(3, 5)
    with torch.no_grad():
        heard, before = store.said(said), store.start(3).write
        jumped = torch.lerp(before, heard["xa"].unsqueeze(1), heard["ga"].sigmoid().unsqueeze(-1))
        found = store.step(said, store.start(3)).state.write - jumped
    truth = np.zeros((3, 1, 2))
    for row in range(3):
        goes = 1 / (1 + math.exp(-float(heard["ηa"][row])))
        truth[row, 0] = [0.3 * goes * math.tanh(float(heard["da"][row, axis])) for axis in range(2)]
    same(found, truth)
