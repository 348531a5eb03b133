"""Backpropagation through forward-backward: how the marginal of one state depends on all potentials.

    G: 1 at the chosen state z_t = j, 0 elsewhere; L = Σ G p = p(z_t = j)
    α̂_s(i) = G_s(i) α_s(i) + Σ_h α̂_{s−1}(h) exp(edge(h, i) + node_s(i))                       from left to right
    β̂_s(i) = Σ_k exp(edge(i, k) + node_{s+1}(k)) (G_{s+1}(k) β_{s+1}(k) + β̂_{s+1}(k))         from right to left
    ∂L/∂node_s(i) = (α̂_s(i) β_s(i) + α_s(i) β̂_s(i) − L α_s(i) β_s(i)) / Z

α and β are here products, and no logarithms. The tables are kept as α̂ / α and β̂ / β: the share of what leads to a
state (follows it) that goes through the chosen one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from regard.course.lab.dynamic import draw_log_table
from regard.errors import RegardError
from regard.inspect.layout import Block
from regard.trace import Array

LARGEST = 300.0
"""The largest log Z whose products are written out."""
SMALLEST = 1e-9
"""The smallest gradient that is written as a sum of logarithms with signs."""


class ChainGradient(NamedTuple):
    """left: α̂ / α, right: β̂ / β, nodes: ∂L/∂node, each (T, C); edges: ∂L/∂edge, (C, C)."""

    left: Array
    right: Array
    nodes: Array
    edges: Array


def chosen_state(of: str, words: tuple[str, ...], states: tuple[str, ...]) -> tuple[int, int]:
    """The position and the state that `3-V` names."""
    place, _, state = of.partition("-")
    if not place.isdigit() or not 1 <= int(place) <= len(words) or state not in states:
        raise RegardError(
            f"expected the number of a word and a state, received {of!r}.",
            where="--set of",
            fix=f"For example  --set of=1-{states[0]}; there are the words 1 to {len(words)} and the states "
            f"{', '.join(states)}.",
        )
    return int(place) - 1, states.index(state)


def chain_gradient(
    nodes: Array, edges: Array, alpha: Array, beta: Array, log_z: float, of: tuple[int, int]
) -> ChainGradient:
    """The gradient of p(z_t = j), by two more tables; `alpha` and `beta` are logarithms."""
    p = np.exp(alpha + beta - log_z)
    chosen = np.zeros_like(p)
    chosen[of] = 1
    left, right = chosen.copy(), np.zeros_like(p)
    pairs = np.zeros_like(edges)
    for s in range(1, len(p)):
        came = np.exp(
            alpha[s - 1][:, None] + edges + nodes[s] - alpha[s]
        )  # (before, after), adds up to 1 for each after
        left[s] += left[s - 1] @ came
    for s in reversed(range(len(p) - 1)):
        goes = np.exp(edges + nodes[s + 1] + beta[s + 1] - beta[s][:, None])  # adds up to 1 for each before
        right[s] = goes @ (chosen[s + 1] + right[s + 1])
        both = p[s][:, None] * goes  # p(z_s, z_{s+1})
        pairs += both * (left[s][:, None] + (chosen[s + 1] + right[s + 1])[None] - p[of])
    return ChainGradient(left, right, p * (left + right - p[of]), pairs)


def gradient_blocks(
    found: ChainGradient, words: tuple[str, ...], states: tuple[str, ...], of: tuple[int, int]
) -> list[Block]:
    """The two further tables, and the gradient of every potential of a word."""
    named = f"p({of[0] + 1} {words[of[0]]} = {states[of[1]]})"
    return [
        draw_log_table("α̂ / α", states, words, found.left.T, found.left.T, digits="{:.2f}"),
        draw_log_table("β̂ / β", states, words, found.right.T, found.right.T, digits="{:.2f}"),
        draw_log_table(
            f"∂ {named} / ∂θ", states, words, found.nodes.T, 4 * np.abs(found.nodes.T), digits="{:.3f}"
        ),
    ]


def worked_gradient(
    found: ChainGradient,
    nodes: Array,
    edges: Array,
    alpha: Array,
    beta: Array,
    log_z: float,
    states: tuple[str, ...],
    of: tuple[int, int],
) -> list[str]:
    """A step of each further table, and the gradients of the chosen state and its rival, as equations with numbers."""
    if log_z > LARGEST:
        return []  # the products would overflow
    t, j = of
    a, b, z = np.exp(alpha), np.exp(beta), float(np.exp(log_z))
    left, right = found.left * a, found.right * b
    p = float(a[of] * b[of]) / z
    lines = [f"α̂_{t + 1}({states[j]}) = α_{t + 1}({states[j]}) = {a[of]:.4g}, 0 in the other states"]
    if t + 1 < len(a):
        k = int(left[t + 1].argmax())
        tie = edges[j, k] + nodes[t + 1, k]
        lines.append(f"α̂_{t + 2}({states[k]}) = {left[of]:.4g} · e^{tie:g} = {left[t + 1, k]:.4g}")
    if t > 0:
        i = int(right[t - 1].argmax())
        tie = edges[i, j] + nodes[of]
        lines.append(f"β̂_{t}({states[i]}) = e^{tie:g} · β_{t + 1}({states[j]}) = {right[t - 1, i]:.4g}")
    rivals = [one for one in range(len(states)) if one != j]
    rival = min(rivals, key=lambda one: found.nodes[t, one])
    for one in (j, rival):
        there = (t, one)
        both = f"{left[there]:.4g} · {b[there]:.4g} + {a[there]:.4g} · {right[there]:.4g}"
        lines.append(
            f"∂p/∂θ_{t + 1}({states[one]}) = ({both} - {p:.4f} · {a[there]:.4g} · {b[there]:.4g}) / {z:.6g} = "
            f"{found.nodes[there]:.4f}"
        )
    shares = np.exp(alpha + beta - log_z)
    elsewhere = np.where(found.left + found.right > 0, found.nodes, 0.0)
    lowest = np.unravel_index(int(elsewhere.argmin()), elsewhere.shape)
    for s, one in ((t, j), (int(lowest[0]), int(lowest[1]))):
        through, less = shares[s, one] * (found.left[s, one] + found.right[s, one]), shares[s, one] * p
        if through > 0 and abs(through - less) > SMALLEST:
            lines.append(f"∂p/∂θ_{s + 1}({states[one]}) as (log |x|, sign x): {_signed_sum(through, -less)}")
    return [line.replace("-", "−") for line in lines]


def _signed_sum(*terms: float) -> str:
    """x ⊕ y of two numbers of different signs, the larger first, by the rule of the signed log-space semiring."""
    (a, x), (b, y) = sorted(
        ((float(np.log(abs(one))), "+" if one > 0 else "-") for one in terms), reverse=True
    )
    total = f"({a + np.log1p(-np.exp(b - a)):.3f}, {x})"
    return f"({a:.3f}, {x}) ⊕ ({b:.3f}, {y}) = ({a:.3f} + log(1 - e^{b - a:.3f}), {x}) = {total}"
