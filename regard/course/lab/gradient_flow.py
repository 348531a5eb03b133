"""How far gradients flow: ‖∂loss_t/∂h_s‖ for every pair of steps, in an RNN, a GRU and an LSTM.

    loss_t = ½ ‖h_t − y_t‖²        ∂loss_t/∂s_s = J_sᵀ ⋯ J_{t−1}ᵀ ∂loss_t/∂s_t        J_s = ∂s_{s+1}/∂s_s

s is the whole state of a cell: h, or [h; c] for the LSTM. The forward pass goes through squashing functions
and stays bounded; the backward pass is a product of matrices and does not.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from regard.course.lab.lab import Lab, LabResult, written
from regard.inspect.image_plot import draw_raster, draw_scale
from regard.inspect.layout import Block, below, beside
from regard.inspect.plot import Curve, draw_plot
from regard.inspect.table import caption
from regard.nn.cells import Cell, make_cell
from regard.parts import Positive, Seed, register
from regard.trace import Array

CELLS = ("rnn", "gru", "lstm")
DECADES = 6
"""Powers of ten below the largest gradient that the shades distinguish."""
OTHERS = 20
"""First weights with which the plain network is tried again."""
VANISHED = 0.01
"""A gradient has vanished below this share of its first norm, and exploded above the inverse."""


@register("lab", "gradient-flow")
class GradientFlowLab(Lab):
    """‖∂loss_t/∂h_s‖ of three cells with random weights."""

    class Options(Lab.Options):
        """‖∂loss_t/∂h_s‖ of three cells with random weights."""

        steps: Annotated[int, Field(ge=2, le=120)] = 40
        """Steps of the sequence."""
        size: Annotated[int, Field(ge=1, le=128)] = 24
        """Units of each cell."""
        gain: Positive = 1.0
        """Standard deviation of the recurrent weights, in units of 1/√size; large values explode."""
        forget_bias: Annotated[float, Field(ge=-20, le=20)] = 2.0
        """Bias that holds the LSTM's forget gate and the GRU's update gate open."""
        seed: Seed = 0
        """Seed of weights, inputs and targets."""

    summary = "‖∂loss_t/∂h_s‖ for every t and s: an RNN forgets, gates remember; forward norms stay bounded"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        flows = {name: flow(name, **_sizes(options)) for name in CELLS}
        products = {name: product(name, **_sizes(options)) for name in CELLS}
        ratios = others(**_sizes(options))
        last = options.steps
        at = np.arange(1, last + 1)
        top = max(float(np.nanmax(gradients)) for gradients, _ in flows.values())
        panels = [_panel(name.upper(), gradients, top) for name, (gradients, _) in flows.items()]
        backward = {name.upper(): Curve(at, gradients[-1]) for name, (gradients, _) in flows.items()}
        forward = {name.upper(): Curve(at, states) for name, (_, states) in flows.items()}
        ends = ("≤ 10⁻⁶", "1")
        legend = below(
            [
                caption(
                    "The shade of row t, column s is ‖∂loss_t/∂h_s‖, as a share of the largest of all three.",
                    130,
                    size=11.5,
                ),
                draw_scale(f"of {top:.2g}", ends, 126),
            ],
            gap=10,
        )
        rows = [
            (
                name.upper(),
                states[0],
                states[-1],
                gradients[-1, -1],
                gradients[-1, 0],
                gradients[-1, 0] / gradients[-1, -1],
            )
            for name, (gradients, states) in flows.items()
        ]
        kept = {row[0]: float(row[-1]) for row in rows}
        blocks: list[Block] = [
            below([beside(panels[:2], gap=6), beside([panels[2], legend], gap=22)], gap=14),
            draw_plot(backward, title="Backward: ‖∂loss_T/∂h_s‖", x_name="s", log_y=True, height=110),
            draw_plot(forward, title="Forward: ‖h_s‖", x_name="s", height=80, y_range=(0, _top(flows))),
        ]
        return LabResult(
            title="How far gradients flow",
            see=f"Over {last - 1} steps the gradient is multiplied by {written(kept['RNN'])} in the RNN, "
            f"{written(kept['GRU'])} in the GRU and {written(kept['LSTM'])} in the LSTM, while the forward "
            "norms of all "
            "three stay in the same range.",
            blocks=blocks,
            table=(("", "‖h_1‖", "‖h_T‖", "‖∂loss_T/∂h_T‖", "‖∂loss_T/∂h_1‖", "ratio"), rows),
            numbers={
                name: {"gradients": gradients, "forward": states}
                for name, (gradients, states) in flows.items()
            }
            | {
                "products": products,
                "vanished": int((ratios < VANISHED).sum()),
                "exploded": int((ratios > 1 / VANISHED).sum()),
            },
            worked=_worked(options, products, flows["rnn"][0][-1], ratios),
        )


def _worked(options: Any, products: dict[str, dict[str, float]], backward: Array, ratios: Array) -> list[str]:
    T = options.steps
    back = [one for one in (10, 20, 30) if one < T]
    shares = ", ".join(written(float(backward[-1 - one] / backward[-1])) for one in back)
    vanished, exploded = int((ratios < VANISHED).sum()), int((ratios > 1 / VANISHED).sum())
    factors = " ⋯ ".join(f"∂s_{t + 1}/∂s_{t}" for t in sorted({T - 1, 1}, reverse=True))
    return [
        f"∂s_{T}/∂s_1 = {factors}, a product of {T - 1} Jacobians   — s: the state, for the LSTM h and c",
        *(
            f"{name.upper()}: norm of the product {written(one['product'])}, of the Jacobian of all steps at once "
            f"{written(one['whole'])}, largest difference {written(one['difference'])}"
            for name, one in products.items()
        ),
        *(
            [f"RNN: {', '.join(map(str, back))} steps back, the gradient is multiplied by {shares}"]
            if back
            else []
        ),
        f"RNN, {OTHERS} first weights: the gradient of {vanished} falls below a hundredth, "
        f"that of {exploded} grows beyond a hundred times",
    ]


def _sizes(options: Any) -> dict[str, Any]:
    return {
        "steps": options.steps,
        "size": options.size,
        "gain": options.gain,
        "bias": options.forget_bias,
        "seed": options.seed,
    }


def flow(name: str, *, steps: int, size: int, gain: float, bias: float, seed: int) -> tuple[Array, Array]:
    """(T, T) norms of ∂loss_t/∂s_s at [t, s], NaN above the diagonal, and (T,) norms of h_t."""
    cell = random_cell(name, size, gain, bias, seed)
    generator = torch.Generator().manual_seed(seed + 1)
    inputs = torch.randn(steps, size, generator=generator, dtype=torch.float64)
    targets = torch.randn(steps, size, generator=generator, dtype=torch.float64) / size**0.5
    state = torch.zeros(cell.state_size, dtype=torch.float64)
    states, jacobians = [], []
    for one in inputs:
        jacobians.append(_jacobian(cell, one, state))  # ∂s_t/∂s_{t−1}
        with torch.no_grad():
            state = cell(one, state)
        states.append(state)
    found = np.full((steps, steps), np.nan)
    gradients = torch.zeros(steps, cell.state_size, dtype=torch.float64)  # row t: ∂loss_t/∂s_s
    gradients[:, :size] = torch.stack([cell.output(one) for one in states]) - targets
    for s in range(steps - 1, -1, -1):
        found[s:, s] = gradients[s:].norm(dim=1)
        gradients[s:] = gradients[s:] @ jacobians[s]
    return found, np.array([float(cell.output(one).norm()) for one in states])


def others(*, steps: int, size: int, gain: float, bias: float, seed: int) -> Array:
    """‖∂loss_T/∂h_1‖ over ‖∂loss_T/∂h_T‖ in plain networks with other weights, inputs and targets."""
    found = []
    for other in range(seed, seed + OTHERS):
        gradients, _ = flow("rnn", steps=steps, size=size, gain=gain, bias=bias, seed=other)
        found.append(gradients[-1, 0] / gradients[-1, -1])
    return np.array(found)


def product(name: str, *, steps: int, size: int, gain: float, bias: float, seed: int) -> dict[str, float]:
    """The norms of ∂s_T/∂s_1 as the product of the Jacobians of the steps and as autograd's of all steps at once, and
    their largest difference."""
    cell = random_cell(name, size, gain, bias, seed)
    generator = torch.Generator().manual_seed(seed + 1)
    inputs = torch.randn(steps, size, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        first = state = cell(inputs[0], torch.zeros(cell.state_size, dtype=torch.float64))
    found = torch.eye(cell.state_size, dtype=torch.float64)
    states = first.repeat(cell.state_size, 1).requires_grad_()
    last = states
    for one in inputs[1:]:
        found = _jacobian(cell, one, state) @ found
        with torch.no_grad():
            state = cell(one, state)
        last = cell(one.expand(cell.state_size, -1), last)
    (whole,) = torch.autograd.grad(last.diagonal().sum(), states)
    return {
        "product": float(found.norm()),
        "whole": float(whole.norm()),
        "difference": float((found - whole).abs().max()),
    }


def random_cell(name: str, size: int, gain: float, bias: float, seed: int) -> Cell:
    """A cell with normally distributed weights; in gated cells, the gates that keep the state have a bias."""
    generator = torch.Generator().manual_seed(seed)
    cell = make_cell(name, size, size).double()
    with torch.no_grad():
        for weight, scale in ((cell.weight_ih, 1.0), (cell.weight_hh, gain)):
            weight.copy_(
                scale * torch.randn(weight.shape, generator=generator, dtype=torch.float64) / size**0.5
            )
        cell.bias_ih.zero_()
        cell.bias_hh.zero_()
        if name != "rnn":  # the second block of rows keeps the old state: f of the LSTM, z of the GRU
            cell.bias_ih[size : 2 * size] = bias
    return cell


def _jacobian(cell: Cell, inputs: Tensor, state: Tensor) -> Tensor:
    """∂s_i/∂(s before)_k at [i, k]: a batch of copies of the state, in which row i gives the gradient of s_i.

    torch's own jacobian would first import a computer algebra system, which takes two thirds of a second."""
    size = len(state)
    states = state.repeat(size, 1).requires_grad_()
    (found,) = torch.autograd.grad(cell(inputs.expand(size, -1), states).diagonal().sum(), states)
    return found


def _panel(name: str, gradients: Array, top: float) -> Block:
    """A heatmap with rows t and columns s, dark where no gradient arrives."""
    shares = 1 + np.log10(np.maximum(gradients / top, 10.0**-DECADES)) / DECADES
    steps = len(gradients)
    return draw_raster(
        np.where(np.isnan(shares), 0.0, shares),
        title=name,
        name="",
        ends=("", ""),
        x_name="s",
        y_name="t",
        x_range=(1, steps),
        y_range=(steps, 1),
        size=126,
        scale=False,
        terminal=False,
    )


def _top(flows: dict[str, tuple[Array, Array]]) -> float:
    return float(np.ceil(max(float(states.max()) for _, states in flows.values())))
