"""A controller with external memory: rows of several lengths, gradients, recordings, hand-set weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.data.media import Series
from regard.fast.recording.replayed_gradient import replays_of
from regard.nn import MachineDecoder, Memory, make_cell
from regard.nn.stores import DNCStore, LieStore, NTMStore


def made(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def same(found: Tensor, truth: Any) -> None:
    np.testing.assert_allclose(found.numpy(), np.asarray(truth), rtol=1e-10, atol=1e-10)


def machine(store: Any, width: int = 3, size: int = 5, seed: int = 1) -> MachineDecoder:
    torch.manual_seed(seed)
    read = 0 if store is None else store.read_size
    decoder = MachineDecoder(width, "source", make_cell("lstm", width + 1 + read, size), store)
    return decoder.double()


def source(lengths: list[int], blanks: int, width: int = 3, seed: int = 1) -> dict[str, Memory]:
    """Random bits; the last steps of each row are blank."""
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
        for one in parameters:  # away from kinks, where the order of usage or a clamp could change
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
    """A Neural Turing Machine whose weights are set by hand to copy its input.

    The controller passes on its input as ±1: the bits, blank, not blank. The write head moves on by one slot
    at every step; while the input has bits, it erases the slot and adds the bits. The read head stays at the
    first slot, which is empty, until the first blank step, and then moves on by one slot per step.
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
            bias[starts[gate]] = -big  # never address by content
        for power in ("γa", "γr"):
            bias[starts[power]] = 50.0
        bias[starts["ςa"] + 2] = big  # always move on
        weight[starts["ςr"] + 2, blank] = big  # move on at a blank step …
        weight[starts["ςr"] + 1, blank + 1] = big  # … and stay otherwise
        for bit in range(width):
            bias[starts["ea"] + bit] = -big
            weight[starts["ea"] + bit, blank + 1] = 2 * big  # erase, unless blank
            weight[starts["aa"] + bit, bit] = 1.0
            decoder.output.weight[bit, width + 2 + bit] = big
    return decoder


def test_a_machine_set_by_hand_copies_exactly() -> None:
    """The read head follows the write head, so every length that fits is copied."""
    decoder = copier(slots=14)
    for count in (1, 2, 4, 7):
        bits = torch.randint(0, 2, (3, count, 3), generator=torch.Generator().manual_seed(count)).double()
        values = torch.zeros(3, 2 * count, 4, dtype=torch.float64)
        values[:, :count, :3] = bits
        values[:, count:, 3] = 1.0
        mask = torch.ones(3, 2 * count, dtype=torch.bool)
        found = decoder.predict({"source": Memory(values, mask, values.mean(1))})
        # At blank steps the write head moves on over empty slots: 7 + 7 steps fill the 14 slots.
        assert torch.equal(found.value[found.mask].view(3, count, 3), bits.long())
        reads = torch.stack(found.looks["read"], 1)[0, count:, 0]  # (count, slots)
        assert torch.equal(reads.argmax(-1), torch.arange(count) + 1)
