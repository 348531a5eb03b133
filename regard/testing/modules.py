"""Checks of any torch module: gradients, NaN, independent rows, copies, saving, and training after loading."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from regard.testing.report import PartReport

Call = Callable[[Any, Sequence[Tensor]], Tensor]
"""The module and its inputs (B, …) → its output (B, …)."""


def check_module(
    report: PartReport,
    method: str,
    make: Callable[[], nn.Module],
    call: Call,
    inputs: Sequence[Tensor],
    reaching: int | None = None,
) -> None:
    """Inputs and the output have the rows of a batch first.

    make       builds the module with new weights
    reaching   the number of inputs of which the output must depend; default: all
    """
    with report.apart():
        with report.calling(method, "an output", follows=True):
            module = make().eval()
            with torch.no_grad():
                found = call(module, inputs)
        with torch.no_grad(), report.apart():
            report.same(method, call(module, inputs), found, "the same output for the same input")
            _rows(report, method, module, call, inputs, found, reaching)
        with torch.no_grad():
            _copies(report, module, call, inputs, found)
        with report.apart():
            _gradients(report, method, module, call, inputs)
        with report.apart():
            _resumed(report, make, module, call, inputs)


def _rows(
    report: PartReport,
    method: str,
    module: nn.Module,
    call: Call,
    inputs: Sequence[Tensor],
    found: Tensor,
    reaching: int | None,
) -> None:
    """A row does not depend on the others, and NaN in a row reaches its output."""
    alone = call(module, [one[1:] for one in inputs])
    report.same(method, alone, found[1:], "a row's output not to depend on the other rows")
    for place, one in enumerate(inputs[:reaching]):
        if not one.is_floating_point():
            continue
        bad = one.clone()
        bad[0] = float("nan")
        poisoned = call(module, [*inputs[:place], bad, *inputs[place + 1 :]])
        holds = bool(poisoned[0].isnan().any())
        report.is_true(method, holds, f"NaN in argument {place + 1} to reach the output", "finite numbers")


def _copies(
    report: PartReport, module: nn.Module, call: Call, inputs: Sequence[Tensor], found: Tensor
) -> None:
    with report.apart(), report.calling("copy.deepcopy", "a copy"):
        report.same(
            "copy.deepcopy", call(copy.deepcopy(module), inputs), found, "a copy with the same output"
        )
    if _importable(type(module)):
        with report.apart(), report.calling("pickle", "a copy"):
            again = pickle.loads(pickle.dumps(module))
            report.same("pickle", call(again, inputs), found, "a copy with the same output")


def _importable(made: type) -> bool:
    """Whether pickle can find the class, which it cannot for a class inside a function."""
    return getattr(sys.modules.get(made.__module__), made.__qualname__, None) is made


def _gradients(
    report: PartReport, method: str, module: nn.Module, call: Call, inputs: Sequence[Tensor]
) -> None:
    with report.calling(method, "a gradient"):
        found = call(module, inputs)
        wanted = [(name, one) for name, one in module.named_parameters() if one.requires_grad]
        if not wanted:
            return
        weights = torch.linspace(0.5, 1.5, found.numel()).view(found.shape)
        total = (found * weights).sum()
        if not total.requires_grad:
            report.add(method, "a gradient for every parameter", "an output without a gradient")
            return
        gradients = torch.autograd.grad(total, [one for _, one in wanted], allow_unused=True)
    none = [name for (name, _), one in zip(wanted, gradients, strict=True) if one is None]
    told = f"none for {', '.join(none)}"
    report.is_true(method, not none, "a gradient for every parameter", told)


def _resumed(
    report: PartReport, make: Callable[[], nn.Module], module: nn.Module, call: Call, inputs: Sequence[Tensor]
) -> None:
    """A module whose state was saved and loaded trains on like the original."""
    first = copy.deepcopy(module)
    _step(first, call, inputs)
    second = make().eval()
    with report.calling("load_state_dict", "the state of another module of the same options"):
        second.load_state_dict(first.state_dict())
    expected = "the same output after saving and loading its state"
    with torch.no_grad():
        if not report.same("state_dict", call(second, inputs), call(first, inputs), expected):
            return
    _step(first, call, inputs)
    _step(second, call, inputs)
    with torch.no_grad():
        expected = "a resumed training to give the same output"
        report.same("state_dict", call(second, inputs), call(first, inputs), expected)


def _step(module: nn.Module, call: Call, inputs: Sequence[Tensor]) -> None:
    weights = [one for one in module.parameters() if one.requires_grad]
    if weights:
        optimizer = torch.optim.SGD(weights, lr=0.01)
        optimizer.zero_grad()
        call(module, inputs).square().mean().backward()
        optimizer.step()
