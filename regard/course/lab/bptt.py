"""Backpropagation through time: every quantity of the forward and of the backward pass, by hand and by autograd.

The equations and the passes are in `by_hand.py`. The figure fills as the algorithm does: forward from left to right,
then backward from right to left; a page (-o bptt.html) has a slider for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import Field

from regard.course.lab.by_hand import (
    BY_HAND,
    SLOPE,
    Pass,
    network_loss,
    random_parameters,
    scalar,
    scalar_loss,
)
from regard.course.lab.lab import Lab, LabResult, written
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.grid import draw_matrix
from regard.inspect.layout import Block, below, color_scale, frame
from regard.inspect.section import Card
from regard.inspect.table import draw_table
from regard.parts import Seed, register
from regard.trace import Array

Number = Annotated[float, Field(ge=-100, le=100)]
EQUATIONS = {
    "rnn": (
        "∇o_t = ŷ_t − 1_{y_t}",
        "∇h_t = Vᵀ ∇o_t + Wᵀ diag(1 − h²_{t+1}) ∇h_{t+1}",
        "∇W = Σ diag(1 − h²_t) ∇h_t h_{t−1}ᵀ,  ∇U = Σ diag(1 − h²_t) ∇h_t x_tᵀ,  ∇b = Σ diag(1 − h²_t) ∇h_t",
        "∇V = Σ ∇o_t h_tᵀ,  ∇c = Σ ∇o_t",
    ),
    "lstm": (
        "∇h_t = Vᵀ ∇o_t + Σ_gates Wᵀ ∇a_{t+1}",
        "∇m_t = ∇h_t ⊙ o_t ⊙ (1 − tanh² m_t) + f_{t+1} ⊙ ∇m_{t+1}",
        "∇i = ∇m ⊙ g,  ∇f = ∇m ⊙ m_{t−1},  ∇g = ∇m ⊙ i,  ∇o = ∇h ⊙ tanh m   (times σ' or tanh')",
    ),
    "gru": (
        "∇n = ∇h ⊙ z,  ∇z = ∇h ⊙ (n − h_{t−1}),  ∇r = W_nᵀ∇n ⊙ h_{t−1}   (times tanh' or σ')",
        "∇h_{t−1} = ∇h ⊙ (1 − z) + W_nᵀ∇n ⊙ r + W_zᵀ∇z + W_rᵀ∇r + Vᵀ ∇o_{t−1}",
    ),
}


@register("lab", "bptt")
class BpttLab(Lab):
    """Gradients through time, by hand and by autograd."""

    class Options(Lab.Options):
        """Gradients through time, by hand and by autograd."""

        network: Literal["scalar", "rnn", "lstm", "gru"] = "scalar"
        """The lecture's network with three scalar weights u, v, w, or one of vectors."""
        inputs: Annotated[tuple[Number, ...], Field(min_length=1, max_length=8)] = (1.0, 0.5, -1.0, 2.0)
        """x of each step of the scalar network; for the others only the number of steps counts."""
        targets: Annotated[tuple[Number, ...], Field(max_length=8)] = ()
        """Targets of the scalar network, one for each step; default: 0.5 at every step."""
        u: Number = 0.8
        """Weight of the input."""
        v: Number = 1.2
        """Weight of the output."""
        w: Number = 0.9
        """Recurrent weight."""
        activation: Literal["tanh", "sigmoid", "identity"] = "tanh"
        """φ of the scalar network."""
        size: Annotated[int, Field(ge=1, le=64)] = 5
        """Units of the vector networks."""
        seed: Seed = 0
        """Seed of the weights, inputs and classes of the vector networks."""

    summary = "backpropagation through time, filled in step by step: gradients by hand beside autograd"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        targets = np.array(options.targets or [0.5] * len(options.inputs))
        if len(targets) != len(options.inputs):
            from regard.errors import RegardError

            raise RegardError(
                f"targets has {len(targets)} numbers, inputs has {len(options.inputs)}.",
                where="--set targets",
                fix="Give one target for each input, or none.",
            )
        checks = {"scalar": _scalar(options, targets)}
        checks |= {name: _vectors(name, options) for name in BY_HAND}
        found, automatic = checks[options.network]
        rows: list[tuple[object, ...]] = [
            (
                f"∂L/∂{name}" if options.network == "scalar" else f"‖∇{name}‖",
                _size(found.gradients[name]),
                _size(automatic[name]),
                _difference(found.gradients[name], automatic[name]),
            )
            for name in found.gradients
        ]
        largest = {
            name: max(_difference(one.gradients[key], auto[key]) for key in auto)
            for name, (one, auto) in checks.items()
        }
        rows += [
            (f"all of {name}", "", "", value) for name, value in largest.items() if name != options.network
        ]
        given = {"x": np.array(options.inputs)} if options.network == "scalar" else {}
        table = (("", "by hand", "autograd", "largest difference"), rows)
        whole = _Table(given, found)
        T = len(options.inputs)
        return LabResult(
            title="Backpropagation through time",
            see="Forward, the table fills from left to right; backward, each h̄ needs z̄ of the step after it, "
            "so it fills "
            "from right to left. By hand and by autograd the gradients differ by at most "
            f"{written(max(largest.values()))}."
            if options.network == "scalar"
            else "Backward, each column needs the one to its right; the numbers are norms of vectors. By "
            f"hand and by autograd the gradients differ by at most {written(max(largest.values()))}.",
            blocks=[
                whole.block(2 * T),
                draw_table(table[0], [[written(cell) for cell in row] for row in rows]),
            ],
            table=table,
            numbers={
                "loss": found.loss,
                "forward": dict(found.forward),
                "backward": dict(found.backward),
                "gradients": dict(found.gradients),
                "autograd": automatic,
                "largest_difference": largest,
                **found.given,
            },
            worked=_worked(options, found)
            if options.network == "scalar"
            else (*EQUATIONS[options.network], *_outputs(found), *_states(options, found)),
            steps=[whole.card(step) for step in range(1, 2 * T + 1)],
        )


def _scalar(options: Any, targets: Array) -> tuple[Pass, dict[str, Array]]:
    parameters = {name: np.array(float(getattr(options, name))) for name in "uvw"}
    inputs = np.array(options.inputs)
    found = scalar(parameters, inputs, targets, options.activation)
    leaves = {
        name: torch.tensor(float(value), dtype=torch.float64, requires_grad=True)
        for name, value in parameters.items()
    }
    scalar_loss(leaves, torch.from_numpy(inputs), torch.from_numpy(targets), options.activation).backward()
    return found, _gradients(leaves)


def _vectors(name: str, options: Any) -> tuple[Pass, dict[str, Array]]:
    T, inputs, classes = len(options.inputs), 3, 4
    generator = np.random.default_rng(options.seed)
    x, y = generator.standard_normal((T, inputs)), generator.integers(0, classes, T)
    parameters = random_parameters(name, inputs, options.size, classes, options.seed + 1)
    found = replace(
        BY_HAND[name](parameters, x, y), given={"inputs": x, "classes": y, "parameters": parameters}
    )
    leaves = {key: torch.tensor(value, requires_grad=True) for key, value in parameters.items()}
    network_loss(name, leaves, torch.from_numpy(x), torch.from_numpy(y)).backward()
    return found, _gradients(leaves)


def _gradients(leaves: Mapping[str, torch.Tensor]) -> dict[str, Array]:
    return {name: leaf.grad.numpy() for name, leaf in leaves.items() if leaf.grad is not None}


def _size(value: Array) -> float:
    """The value of a number, or the norm of an array."""
    return float(value) if value.ndim == 0 else float(np.linalg.norm(value))


def _difference(first: Array, second: Array) -> float:
    return float(np.abs(first - second).max())


class _Table:
    """The quantities as rows, the steps as columns; the forward ones fill first."""

    def __init__(self, given: Mapping[str, Array], found: Pass) -> None:
        self.given = dict(given)
        self.forward = {name: _norms(values) for name, values in found.forward.items()}
        self.backward = {f"{name}̄": _norms(values) for name, values in found.backward.items()}
        self.vectors = next(iter(found.forward.values())).ndim > 1
        self.steps = len(next(iter(self.forward.values())))

    def block(self, step: int) -> Block:
        """The table after `step` steps, the first half of which are forward."""
        T = self.steps
        names, lines = [], []
        for group, filled in (
            (self.given, [True] * T),
            (self.forward, [t < step for t in range(T)]),
            (self.backward, [t >= 2 * T - step for t in range(T)]),
        ):
            for name, values in group.items():
                names.append(f"‖{name}‖" if self.vectors else name)
                lines.append(np.where(filled, values, np.nan))
        values = np.array(lines)
        everything = np.abs(
            np.concatenate([*self.given.values(), *self.forward.values(), *self.backward.values()])
        )
        limit = float(everything.max()) or 1.0
        matrix = draw_matrix(
            Matrix(
                tuple(names),
                tuple(f"t={t + 1}" for t in range(T)),
                values,
                shades=np.nan_to_num(np.abs(values) / limit),
                numbers=True,
                digits="{:.2f}",
            )
        )
        name = "norm" if self.vectors else "magnitude (the sign is in the number)"
        return below([matrix, color_scale(name=name, limit=round(limit, 2))], gap=12)

    def card(self, step: int) -> Card:
        T = self.steps
        told = f"forward, t = {step}" if step <= T else f"backward, t = {2 * T - step + 1}"
        return Card(frame(self.block(step), description=f"The table of the pass: {told}."), heading=told)


def _norms(values: Array) -> Array:
    return values if values.ndim == 1 else np.linalg.norm(values, axis=1)


def _worked(options: Any, found: Pass) -> list[str]:
    """The equations of the backward pass with their numbers, from the last step to the first."""
    y, r, h, z = (found.backward[name] for name in "yrhz")
    values, targets, last = found.forward["y"], found.forward["y"] - y, len(y)
    slopes = [SLOPE[options.activation](found.forward[name][-1]) for name in "yh"]
    lines = [
        line.replace("-", "−")
        for line in (
            "L̄ = 1",
            f"ȳ_{last} = L̄ ∂L/∂y_{last} = y_{last} − target = "
            f"{values[-1]:.3f} − {targets[-1]:g} = {y[-1]:.3f}",
            f"r̄_{last} = ȳ_{last} φ′(r_{last}) = {y[-1]:.3f} · {slopes[0]:.3f} = {r[-1]:.3f}",
        )
    ]
    for t in reversed(range(len(r))):
        following = f" + z̄_{t + 2} w" if t + 1 < len(r) else ""
        numbers = f"{r[t]:.3f} · {options.v:g}" + (f" + {z[t + 1]:.3f} · {options.w:g}" if following else "")
        lines.append(f"h̄_{t + 1} = r̄_{t + 1} v{following} = {numbers} = {h[t]:.3f}".replace("-", "−"))
        if t + 1 == last:
            told = f"z̄_{last} = h̄_{last} φ′(z_{last}) = {h[t]:.3f} · {slopes[1]:.3f} = {z[t]:.3f}"
            lines.append(told.replace("-", "−"))
    x, state = np.array(options.inputs), found.forward["h"]
    copies = {
        "ū = Σ z̄_t x_t": (z * x, "u"),
        "v̄ = Σ r̄_t h_t": (r * state, "v"),
        "w̄ = Σ z̄_{t+1} h_t": (z[1:] * state[:-1], "w"),
    }
    for formula, (terms, name) in copies.items():
        summed = [" + ".join(f"{term:.3f}" for term in terms), "="] if len(terms) > 1 else []
        lines.append(
            " ".join([f"{formula} =", *summed, f"{float(found.gradients[name]):.6f}"]).replace("-", "−")
        )
    return [*lines, "each weight is shared by all steps: a sum has one term for each copy of it"]


def _outputs(found: Pass) -> list[str]:
    """ŷ_t − 1 of each step, and ∇V = Σ (ŷ_t − 1) h_tᵀ row by row, with their numbers."""
    lines = []
    for t, (o_bar, label) in enumerate(
        zip(found.backward["o"], found.given["classes"], strict=True), start=1
    ):
        one = np.eye(len(o_bar))[label]
        lines.append(f"∇o_{t} = ŷ_{t} − 1 = {_numbers(o_bar + one)} − {_numbers(one, 0)} = {_numbers(o_bar)}")
    by_hand = found.backward["o"].T @ found.forward["h"]
    return [*lines, *(f"∇V, class {row}: {_numbers(values)}" for row, values in enumerate(by_hand))]


def _states(options: Any, found: Pass) -> list[str]:
    """∇h_t of a plain network from the last step to the first, with x_t and h_t, and ∇W, ∇U and ∇b unit by unit."""
    if options.network != "rnn":
        return []
    h, h_bar, x = found.forward["h"], found.backward["h"], found.given["inputs"]
    last = len(h)
    lines = [f"x_{t} = {_numbers(x[t - 1])},  h_{t} = {_numbers(h[t - 1])}" for t in range(1, last + 1)]
    for t in range(last, 0, -1):
        later = f" + Wᵀ diag(1 − h²_{t + 1}) ∇h_{t + 1}" if t < last else ""
        lines.append(f"∇h_{t} = Vᵀ ∇o_{t}{later} = {_numbers(h_bar[t - 1])}")
    for letter in "WU":
        gradient = found.gradients[f"{letter}_h"]
        lines += [f"∇{letter}, unit {unit}: {_numbers(gradient[unit])}" for unit in range(len(gradient))]
    return [*lines, f"∇b = {_numbers(found.gradients['b_h'])}", f"∇c = {_numbers(found.gradients['c'])}"]


def _numbers(values: Array, digits: int = 3) -> str:
    return f"({', '.join(f'{value:.{digits}f}' for value in values)})".replace("-", "−")
