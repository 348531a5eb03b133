"""The equations of the slides in NumPy, for the Python code of entries: a second computation beside that of the
networks, from the same weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.batch import BEGIN, END

__all__ = [
    "gru_step",
    "log_probabilities",
    "log_softmax",
    "lstm_step",
    "rnn_step",
    "sigma",
    "softmax",
    "weights",
]

Array = NDArray[np.float64]
Weights = Mapping[str, Array]


def weights(model: Any, under: str = "") -> dict[str, Array]:
    """The weights of a model by their paths, or of one part by the rest of their paths."""
    found = model.network.named_parameters()
    return {
        name.removeprefix(under): value.detach().numpy() for name, value in found if name.startswith(under)
    }


def sigma(values: Any) -> Any:
    """1 / (1 + exp(−x))."""
    return 1 / (1 + np.exp(-values))


def softmax(values: Any) -> Array:
    """exp(x_i) / Σ_j exp(x_j)."""
    raised = np.exp(np.asarray(values) - np.max(values))
    return np.asarray(raised / raised.sum())


def log_softmax(values: Any) -> Array:
    """The logarithm of `softmax`."""
    return np.asarray(np.log(softmax(values)))


def rnn_step(of: Weights, inputs: Any, state: Array) -> Array:
    """h′ = tanh(W x + b + U h + c)."""
    read = of["weight_ih"] @ np.asarray(inputs) + of["bias_ih"]
    return np.asarray(np.tanh(read + of["weight_hh"] @ state + of["bias_hh"]))


def gru_step(of: Weights, inputs: Any, state: Array) -> Array:
    """h′ = (1 − z) ⊙ n + z ⊙ h, where the gate r stands behind the product with U."""
    r_x, z_x, n_x = np.split(of["weight_ih"] @ np.asarray(inputs) + of["bias_ih"], 3)
    r_h, z_h, n_h = np.split(of["weight_hh"] @ state + of["bias_hh"], 3)
    z, n = sigma(z_x + z_h), np.tanh(n_x + sigma(r_x + r_h) * n_h)
    return np.asarray((1 - z) * n + z * state)


def lstm_step(of: Weights, inputs: Any, states: tuple[Array, Array]) -> tuple[Array, Array]:
    """c′ = f ⊙ c + i ⊙ g and h′ = o ⊙ tanh(c′)."""
    h, c = states
    gates = of["weight_ih"] @ np.asarray(inputs) + of["bias_ih"] + of["weight_hh"] @ h + of["bias_hh"]
    i, f, g, o = np.split(gates, 4)
    memory = sigma(f) * c + sigma(i) * np.tanh(g)
    return sigma(o) * np.tanh(memory), memory


def log_probabilities(
    model: Any, name: str, text: str, state: Any, step: Callable[[Array, Any], Any]
) -> list[float]:
    """log p of each word of the output `name` and of the end, by hand: `step` makes a new state of the vector of the
    word before and the state; p = softmax(V s + b) of the state, or of its first part."""
    of, words = weights(model, f"decoders.{name}."), model.columns[name].encode(text)
    found = []
    for before, word in pairwise([BEGIN, *map(int, words), END]):
        state = step(of["embedding.weight"][before], state)
        said = state[0] if isinstance(state, tuple) else state
        found.append(float(log_softmax(of["output.weight"] @ said + of["output.bias"])[word]))
    return found
