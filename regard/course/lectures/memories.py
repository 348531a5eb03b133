"""Networks with a memory in NumPy, from their weights: for the Python code of entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regard.course.lectures.by_hand import Array, Weights, sigma, softmax, weights

__all__ = ["computer_step", "memory_network", "story_facts", "turing_step"]


def story_facts(model: Any, row: Mapping[str, str]) -> tuple[Array, Array, Array]:
    """Of a network that reads a story: the keys and the values of its facts (S, D), and its question (D)."""
    of = weights(model, "encoders.story.")

    def vector(words: Any, table: Array) -> Any:
        D, N = table.shape[1], len(words)
        η = np.arange(1, D + 1) / D
        return sum((1 - n / N - (1 - 2 * n / N) * η) * table[int(word)] for n, word in enumerate(words, 1))

    read = model.columns["question"].encode
    facts, tables = [read(fact) for fact in row["story"].rstrip(".").split(". ")], of["ages"]
    A, C = of["tables.0.embedding.weight"], of["tables.1.embedding.weight"]
    κ, h = (
        np.array([vector(fact, E) + ages[len(facts) - j] for j, fact in enumerate(facts, 1)])
        for E, ages in zip((A, C), tables, strict=True)
    )
    return κ, h, np.asarray(vector(read(row["question"]), A))


def memory_network(model: Any, row: Mapping[str, str], hops: int) -> tuple[Array, Array]:
    """The looks (hops, S) of a memory network at a story, and its probabilities of the answers: u_1 is the question,
    u_{k+1} = H u_k + o_k."""
    w, (κ, h, u), looks = weights(model, "decoders.answer."), story_facts(model, row), []
    for _ in range(hops):
        looks.append(softmax(κ @ u))
        u = w["carry.weight"] @ u + looks[-1] @ h
    return np.array(looks), softmax(w["output.weight"] @ u + w["output.bias"])


def turing_step(of: Weights, memory: tuple[Array, Array, Array], s: Array) -> tuple[Array, Array, Array]:
    """A step of a neural Turing machine with one head to write and one to read, of (slots (N, W), weights of the
    writing head (N), weights of the reading head (N)), from the state of its controller."""
    (m, *before), (N, W) = memory, memory[0].shape
    a = of["weight"] @ s + of["bias"]
    keys, added = np.tanh(a[: 2 * W]).reshape(2, W), np.tanh(a[2 * W : 3 * W])
    gates, erased = sigma(a[3 * W : 3 * W + 2]), sigma(a[3 * W + 2 : 4 * W + 2])
    β, γ = np.log1p(np.exp(a[4 * W + 2 : 4 * W + 6])).reshape(2, 2)
    shifts, after = a[4 * W + 6 :].reshape(2, 3), []
    for head in (0, 1):
        κ, ς = keys[head], softmax(shifts[head])
        cosine = m @ κ / np.sqrt((κ @ κ + 1e-6) * ((m * m).sum(1) + 1e-6))
        q = gates[head] * softmax(β[head] * cosine) + (1 - gates[head]) * before[head]
        u = np.array([ς[0] * q[(n + 1) % N] + ς[1] * q[n] + ς[2] * q[n - 1] for n in range(N)]) ** (
            1 + γ[head]
        )
        after.append(u / u.sum())
        if head == 0:
            m = m * (1 - np.outer(after[0], erased)) + np.outer(after[0], added)
    return m, after[0], after[1]


def computer_step(of: Weights, memory: Sequence[Array], s: Array, *, links: float = 1.0) -> list[Array]:
    """A step of a differentiable neural computer with one head to write and one to read, of [slots (N, W), links
    (N, N), how much the last write was to each slot (N), usage (N), weights of the writing head (N), of the reading
    head (N)], from the state of its controller.

    links   by what the links are multiplied where they are followed
    """
    m, L, η, υ, write, read = memory
    (N, W), ε = m.shape, 1e-6
    sizes = [W, 1, W, W, 1, 1, W, 1, len(of["bias"]) - 4 * W - 7, 3]  # 1 or no gate that frees what was read
    κa, βa, e, v, ga, gw, κr, βr, f, π = np.split(of["weight"] @ s + of["bias"], np.cumsum(sizes)[:-1])

    def content(key: Array, strength: Array, m: Array) -> Array:
        cosine = m @ np.tanh(key) / np.sqrt((np.tanh(key) @ np.tanh(key) + ε) * ((m * m).sum(1) + ε))
        return softmax((1 + np.log1p(np.exp(strength))) * cosine)

    υ = (υ + write - υ * write) * (1 - (sigma(f) * read if len(f) else 0))
    u = ε + (1 - ε) * υ
    before = [[u[i] for i in range(N) if (u[i], i) < (u[n], n)] for n in range(N)]
    free = np.array([(1 - u[n]) * np.prod(before[n]) for n in range(N)])
    write = sigma(gw) * (sigma(ga) * free + (1 - sigma(ga)) * content(κa, βa, m))
    m = m * (1 - np.outer(write, sigma(e))) + np.outer(write, np.tanh(v))
    L = (1 - write[:, None] - write) * L + np.outer(write, η)
    L[range(N), range(N)] = 0
    back, here, on = softmax(π)
    read = links * (back * L.T @ read + on * L @ read) + here * content(κr, βr, m)
    return [m, L, (1 - write.sum()) * η + write, υ, write, read]
