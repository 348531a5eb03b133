"""External memories: every step of addressing against its equation in loops, a machine set by hand, rows of several
lengths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.data.perceived import Series
from regard.kernels.replayed_gradient import replays_of
from regard.nn import MachineDecoder, Memory, make_cell
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
        for slot in sorted(range(4), key=lambda n: known[n]):  # sorted keeps the order of equals
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
    """The gates are wide open where there are any; usage falls only there."""
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
    """One slot after the other is written whole: each is linked to the one before, and to no other."""
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
    same(lie.rotated(lie.rotated(points, angles), -angles), points)  # a group has inverses
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
    """What the controller says differs from row to row; where it is large, every step is as far as the reach."""
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


def machine(store: Any, width: int = 3, size: int = 5, seed: int = 1) -> MachineDecoder:
    torch.manual_seed(seed)
    read = 0 if store is None else store.read_size
    decoder = MachineDecoder(width, "source", make_cell("lstm", width + 1 + read, size), store)
    return decoder.double()


def source(lengths: list[int], blanks: int, width: int = 3, seed: int = 1) -> dict[str, Memory]:
    """Random bits, the last steps of each row blank."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randint(0, 2, (len(lengths), max(lengths), width + 1), generator=generator).double()
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    for row, length in enumerate(lengths):
        values[row, :, width] = 0
        values[row, length - blanks : length] = torch.tensor([*[0.0] * width, 1.0], dtype=torch.float64)
        values[row, length:] = 0
    return {"source": Memory(values, mask, values.mean(1))}


STORES = {
    "ntm": lambda: NTMStore(5, slots=6, width=4, heads=2),
    "dnc": lambda: DNCStore(5, slots=6, width=4, heads=2),
    "lie": lambda: LieStore(5, width=4, heads=2, move="rotate", weights="softmax"),
    "none": lambda: None,
}


@pytest.mark.parametrize("name", STORES)
def test_rows_of_a_batch_do_not_see_each_other(name: str) -> None:
    decoder = machine(STORES[name]())
    lengths = [7, 4, 9]
    memories = source(lengths, blanks=2)
    together = decoder.predict(memories)
    for row, length in enumerate(lengths):
        alone = {"source": memories["source"].select(torch.tensor([row]))}
        alone["source"] = Memory(
            alone["source"].values[:, :length], alone["source"].mask[:, :length], alone["source"].summary
        )
        found = decoder.predict(alone)
        assert found.mask.sum() == 2
        same(together.logits[row][together.mask[row]], found.logits[0][found.mask[0]].numpy())


@pytest.mark.parametrize("name", STORES)
def test_gradients_are_exact(name: str) -> None:
    decoder = machine(STORES[name]())
    memories = source([5, 4], blanks=2)
    parameters = [one for one in decoder.parameters() if one.requires_grad]
    with torch.no_grad():
        for one in parameters:  # away from places where the order of usage or a clamp could change
            one += 0.3 * made(*one.shape, seed=one.numel())
    weights = made(2, 5, 3, seed=7)

    def value() -> Tensor:
        return (decoder(memories).logits * weights).sum()

    gradients = torch.autograd.grad(value(), parameters)
    for one, gradient in zip(parameters, gradients, strict=True):
        direction = made(*one.shape, seed=9 + one.numel())
        with torch.no_grad():
            one += 1e-6 * direction
            above = value()
            one -= 2e-6 * direction
            below = value()
            one += 1e-6 * direction
        assert float((above - below) / 2e-6) == pytest.approx(
            float((gradient * direction).sum()), rel=1e-5, abs=1e-7
        )


def on_cuda(memories: dict[str, Memory]) -> dict[str, Memory]:
    return {
        name: Memory(one.values.cuda(), one.mask.cuda(), one.summary.cuda()) for name, one in memories.items()
    }


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("name", STORES)
def test_recorded_on_cuda_it_learns_the_same(name: str) -> None:
    decoder = machine(STORES[name]())
    memories, target = source([7, 4, 9], blanks=2), Series(made(3, 2, 3, seed=5).round(), torch.full((3,), 2))

    def learned(memories: dict[str, Memory], target: Series) -> list[Tensor]:
        total = decoder.loss(memories, target).total
        return [total, *torch.autograd.grad(total, list(decoder.parameters()), allow_unused=True)]

    truth = learned(memories, target)
    decoder.cuda()
    there, answers = on_cuda(memories), target.to("cuda")
    for _ in range(4):
        for one, expected in zip(learned(there, answers), truth, strict=True):
            torch.testing.assert_close(one.cpu(), expected, rtol=1e-9, atol=1e-10)
    assert replays_of(decoder).recordings, replays_of(decoder).refused


def copier(width: int = 3, slots: int = 8) -> MachineDecoder:
    """A Neural Turing Machine whose weights are set by hand, so that it copies.

    The controller only passes on what it sees, as ±1: the bits, blank, not blank. The write head goes on by one slot at
    every step, erases it where the input has bits, and adds the bits. The read head stays at the first slot, where
    nothing is, until the first blank step, and then goes on by one slot a step.
    """
    store = NTMStore(width + 2, slots=slots, width=width)
    cell = make_cell("rnn", 2 * width + 1, width + 2)
    decoder = MachineDecoder(width, "source", cell, store).double()
    with torch.no_grad():
        for one in decoder.parameters():
            one.zero_()
        blank = width
        big = 1000.0
        # tanh of ±big is ±1: bits 2x − 1, blank and its opposite
        for bit in range(width):
            cell.weight_ih[bit, bit] = 2 * big
            cell.bias_ih[bit] = -big
        cell.weight_ih[blank, blank] = 2 * big
        cell.bias_ih[blank] = -big
        cell.weight_ih[blank + 1, blank] = -2 * big
        cell.bias_ih[blank + 1] = big
        names = list(store.pieces)
        starts = dict(zip(names, np.cumsum([0, *store.pieces.values()]).tolist(), strict=False))
        weight, bias = store.interface.weight, store.interface.bias
        for gate in ("ga", "gr"):
            bias[starts[gate]] = -big  # never by content
        for power in ("γa", "γr"):
            bias[starts[power]] = 50.0
        bias[starts["ςa"] + 2] = big  # always on
        weight[starts["ςr"] + 2, blank] = big  # on at a blank step …
        weight[starts["ςr"] + 1, blank + 1] = big  # … and else not at all
        for bit in range(width):
            bias[starts["ea"] + bit] = -big
            weight[starts["ea"] + bit, blank + 1] = 2 * big  # erase, unless blank
            weight[starts["aa"] + bit, bit] = 1.0
            decoder.output.weight[bit, width + 2 + bit] = big
    return decoder


def test_a_machine_set_by_hand_copies_exactly() -> None:
    """The read head follows the write head, so every length that fits is copied; the bits are the truth."""
    decoder = copier()
    for count in (1, 2, 4, 7):
        bits = torch.randint(0, 2, (3, count, 3), generator=torch.Generator().manual_seed(count)).double()
        values = torch.zeros(3, 2 * count, 4, dtype=torch.float64)
        values[:, :count, :3] = bits
        values[:, count:, 3] = 1.0
        mask = torch.ones(3, 2 * count, dtype=torch.bool)
        found = decoder.predict({"source": Memory(values, mask, values.mean(1))})
        if 2 * count <= 8:  # at blank steps the write head goes on, over empty slots as long as there are any
            assert torch.equal(found.value[found.mask].view(3, count, 3), bits.long())
        reads = torch.stack(found.looks["read"], 1)[0, count:, 0]  # (count, N)
        assert torch.equal(reads.argmax(-1), (torch.arange(count) + 1) % 8)
