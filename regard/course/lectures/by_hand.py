"""The equations of the slides in NumPy, for the Python code of entries: a second computation beside that of the
networks, from the same weights."""

from __future__ import annotations

import base64
import io
import math
import wave
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from regard.data.batch import BEGIN, END, PAD

__all__ = [
    "attending",
    "by_last_states",
    "greedily",
    "gru_step",
    "head_scores",
    "layer_states",
    "log_mel",
    "log_probabilities",
    "log_softmax",
    "looking",
    "looks_of",
    "lstm_step",
    "luong_step",
    "pyramid_states",
    "rnn_step",
    "sigma",
    "softmax",
    "states_of",
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


STEPS: dict[int, Callable[..., Any]] = {1: rnn_step, 3: gru_step, 4: lstm_step}
"""The step of a cell, by how often its rows hold its size."""


def layer_states(of: Weights, inputs: Array) -> tuple[Array, Array]:
    """The states (S, H) of a recurrent layer after each of its inputs (S, D), and the last state (H); of two
    directions side by side."""
    found, last = [], []
    for direction, first in enumerate(of["first"]):
        under = f"cells.{direction}."
        cell = {name.removeprefix(under): value for name, value in of.items() if name.startswith(under)}
        size, states = cell["weight_hh"].shape[1], []
        step = STEPS[len(cell["weight_hh"]) // size]
        state: Any = tuple(np.split(first, 2)) if step is lstm_step else first
        for one in inputs[::-1] if direction else inputs:
            state = step(cell, one, state)
            states.append(state[0] if step is lstm_step else state)
        last.append(states[-1])
        found.append(states[::-1] if direction else states)
    return np.hstack(found), np.concatenate(last)


def states_of(model: Any, name: str, text: str) -> tuple[Array, Array]:
    """`layer_states` of a recurrent encoder of one layer that reads a text."""
    x = weights(model, f"encoders.{name}.embedding.")["weight"][model.columns[name].encode(text)]
    return layer_states(weights(model, f"encoders.{name}.layers.0."), x)


def pyramid_states(model: Any, name: str, frames: Any) -> Array:
    """The annotations of a pyramidal encoder: each layer above the first reads two states of the layer below side by
    side, beside the last one zeros where their number is odd."""
    of, x = weights(model, f"encoders.{name}."), np.asarray(frames, float)
    for layer in range(len({key.split(".")[1] for key in of})):
        if layer:
            x = np.vstack([x, np.zeros((len(x) % 2, x.shape[1]))]).reshape(-1, 2 * x.shape[1])
        x, _ = layer_states(weights(model, f"encoders.{name}.layers.{layer}."), x)
    return x


def log_mel(recording: str, *, rate: int = 8000, bands: int = 32) -> Array:
    """The frames (T, bands) of a sound, of the bytes of a WAV file in a data URI: log Σ_k F_k |DFT(w ⊙ x)_k|² of 25 ms
    of its samples every 10 ms, with a Hann window w and triangles F, each band with mean 0 and standard deviation 1."""
    with wave.open(io.BytesIO(base64.b64decode(recording.partition(",")[2]))) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768
    window, hop = rate // 40, rate // 100
    size = 2 ** math.ceil(math.log2(window))
    x = np.pad(samples, (0, -(len(samples) - window) % hop))
    taper = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    waves = np.exp(-2j * np.pi * np.outer(np.arange(window), np.arange(size // 2 + 1)) / size)
    mel = np.linspace(0, 2595 * np.log10(1 + rate / 2 / 700), bands + 2)
    corners, f = 700 * (10 ** (mel / 2595) - 1), np.arange(size // 2 + 1) * rate / size
    F = np.array([np.interp(f, corners[k : k + 3], (0, 1, 0)) for k in range(bands)])
    power = np.abs(sliding_window_view(x, window)[::hop] * taper @ waves) ** 2
    found = np.log(np.maximum(power @ F.T, 1e-6))
    return np.asarray((found - found.mean(0)) / np.maximum(found.std(0), 1e-3))


def looking(of: Weights, name: str, h: Array) -> Callable[[Array], Array]:
    """The weights of additive attention from a state: α = softmax_j(v·tanh(U s + W h_j))."""
    score = f"reading.attentions.{name}.score."
    U, W, v = (of[score + key] for key in ("query.weight", "key.weight", "vector"))
    return lambda s: softmax(np.tanh(U @ s + h @ W.T) @ v)


def attending(
    of: Weights,
    name: str,
    h: Array,
    looks: list[Array] | None = None,
    look: Callable[[Array], Array] | None = None,
) -> Callable[[Array, Array], Array]:
    """A step of a decoder of GRUs for `log_probabilities`: s′ = GRU(s, [word; c]), where c = Σ_j α_j h_j.

    looks   each α is added to it
    look    makes α of s; default: `looking`
    """
    gru, look, found = _cell(of), look or looking(of, name, h), [] if looks is None else looks

    def step(word: Array, s: Array) -> Array:
        found.append(look(s))
        return gru_step(gru, [*word, *(found[-1] @ h)], s)

    return step


def luong_step(
    of: Weights, name: str, h: Array, looks: list[Array] | None = None
) -> Callable[[Array, tuple[Array, Array]], Any]:
    """The same of a decoder that looks from the new state, of (ŝ, s): s′ = GRU(s, [word; ŝ]) and
    ŝ′ = tanh(W [s′; c] + b)."""
    gru, look, found = _cell(of), looking(of, name, h), [] if looks is None else looks

    def step(word: Array, states: tuple[Array, Array]) -> tuple[Array, Array]:
        s = gru_step(gru, [*word, *states[0]], states[1])
        found.append(look(s))
        seen = np.concatenate([s, found[-1] @ h])
        return np.tanh(of["combine.weight"] @ seen + of["combine.bias"]), s

    return step


def _cell(of: Weights) -> Weights:
    """The weights of a decoder's cell."""
    under = "stack.cells.0."
    return {key.removeprefix(under): value for key, value in of.items() if key.startswith(under)}


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


def greedily(
    model: Any, name: str, state: Any, step: Callable[[Array, Any], Any], *, most: int, fed_back: bool = True
) -> str:
    """What greedy search writes into the output `name`, by hand: the likeliest word after each, up to the end or to
    `most` words; `state` and `step` as for `log_probabilities`.

    fed_back   whether each word is read before the next; otherwise the begin token is read again
    """
    of, words, before = weights(model, f"decoders.{name}."), list[int](), BEGIN
    while len(words) < most:
        state = step(of["embedding.weight"][before], state)
        said = state[0] if isinstance(state, tuple) else state
        scores = of["output.weight"] @ said + of["output.bias"]
        scores[[PAD, BEGIN]] = -np.inf
        words.append(int(scores.argmax()))
        if words[-1] == END:
            break
        before = words[-1] if fed_back else BEGIN
    return str(model.columns[name].decode([word for word in words if word != END]))


def looks_of(
    model: Any, row: Mapping[str, str], select: Callable[[Array], Array]
) -> tuple[list[float], Array]:
    """log p of each word of a translation and the looks at its source (T, S), of a decoder with a GRU, input feeding
    and the score e_j = s·W h_j: the weights are select(e), and the context is Σ_j α_j h_j, divided by half of Σ_j α_j
    unless they sum to 1."""
    w, gru = weights(model, "decoders.target."), weights(model, "decoders.target.stack.cells.0.")
    (h, summary), looks = states_of(model, "source", row["source"]), []

    def step(word: Array, states: Any) -> tuple[Array, Array]:
        s = gru_step(gru, [*word, *states[0]], states[1])
        looks.append(select(h @ w["reading.attentions.source.score.key.weight"].T @ s))
        whole = looks[-1].sum()
        context = looks[-1] @ h / (1 if abs(whole - 1) < 1e-9 else whole / 2)
        return np.tanh(w["combine.weight"] @ [*s, *context] + w["combine.bias"]), s

    s_0 = np.tanh(w["bridge.weight"] @ summary + w["bridge.bias"])
    found = log_probabilities(model, "target", row["target"], (np.zeros(len(s_0)), s_0), step)
    return found, np.array(looks)


def head_scores(model: Any, name: str, text: str) -> tuple[Array, Array]:
    """The vectors of the root and of each word (1 + S, D), whose sum is the soft parent of a word, and the scores
    (1 + S, 1 + S) of each, by row, as the head of each, by column."""
    w, parents = weights(model, f"encoders.{name}.encoder."), weights(model, f"encoders.{name}.parents.")
    r = np.vstack([parents["root"], w["embedding.weight"][model.columns[name].encode(text)]])
    b = layer_states(weights(model, f"encoders.{name}.parents.reader."), np.sqrt(r.shape[1]) * r)[0]
    W, d, U, v = (
        parents[f"attention.score.{part}"]
        for part in ("head.weight", "head.bias", "modifier.weight", "alone.weight")
    )
    return r, (b @ W.T + d) @ (b @ U.T).T / np.sqrt(b.shape[1]) + (b @ v[0])[:, None]


def by_last_states(m: Any, row: Mapping[str, Any], source: str) -> list[float]:
    """log p of each word of a row's target by `translation-no-attention`: one LSTM reads a source from its end, and
    another begins with the states in which the first ends."""
    w, reader, writer = (
        weights(m, place)
        for place in (
            "encoders.source.",
            "encoders.source.layers.0.cells.0.",
            "decoders.target.stack.cells.0.",
        )
    )
    h, c = np.split(w["layers.0.first"][0], 2)
    states = h, c
    for word in reversed(m.columns["source"].encode(source)):
        states = lstm_step(reader, w["embedding.weight"][int(word)], states)
    return log_probabilities(
        m, "target", row["target"], states, lambda word, states: lstm_step(writer, word, states)
    )
