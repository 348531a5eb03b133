"""A memory step of a Neural Turing Machine on the CPU: kernels against torch and finite differences."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.fast.cpu.ntm import NTMStep
from regard.nn.stores import NTMStore
from regard.nn.stores.ntm import NTMState
from regard.structures.kernels.availability import plainly


def given(rows: int, heads: int, slots: int, width: int, dtype: Any = torch.float64) -> list[Tensor]:
    generator = torch.Generator().manual_seed(rows + 10 * heads)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    numbers = 4 * heads * width + 12 * heads
    found = [
        2 * normal(rows, numbers),
        normal(rows, slots, width),
        (3 * normal(rows, heads, slots)).softmax(-1),
        (3 * normal(rows, heads, slots)).softmax(-1),
    ]
    return [one.to(dtype).requires_grad_() for one in found]


def answers(store: NTMStore, tensors: list[Tensor]) -> list[Tensor]:
    """The results of a step, and the gradients of a weighted sum of them with distinct weights."""
    controller, *state = tensors
    done = store.step(controller, NTMState(*state))
    found = [*done.state, done.reads]
    total = torch.stack(
        [(one * torch.linspace(-1, 2, one.numel(), dtype=one.dtype).view(one.shape)).sum() for one in found]
    ).sum()
    return [one.detach() for one in found] + list(torch.autograd.grad(total, tensors))


def echo(heads: int, slots: int, width: int, dtype: Any) -> NTMStore:
    """A store with an identity interface: the controller's state is used unchanged."""
    numbers = 4 * heads * width + 12 * heads
    store = NTMStore(numbers, slots=slots, width=width, heads=heads).to(dtype)
    with torch.no_grad():
        store.interface.weight.copy_(torch.eye(numbers))
        store.interface.bias.zero_()
    return store


@pytest.mark.parametrize("rows", [1, 2, 5, 64, 70])
@pytest.mark.parametrize("heads, slots, width", [(1, 32, 20), (2, 5, 3), (3, 2, 1), (1, 1, 4)])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_step_is_what_torch_makes_of_it(
    rows: int, heads: int, slots: int, width: int, threads: int
) -> None:
    store, before = echo(heads, slots, width, torch.float64), torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        found = answers(store, given(rows, heads, slots, width))
    finally:
        torch.set_num_threads(before)
    with plainly():
        expected = answers(store, given(rows, heads, slots, width))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-11, rtol=1e-9)


def test_single_precision_is_as_exact_as_torch() -> None:
    tensors, exact = given(64, 1, 32, 20, torch.float32), given(64, 1, 32, 20)
    found = answers(echo(1, 32, 20, torch.float32), tensors)
    with plainly():
        torchs = answers(echo(1, 32, 20, torch.float32), tensors)
        expected = answers(echo(1, 32, 20, torch.float64), exact)
    for one, other, truth in zip(found, torchs, expected, strict=True):
        error, usual = ((each.double() - truth).abs().max() for each in (one, other))
        assert error <= 4 * usual + 1e-6 * truth.abs().max(), (error, usual)


@pytest.mark.parametrize("heads, slots, width", [(1, 5, 3), (2, 4, 2)])
def test_gradients_are_differences(heads: int, slots: int, width: int) -> None:
    tensors = given(2, heads, slots, width)
    assert torch.autograd.gradcheck(NTMStep.apply, tensors, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("place", range(4))
def test_what_is_no_number_is_found_in_its_row(place: int) -> None:
    tensors = given(3, 1, 4, 2)
    with torch.no_grad():
        tensors[place][1].view(-1)[0] = torch.nan
    done = echo(1, 4, 2, torch.float64).step(tensors[0], NTMState(*tensors[1:]))
    assert done.reads[1].isnan().any() and not done.reads[[0, 2]].isnan().any()


def test_gradients_that_lie_in_another_order_are_taken_as_they_are() -> None:
    """The incoming gradient may be transposed, or one number expanded."""
    tensors = given(6, 1, 5, 5)
    store = echo(1, 5, 5, torch.float64)

    def learned() -> tuple[Tensor, ...]:
        done = store.step(tensors[0], NTMState(*tensors[1:]))
        turned = done.state.slots.mT * torch.arange(25.0, dtype=torch.float64).view(5, 5)
        total = (
            turned.sum()
            + done.state.write.sum()
            + done.reads.sum()
            + done.state.read.transpose(0, 2).square().sum()
        )
        return torch.autograd.grad(total, tensors)

    found = learned()
    with plainly():
        torch.testing.assert_close(found, learned())
