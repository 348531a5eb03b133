"""Lie-access memory (Yang and Rush 2017): keys are points in the plane, and heads move by group actions.

Every step appends one slot: a key, a value, and a strength. A head is at a point. At each step it stays or
jumps to a point that the controller names. Then an element of a Lie group moves it. The element has an
inverse, so the same steps lead back.

    x̄ = g x̃ + (1 − g) x                        jump, or stay
    x = x̄ + a                                  move: shift, the group R²
    x = |x̄| (cos(φ + a), sin(φ + a))           move: rotate, the group SO(2); φ the angle of x̄

The controller outputs the motion a. With a `reach` R it is bounded, η R tanh(a), with a gate η: a head stays,
or goes a whole step. If gate and step are saturated, all steps are equal, whatever was read or written, so
that a head that follows another does not drift away from it.

A head at x reads a mixture of all values written so far, weighted by the distance of their keys:

    w_ι ∝ s_ι / (|x − x_ι|² + ε)               weights: inverse-square
    w_ι ∝ s_ι exp(−|x − x_ι|² / θ)             weights: softmax, with a temperature θ from the controller

Nothing is overwritten: there are as many slots as steps.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from regard.nn.letters import Letters
from regard.nn.products import weighted_sums
from regard.nn.stores.store import Store, StoreStep, interface_letters, number, vector
from regard.parts import Positive, register

EPSILON = 1e-4
"""Added to the squared distance: a value at distance 0 has weight 1 / ε."""
FLOOR = 1e-3
"""The lowest temperature."""

Move = Literal["shift", "rotate"]
Weights = Literal["inverse-square", "softmax"]


class LieState(NamedTuple):
    """keys (B, N, 2), values (B, N, W), strengths (B, N) of the N slots written so far; the points of the
    heads: write (B, 1, 2), read (B, K, 2)."""

    keys: Tensor
    values: Tensor
    strengths: Tensor
    write: Tensor
    read: Tensor


@register("store", "lie")
class LieStore(Store):
    """Lie-access memory (Yang and Rush 2017): every step writes a slot at a point of the plane, and heads move by
    group actions. The heads start at learned points."""

    class Options(Store.Options):
        """Lie-access memory: keys in the plane, and heads that move by shifts or rotations."""

        move: Move = "shift"
        """How heads move. shift: in any direction; rotate: around the origin."""
        weights: Weights = "inverse-square"
        """Weight of a value whose key is at distance d from the head. inverse-square: 1 / d²;
        softmax: exp(−d² / θ)."""
        reach: Positive | None = None
        """Largest move of a head in one step, along each axis (rotate: the largest angle);
        default: unlimited."""

    begin = {"ga": -6.0, "gr": -6.0}
    """Initially heads do not jump, but only move; jumps are learned if needed. A gate that is slightly open
    would pull a head back at every step, the more the farther it has gone."""

    def __init__(
        self,
        size: int,
        *,
        width: int = 20,
        heads: int = 1,
        move: Move = "shift",
        weights: Weights = "inverse-square",
        reach: float | None = None,
    ) -> None:
        motion = 2 if move == "shift" else 1
        pieces = {"ga": 1, "xa": 2, "da": motion, "va": width, "ςa": 1}
        pieces |= {"gr": heads, "xr": 2 * heads, "dr": motion * heads}
        pieces |= {"θr": heads} if weights == "softmax" else {}
        pieces |= {"ηa": 1, "ηr": heads} if reach is not None else {}
        super().__init__(size, width, heads, pieces)
        self.move, self.weights, self.reach = move, weights, reach
        self.first_points = nn.Parameter(torch.tensor([[1.0, 0.0]]).repeat(1 + heads, 1))

    @classmethod
    def equations(cls, options: Any, j: str, state: str, length: str) -> list[str]:
        apart = f"(x_{j}kr − x_ιa)·(x_{j}kr − x_ιa)"
        near, lines = f"ς_ι / ({apart} + ε)", [f"ε = {EPSILON:g}"]
        if options.weights == "softmax":
            near = f"ς_ι exp(−{apart} / θ_{j}k)"
            lines = [f"θ_{j}k = {FLOOR:g} + log(1 + exp({number('θ', 'kr', state)}))     — temperature"]
        return [
            f"ι = 1 … {length}, k = 1 … K     — a slot of {options.width} numbers at each step; read heads: "
            f"{options.heads}",
            *_points("a", j, state, options),
            f"v_{j} = tanh({vector('v', 'a', state)})     — the value that is written, at the key x_{j}a",
            f"ς_{j} = σ({number('ς', 'a', state)})     — and its strength",
            *_points("kr", j, state, options),
            f"ρ_{j}kι = {near}",
            f"w_{j}kι = ρ_{j}kι / Σ_{{ι: ι ≤ {j}}} ρ_{j}kι",
            f"r_{j}k = Σ_{{ι: ι ≤ {j}}} w_{j}kι v_ι",
            *lines,
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        pieces = ["ga", "xa", "da", "va", "ςa", "ηa", "gkr", "xkr", "dkr", "θkr", "ηkr"]
        return {
            **super().letters(options),
            **interface_letters(*pieces),
            "first_points": frozenset({"x_{0,a}", "x_{0,k,r}"}),
        }

    def start(self, rows: int) -> LieState:
        like = self.first_read
        points = self.first_points.expand(rows, -1, -1)
        empty = like.new_zeros(rows, 0, self.width)
        return LieState(
            like.new_zeros(rows, 0, 2), empty, like.new_zeros(rows, 0), points[:, :1], points[:, 1:]
        )

    def step(self, controller: Tensor, state: LieState) -> StoreStep:
        said = self.said(controller)
        write = self._moved(said, "a", 1, state.write)
        read = self._moved(said, "r", self.heads, state.read)
        keys = torch.cat([state.keys, write], 1)
        values = torch.cat([state.values, torch.tanh(said["va"]).unsqueeze(1)], 1)
        strength = torch.sigmoid(said["ςa"])
        strengths = torch.cat([state.strengths, strength], 1)
        distances = squared_distances(read, keys)
        if self.weights == "softmax":
            weights = nearest_by_softmax(distances, strengths, FLOOR + softplus(said["θr"]))
        else:
            weights = nearest_by_inverse_square(distances, strengths)
        reads = weighted_sums(weights, values).flatten(1)
        looks = {"write": strength.unsqueeze(1), "read": weights, "write_path": write, "read_path": read}
        return StoreStep(reads, LieState(keys, values, strengths, write, read), looks)

    def _moved(self, said: dict[str, Tensor], mark: str, heads: int, points: Tensor) -> Tensor:
        named = said["x" + mark].unflatten(-1, (heads, 2))
        jumped = torch.lerp(points, named, torch.sigmoid(said["g" + mark]).unsqueeze(-1))
        motion = said["d" + mark].unflatten(-1, (heads, -1))
        if self.reach is not None:
            motion = self.reach * torch.sigmoid(said["η" + mark]).unsqueeze(-1) * torch.tanh(motion)
        return jumped + motion if self.move == "shift" else rotated(jumped, motion.squeeze(-1))


def _points(head: str, j: str, state: str, options: Any) -> list[str]:
    """Equations of the points of the heads; `head` is the subscript, a or kr."""
    at, before, named = f"{j}{head}", f"x_{{{j}−1,{','.join(head)}}}", vector("x", head, state)
    lines = [
        f"g_{at} = σ({number('g', head, state)})",
        f"x̄_{at} = g_{at} ({named}) + (1 − g_{at}) {before}     — jump or stay",
    ]
    far = ""
    if options.reach is not None:
        lines.append(f"η_{at} = σ({number('η', head, state)})     — move or stay")
        far = f"{'' if options.reach == 1 else f'{options.reach:g} '}η_{at} tanh"
    if options.move == "shift":
        said = vector("d", head, state)
        return [*lines, f"x_{at} = x̄_{at} + {f'{far}({said})' if far else said}     — shift"]
    turned = [
        f"cos(φ_{at}) x̄_{at}[1] − sin(φ_{at}) x̄_{at}[2]",
        f"sin(φ_{at}) x̄_{at}[1] + cos(φ_{at}) x̄_{at}[2]",
    ]
    said = number("d", head, state)
    return [
        *lines,
        f"φ_{at} = {f'{far}({said})' if far else said}",
        f"x_{at} = [{'; '.join(turned)}]     — rotation",
    ]


def rotated(points: Tensor, angles: Tensor) -> Tensor:
    """Points (B, K, 2), rotated around the origin by angles (B, K)."""
    cosine, sine = angles.cos(), angles.sin()
    x, y = points.unbind(-1)
    return torch.stack([cosine * x - sine * y, sine * x + cosine * y], -1)


def squared_distances(points: Tensor, keys: Tensor) -> Tensor:
    """(B, K, N): |x − x_ι|² of points (B, K, 2) and keys (B, N, 2)."""
    return (points.unsqueeze(2) - keys.unsqueeze(1)).square().sum(-1)


def nearest_by_inverse_square(distances: Tensor, strengths: Tensor) -> Tensor:
    """s_ι / (d_ι + ε), normalized: squared distances (B, K, N), strengths (B, N)."""
    weights = strengths.unsqueeze(1) / (distances + EPSILON)
    return weights / weights.sum(-1, keepdim=True)


def nearest_by_softmax(distances: Tensor, strengths: Tensor, temperatures: Tensor) -> Tensor:
    """s_ι exp(−d_ι / θ), normalized: squared distances (B, K, N), strengths (B, N), temperatures (B, K)."""
    energies = strengths.log().unsqueeze(1) - distances / temperatures.unsqueeze(-1)
    return energies.softmax(-1)
