"""Backpropagation through time, by hand: forward and backward passes of four networks, written out in numpy.

`scalar_loss` and `network_loss` are the same forward passes in torch, for autograd.

The scalar network (input x, hidden state h, output y, all numbers; φ is tanh, σ or the identity):

    z_t = u x_t + w h_{t−1},  h_t = φ(z_t),  r_t = v h_t,  y_t = φ(r_t),  L = Σ ½ (y_t − target_t)²

The others read vectors and predict a class at each step: o_t = c + V h_t, ŷ_t = softmax(o_t), L = −Σ log ŷ_t[class_t]

    rnn    h_t = tanh(b + W h_{t−1} + U x_t)
    lstm   i, f, o = σ(b + W h_{t−1} + U x_t) each, g = tanh(…), m_t = f ⊙ m_{t−1} + i ⊙ g, h_t = o ⊙ tanh(m_t)
    gru    r, z = σ(…), n = tanh(b + W (r ⊙ h_{t−1}) + U x_t), h_t = (1 − z) ⊙ h_{t−1} + z ⊙ n
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.trace import Array

Parameters = Mapping[str, Array]
Classes = NDArray[np.integer[Any]]
"""The class of each step, (T,)."""
GATES = {"rnn": ("h",), "lstm": ("i", "f", "o", "g"), "gru": ("r", "z", "n")}
SQUASH: dict[str, Callable[[Any], Any]] = {
    "tanh": np.tanh,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "identity": lambda a: a,
}
SLOPE: dict[str, Callable[[Any], Any]] = {
    "tanh": lambda y: 1 - y**2,
    "sigmoid": lambda y: y * (1 - y),
    "identity": np.ones_like,
}
"""φ' as a function of φ's value."""


@dataclass(frozen=True, eq=False)
class Pass:
    """The result of a forward and a backward pass.

    forward, backward   (T, …) each, by name; `backward` holds the gradients of the loss, x̄ in the lecture
    gradients           of the parameters
    given               what the pass was computed from, by name
    """

    loss: float
    forward: Mapping[str, Array]
    backward: Mapping[str, Array]
    gradients: Parameters
    given: Mapping[str, Any] = field(default_factory=dict)


def scalar(parameters: Parameters, inputs: Array, targets: Array, activation: str) -> Pass:
    """The scalar network; `inputs` and `targets` (T,)."""
    u, v, w = (float(parameters[name]) for name in "uvw")
    squash, slope = SQUASH[activation], SLOPE[activation]
    T = len(inputs)
    z, h, r, y = (np.zeros(T) for _ in range(4))
    before = 0.0
    for t in range(T):
        z[t] = u * inputs[t] + w * before
        h[t] = squash(z[t])
        r[t] = v * h[t]
        y[t] = squash(r[t])
        before = h[t]
    y_bar = y - targets
    r_bar = y_bar * slope(y)
    h_bar, z_bar = np.zeros(T), np.zeros(T)
    later = 0.0  # z̄_{t+1}
    for t in reversed(range(T)):
        h_bar[t] = r_bar[t] * v + later * w
        z_bar[t] = h_bar[t] * slope(h[t])
        later = z_bar[t]
    previous = np.concatenate([[0.0], h[:-1]])
    gradients = {
        "u": np.array((z_bar * inputs).sum()),
        "v": np.array((r_bar * h).sum()),
        "w": np.array((z_bar * previous).sum()),
    }
    return Pass(
        float(0.5 * ((y - targets) ** 2).sum()),
        {"z": z, "h": h, "r": r, "y": y},
        {"y": y_bar, "r": r_bar, "h": h_bar, "z": z_bar},
        gradients,
    )


def scalar_loss(parameters: Mapping[str, Tensor], inputs: Tensor, targets: Tensor, activation: str) -> Tensor:
    """The same forward pass in torch."""
    squash = {"tanh": torch.tanh, "sigmoid": torch.sigmoid, "identity": lambda a: a}[activation]
    h = torch.zeros((), dtype=torch.float64)
    loss = torch.zeros((), dtype=torch.float64)
    for x, target in zip(inputs, targets, strict=True):
        h = squash(parameters["u"] * x + parameters["w"] * h)
        loss = loss + 0.5 * (squash(parameters["v"] * h) - target) ** 2
    return loss


def rnn(p: Parameters, inputs: Array, classes: Classes) -> Pass:
    """∇o = ŷ − 1, ∇h_t = Vᵀ∇o_t + Wᵀ diag(1 − h²_{t+1}) ∇h_{t+1}; inputs (T, I), classes (T,)."""
    h = [np.zeros(len(p["W_h"]))]
    for x in inputs:
        h.append(np.tanh(p["b_h"] + p["W_h"] @ h[-1] + p["U_h"] @ x))
    loss, o_bar = _output(p, h, classes)
    gradients = _no_gradients(p)
    h_bars = []
    later = np.zeros_like(h[0])  # Wᵀ diag(1 − h²_{t+1}) ∇h_{t+1}
    for t in reversed(range(len(inputs))):
        h_bar = p["V"].T @ o_bar[t] + later
        a_bar = (1 - h[t + 1] ** 2) * h_bar
        _add_gate(gradients, "h", a_bar, h[t], inputs[t])
        _add_output(gradients, o_bar[t], h[t + 1])
        later = p["W_h"].T @ a_bar
        h_bars.append(h_bar)
    return Pass(loss, {"h": np.array(h[1:])}, {"o": o_bar, "h": np.array(h_bars[::-1])}, gradients)


def lstm(p: Parameters, inputs: Array, classes: Classes) -> Pass:
    """m̄_t = h̄_t ⊙ o ⊙ (1 − tanh² m_t) + f_{t+1} ⊙ m̄_{t+1}; each gate then as in the rnn."""
    size = len(p["W_i"])
    h, m, gates = [np.zeros(size)], [np.zeros(size)], []
    sigmoid = SQUASH["sigmoid"]
    for x in inputs:
        a = {name: p[f"b_{name}"] + p[f"W_{name}"] @ h[-1] + p[f"U_{name}"] @ x for name in GATES["lstm"]}
        gate = {name: np.tanh(a[name]) if name == "g" else sigmoid(a[name]) for name in a}
        m.append(gate["f"] * m[-1] + gate["i"] * gate["g"])
        h.append(gate["o"] * np.tanh(m[-1]))
        gates.append(gate)
    loss, o_bar = _output(p, h, classes)
    gradients = _no_gradients(p)
    h_bars, m_bars = [], []
    h_later, m_later = np.zeros(size), np.zeros(size)
    for t in reversed(range(len(inputs))):
        gate, squashed = gates[t], np.tanh(m[t + 1])
        h_bar = p["V"].T @ o_bar[t] + h_later
        m_bar = h_bar * gate["o"] * (1 - squashed**2) + m_later
        a_bars = {
            "i": m_bar * gate["g"] * gate["i"] * (1 - gate["i"]),
            "f": m_bar * m[t] * gate["f"] * (1 - gate["f"]),
            "o": h_bar * squashed * gate["o"] * (1 - gate["o"]),
            "g": m_bar * gate["i"] * (1 - gate["g"] ** 2),
        }
        for name, a_bar in a_bars.items():
            _add_gate(gradients, name, a_bar, h[t], inputs[t])
        _add_output(gradients, o_bar[t], h[t + 1])
        h_later = sum((p[f"W_{name}"].T @ a_bar for name, a_bar in a_bars.items()), np.zeros(size))
        m_later = m_bar * gate["f"]
        h_bars.append(h_bar)
        m_bars.append(m_bar)
    backward = {"o": o_bar, "h": np.array(h_bars[::-1]), "m": np.array(m_bars[::-1])}
    return Pass(loss, {"h": np.array(h[1:]), "m": np.array(m[1:])}, backward, gradients)


def gru(p: Parameters, inputs: Array, classes: Classes) -> Pass:
    """h̄_{t−1} has four terms: the direct path, and the paths through n, r and z."""
    size = len(p["W_n"])
    h, gates = [np.zeros(size)], []
    sigmoid = SQUASH["sigmoid"]
    for x in inputs:
        gate = {name: sigmoid(p[f"b_{name}"] + p[f"W_{name}"] @ h[-1] + p[f"U_{name}"] @ x) for name in "rz"}
        gate["n"] = np.tanh(p["b_n"] + p["W_n"] @ (gate["r"] * h[-1]) + p["U_n"] @ x)
        h.append((1 - gate["z"]) * h[-1] + gate["z"] * gate["n"])
        gates.append(gate)
    loss, o_bar = _output(p, h, classes)
    gradients = _no_gradients(p)
    h_bars = []
    later = np.zeros(size)
    for t in reversed(range(len(inputs))):
        gate = gates[t]
        h_bar = p["V"].T @ o_bar[t] + later
        n_bar = h_bar * gate["z"] * (1 - gate["n"] ** 2)
        z_bar = h_bar * (gate["n"] - h[t]) * gate["z"] * (1 - gate["z"])
        through_n = p["W_n"].T @ n_bar  # ∇(r ⊙ h)
        r_bar = through_n * h[t] * gate["r"] * (1 - gate["r"])
        _add_gate(gradients, "n", n_bar, gate["r"] * h[t], inputs[t])
        _add_gate(gradients, "z", z_bar, h[t], inputs[t])
        _add_gate(gradients, "r", r_bar, h[t], inputs[t])
        _add_output(gradients, o_bar[t], h[t + 1])
        later = h_bar * (1 - gate["z"]) + through_n * gate["r"] + p["W_z"].T @ z_bar + p["W_r"].T @ r_bar
        h_bars.append(h_bar)
    return Pass(loss, {"h": np.array(h[1:])}, {"o": o_bar, "h": np.array(h_bars[::-1])}, gradients)


BY_HAND: dict[str, Callable[[Parameters, Array, Classes], Pass]] = {"rnn": rnn, "lstm": lstm, "gru": gru}


def network_loss(name: str, p: Mapping[str, Tensor], inputs: Tensor, classes: Tensor) -> Tensor:
    """The forward pass of rnn, lstm or gru in torch, for autograd."""
    h = m = torch.zeros(len(p["V"][0]), dtype=torch.float64)
    states = []
    for x in inputs:
        a = {gate: p[f"b_{gate}"] + p[f"W_{gate}"] @ h + p[f"U_{gate}"] @ x for gate in GATES[name]}
        if name == "rnn":
            h = torch.tanh(a["h"])
        elif name == "lstm":
            m = torch.sigmoid(a["f"]) * m + torch.sigmoid(a["i"]) * torch.tanh(a["g"])
            h = torch.sigmoid(a["o"]) * torch.tanh(m)
        else:
            r, z = torch.sigmoid(a["r"]), torch.sigmoid(a["z"])
            h = (1 - z) * h + z * torch.tanh(p["b_n"] + p["W_n"] @ (r * h) + p["U_n"] @ x)
        states.append(h)
    scores = torch.stack(states) @ p["V"].T + p["c"]
    return torch.nn.functional.cross_entropy(scores, classes, reduction="sum")


def random_parameters(name: str, inputs: int, size: int, classes: int, seed: int) -> dict[str, Array]:
    """W, U and b of every gate, V and c of the output."""
    generator = np.random.default_rng(seed)
    shapes = {"V": (classes, size), "c": (classes,)}
    for gate in GATES[name]:
        shapes |= {f"W_{gate}": (size, size), f"U_{gate}": (size, inputs), f"b_{gate}": (size,)}
    return {key: generator.standard_normal(shape) / np.sqrt(shape[-1]) for key, shape in shapes.items()}


def _output(p: Parameters, h: Sequence[Array], classes: Classes) -> tuple[float, Array]:
    """The loss, and ∇o_t = ŷ_t − 1_{class_t}, (T, C)."""
    scores = np.array([p["c"] + p["V"] @ state for state in h[1:]])
    shifted = np.exp(scores - scores.max(1, keepdims=True))
    chances = shifted / shifted.sum(1, keepdims=True)
    wanted = np.eye(scores.shape[1])[classes]
    return float(-np.log((chances * wanted).sum(1)).sum()), chances - wanted


def _no_gradients(p: Parameters) -> dict[str, Array]:
    return {name: np.zeros_like(value) for name, value in p.items()}


def _add_gate(gradients: dict[str, Array], gate: str, a_bar: Array, before: Array, x: Array) -> None:
    """∇W += ā h_{t−1}ᵀ, ∇U += ā x_tᵀ, ∇b += ā."""
    gradients[f"W_{gate}"] += np.outer(a_bar, before)
    gradients[f"U_{gate}"] += np.outer(a_bar, x)
    gradients[f"b_{gate}"] += a_bar


def _add_output(gradients: dict[str, Array], o_bar: Array, h: Array) -> None:
    """∇V += ō h_tᵀ, ∇c += ō."""
    gradients["V"] += np.outer(o_bar, h)
    gradients["c"] += o_bar
