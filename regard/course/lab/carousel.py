"""The constant error carousel: with f = 1, i = 0 and o = 0 the gradient of the memory passes unchanged.

    c_t = f_t ⊙ c_{t−1} + i_t ⊙ g_t,   h_t = o_t ⊙ tanh(c_t)
    c̄_{t−1} = f_t ⊙ c̄_t          where o_{t−1} = 0 (c_{t−1} is not output) and the gates do not read c

The gates are those of regard's own LSTM cell, held constant by their biases. In floating point σ(40) is
exactly 1 and σ(−800) exactly 0, so the gradient passes exactly, not approximately.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field

from regard.course.lab.lab import Lab, LabResult, written
from regard.inspect.plot import Curve, draw_plot
from regard.nn.cells import Cell, make_cell
from regard.parts import Seed, Share, register
from regard.trace import Array

OPEN, SHUT = 40.0, -800.0
"""Biases for which a gate is exactly 1 and exactly 0 in double precision."""


@register("lab", "carousel")
class CarouselLab(Lab):
    """The gradient of an LSTM's memory over time, with its gates held constant."""

    class Options(Lab.Options):
        """The gradient of an LSTM's memory over time, with its gates held constant."""

        steps: Annotated[int, Field(ge=1, le=1000)] = 100
        """Steps the gradient travels back."""
        forget: Annotated[tuple[Share, ...], Field(min_length=1, max_length=6)] = (1.0, 0.99, 0.9, 0.5)
        """Values of the forget gate f, one curve each."""
        seed: Seed = 0
        """Seed of the other weights and the inputs, which have no effect."""

    summary = "with f = 1, i = 0, o = 0 an LSTM passes the gradient of its memory on unchanged, exactly"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        back = np.arange(options.steps + 1)
        found = {f: memory_gradient(f, options.steps, options.seed) for f in options.forget}
        curves = {f"f = {f:g}": Curve(back, gradient) for f, gradient in found.items()}
        rows = [
            (f"f = {f:g}", gradient[-1], f**options.steps, float(np.abs(gradient - f**back).max()))
            for f, gradient in found.items()
        ]
        exact = all(bool((gradient == 1.0).all()) for f, gradient in found.items() if f == 1.0)
        opened = 1.0 in found
        lead = (
            f"The line of f = 1 stays at {'exactly ' if exact else ''}1 over all {options.steps} steps; "
            if opened
            else ""
        )
        return LabResult(
            title="The constant error carousel",
            see=f"{lead}any other forget gate multiplies the gradient by f at each step, so that it decays as f^t.",
            blocks=[
                draw_plot(curves, x_name="steps back", y_name="∂c_T/∂c_(T−t)", log_y=True, y_range=(1e-6, 10))
            ],
            table=(("", f"gradient after {options.steps} steps", "f^t", "largest difference"), rows),
            numbers={
                "steps": back,
                "gradient": {f"{f:g}": gradient for f, gradient in found.items()},
                "exact": exact,
            },
            worked=_worked(options.seed),
        )


def _worked(seed: int) -> list[str]:
    """What comes back to a memory that the loss also sees through h, for gates that are open and shut."""
    gates = ((1.0, 0.0, 0.0), (0.9, 0.0, 0.0), (1.0, 0.0, 1.0), (1.0, 1.0, 1.0), (1.0, 1.0, 0.0))
    return [
        "c̄_t by autograd for a loss c_{t+1} + h_t, so that c̄_{t+1} = 1; f and i of step t + 1, o of step t:",
        *(f"  f = {f:g}, i = {i:g}, o = {o:g}: c̄_t = {written(passed(f, i, o, seed))}" for f, i, o in gates),
        "i = 0 keeps the memory itself; its gradient needs f = 1 and o = 0",
    ]


def passed(forget: float, read: float, output: float, seed: int = 0) -> float:
    """c̄_t of a loss c_{t+1} + h_t, h_t = o tanh(c_t), in regard's LSTM; its candidate reads h_t."""
    cell = _held(forget, read, 0.0, seed)
    memory = torch.tensor([[0.7]], dtype=torch.float64, requires_grad=True)
    state = output * torch.tanh(memory)
    following = cell(torch.ones(1, 2, dtype=torch.float64), torch.cat([state, memory], 1))[:, 1:]
    (following + state).sum().backward()
    return float(memory.grad) if memory.grad is not None else math.nan


def memory_gradient(forget: float, steps: int, seed: int = 0) -> Array:
    """∂c_T/∂c_{T−t} for t = 0 … steps of one unit of regard's LSTM, by autograd; i = o = 0."""
    cell = _held(forget, 0.0, 0.0, seed)
    inputs = torch.randn(steps, 1, 2, dtype=torch.float64)
    state = torch.tensor([[0.0, 0.7]], dtype=torch.float64)
    memories: list[torch.Tensor] = []
    for one in (None, *inputs):
        state = state if one is None else cell(one, torch.cat([state[:, :1], memories[-1]], 1))
        memories.append(state[:, 1:].detach().requires_grad_() if one is None else state[:, 1:])
        memories[-1].retain_grad()
    memories[-1].sum().backward()
    return np.array([float(one.grad) for one in reversed(memories) if one.grad is not None])


def _held(forget: float, read: float, output: float, seed: int) -> Cell:
    """regard's LSTM of one unit with its gates held constant; only the candidate reads x and h."""
    torch.manual_seed(seed)
    cell = make_cell("lstm", 2, 1).double()
    with torch.no_grad():
        cell.weight_ih.zero_()
        cell.weight_hh[[0, 1, 3]] = 0.0
        cell.bias_ih.zero_()
        cell.bias_hh.zero_()
        cell.weight_ih[2] = torch.randn(2, dtype=torch.float64)
        for row, gate in ((0, read), (1, forget), (3, output)):
            cell.bias_ih[row] = _bias(gate)
    return cell


def _bias(gate: float) -> float:
    """The bias b with σ(b) = gate; 0 and 1 exactly."""
    if gate in (0.0, 1.0):
        return OPEN if gate == 1.0 else SHUT
    return math.log(gate / (1 - gate))
