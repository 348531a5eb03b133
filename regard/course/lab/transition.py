"""Depth in a recurrent network: above the step, within it, and within it with a shortcut (Pascanu 2014).

    (a)  h_t¹ = f(W¹ x_t + U¹ h_{t−1}¹),  h_t² = f(W² h_t¹ + U² h_{t−1}²)        layers above each other
    (b)  h_t = f(T_K … f(T_2 f(W f(A x_t) + U h_{t−1})))                        K layers from one state to the next
    (c)  h_t = f(T_K … f(T_2 f(W f(A x_t) + U h_{t−1})) + R h_{t−1})            and a shortcut past them

The shortest path from h_1 to h_T is counted in the graph that autograd records of regard's own cells, and the norm of
∂h_{t+1}/∂h_1 is that of their Jacobian.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from regard.course.lab.lab import Lab, LabResult, gradient_range, written
from regard.course.lab.transition_drawing import draw_kind
from regard.inspect.plot import Curve, draw_plot
from regard.nn.cells import Cell, make_cell
from regard.parts import Seed, find, register
from regard.trace import Array

STEPS = 3
"""Steps in the drawings."""
START = 0.1
"""Every unit of the state before the first step."""


@register("lab", "transition")
class TransitionLab(Lab):
    """Three recurrent networks with several layers, and the shortest path from a state to a later one in each."""

    class Options(Lab.Options):
        """Three recurrent networks with several layers, and the shortest path from a state to a later one in each."""

        layers: Annotated[int, Field(ge=2, le=6)] = 3
        """Layers from one state to the next, K."""
        steps: Annotated[int, Field(ge=2, le=60)] = 12
        """Steps the gradient travels back."""
        size: Annotated[int, Field(ge=1, le=64)] = 8
        """Units of every layer."""
        seed: Seed = 0
        """Seed of the weights."""

    summary = "layers above a step, within it, and past it: the shortest path between steps, and its gradient"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        K = options.layers
        kinds = {
            "(a)": ("two layers above each other", ("rnn", "rnn"), {}),
            "(b)": (f"{K} layers within the step", ("deep",), {"transition": K}),
            "(c)": ("the same, with a shortcut past them", ("deep",), {"transition": K, "skip": True}),
        }
        paths: dict[str, int] = {}
        norms: dict[str, Array] = {}
        for kind, (_, cells, more) in kinds.items():
            step = _network(cells, options.size, options.seed, **more)
            paths[kind] = shortest(step, len(cells) * options.size)
            norms[kind] = gradients(step, len(cells) * options.size, options.steps)
        back = np.arange(1, options.steps + 1)
        rows = [
            (f"{kind} {told}", paths[kind], float(norms[kind][-1])) for kind, (told, _, _) in kinds.items()
        ]
        return LabResult(
            title="Depth above a step, within it, and past it",
            see=f"From one state to the next the shortest path has {_layers(paths['(a)'])} in (a), "
            f"{_layers(paths['(b)'])} in (b), and {_layers(paths['(c)'])} in (c), where it takes the shortcut; "
            f"over {options.steps} steps the gradient of (b) falls to {written(rows[1][2])}, that of (c) to "
            f"{written(rows[2][2])}.",
            blocks=[
                *(
                    draw_kind(
                        kind, told, 1 if kind == "(a)" else K, paths[kind], STEPS, shortcut=kind == "(c)"
                    )
                    for kind, (told, _, _) in kinds.items()
                ),
                draw_plot(
                    {kind: Curve(back, found) for kind, found in norms.items()},
                    title="‖∂h_t/∂h_0‖",
                    x_name="steps t",
                    log_y=True,
                    y_range=gradient_range(list(norms.values())),
                    height=110,
                ),
            ],
            table=(("", "layers on the shortest path", f"gradient over {options.steps} steps"), rows),
            numbers={"paths": paths, "gradients": norms},
        )


Step = Callable[[Tensor], Tensor]
"""The recurrent states of all layers at one step, (N,), from those of the step before; the input is zero."""


def _network(cells: tuple[str, ...], size: int, seed: int, **options: Any) -> Step:
    torch.manual_seed(seed)
    if cells == ("deep",):
        deep = _cell("deep", size, size, input=1, output=1, **options)
        return lambda state: deep(torch.zeros(size, dtype=torch.float64), torch.cat([state, state]))[size:]
    stack = [_cell("rnn", size, size) for _ in cells]

    def step(state: Tensor) -> Tensor:
        below, found = torch.zeros(size, dtype=torch.float64), []
        for cell, before in zip(stack, state.split(size), strict=True):
            below = cell(below, before)
            found.append(below)
        return torch.cat(found)

    return step


def _cell(name: str, inputs: int, size: int, **options: Any) -> Cell:
    return make_cell(find("cell", name).Options(**options), inputs, size).double()


def shortest(step: Step, units: int) -> int:
    """Nonlinear layers on the shortest path from a state to the next, in the graph that autograd records."""
    state = torch.full((units,), START, dtype=torch.float64, requires_grad=True)
    begin = state * 1
    order, end = count(), step(begin).grad_fn
    open_: list[tuple[int, int, Any]] = [(0, next(order), end)]
    seen = set()
    while open_:
        layers, _, node = heapq.heappop(open_)
        if node is begin.grad_fn:
            return layers
        if node in seen:
            continue
        seen.add(node)
        for after, _ in node.next_functions:
            if after is not None:
                heapq.heappush(open_, (layers + ("Tanh" in node.name()), next(order), after))
    raise ValueError("the state does not depend on the state before")


def gradients(step: Step, units: int, steps: int) -> Array:
    """‖∂h_t/∂h_0‖ for t = 1 … steps, divided by the square root of the units, so that the identity has 1."""
    state = torch.full((units,), START, dtype=torch.float64)
    product, found = torch.eye(units, dtype=torch.float64), []
    for _ in range(steps):
        product = torch.autograd.functional.jacobian(step, state) @ product
        state = step(state).detach()
        found.append(float(product.norm()) / units**0.5)
    return np.array(found)


def _layers(number: int) -> str:
    return "1 layer" if number == 1 else f"{number} layers"
