"""The forward-backward algorithm on a sentence: its tables as they fill.

    score(z) = Σ_t node_t(z_t) + Σ_t edge(z_t, z_{t+1})
    α_t(j) = node_t(j) + log Σ_i exp(α_{t−1}(i) + edge(i, j))          from left to right
    β_t(i) = log Σ_j exp(edge(i, j) + node_{t+1}(j) + β_{t+1}(j))      from right to left
    log Z = log Σ_j exp α_T(j)        p(z_t = j) = exp(α_t(j) + β_t(j) − log Z)
    p(z_t = i, z_{t+1} = j) = exp(α_t(i) + edge(i, j) + node_{t+1}(j) + β_{t+1}(j) − log Z)

`--set space=product` shows exp α and exp β, the tables without logarithms, and `--set of=3-V` how p(z_3 = V) depends
on every potential. `regard.structures.LinearChain` computes the same, for batches and with gradients.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from regard.course.lab.chain_gradient import chain_gradient, chosen_state, gradient_blocks, worked_gradient
from regard.course.lab.dynamic import checked_step, draw_log_table, log_sum, words_of
from regard.course.lab.lab import Lab, LabResult, written
from regard.errors import RegardError
from regard.inspect.layout import Block, below, frame
from regard.inspect.section import Card
from regard.parts import nearest, register
from regard.trace import Array

Potential = Annotated[float, Field(ge=-100, le=100)]
NODES: Mapping[str, Mapping[str, float]] = {
    **{word: {"D": 2.0} for word in ("the", "a", "an", "this", "every")},
    **{word: {"N": 1.5} for word in ("dog", "cat", "man", "bird", "woman", "tree")},
    **{word: {"V": 1.5} for word in ("runs", "sees", "likes", "is", "sleeps")},
    "saw": {"V": 1.0, "N": 0.5},
    "can": {"V": 0.5, "N": 0.5},
}
"""Default potentials of some words; other words have 0 everywhere."""
EDGES: Mapping[str, Mapping[str, float]] = {
    "D": {"N": 1.5, "D": -1.0, "V": -1.0},
    "N": {"V": 1.0},
    "V": {"D": 1.0, "V": -1.0},
}


@register("lab", "forward-backward")
class ForwardBackwardLab(Lab):
    """The tables α, β and p of a chain over a sentence."""

    class Options(Lab.Options):
        """The tables α, β and p of a chain over a sentence."""

        sentence: Annotated[str, Field(max_length=400)] = "the dog saw the cat"
        """The words, separated by spaces; at most 12."""
        states: Annotated[tuple[str, ...], Field(min_length=2, max_length=6)] = ("D", "N", "V")
        """Names of the states: determiner, noun, verb."""
        nodes: dict[str, dict[str, Potential]] = {}
        """Potentials of words, or of positions counted from 1: `--set nodes.saw.N=3`, `--set nodes.3.N=3`."""
        edges: dict[str, dict[str, Potential]] = {}
        """Potentials of one state followed by another: `--set edges.D.N=2`."""
        space: Literal["log", "product"] = "log"
        """Whether α and β are logarithms, or the sums of products themselves."""
        of: Annotated[str, Field(max_length=40)] = ""
        """A word and a state whose probability is differentiated: `--set of=3-V`. Default: none."""
        step: Annotated[int | None, Field(ge=0)] = None
        """Show the tables after this many steps: α of each word, then β of each, then p. Default: all."""

    summary = "the forward-backward tables of your own sentence, filling step by step; potentials by --set"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        words, states = words_of(options.sentence), tuple(options.states)
        if len(set(states)) < len(states):
            raise RegardError(
                "a state is named twice.", where="--set states", fix="Give each a name of its own."
            )
        nodes, edges = potentials(words, states, options.nodes, options.edges)
        alpha, beta, log_z = tables(nodes, edges)
        marginals = np.exp(alpha + beta - log_z)  # (T, C)
        T = len(words)
        step = checked_step(options.step, 2 * T + 1)
        product = options.space == "product"
        drawing = _Drawing(words, states, alpha, beta, marginals, product=product)
        of = chosen_state(options.of, words, states) if options.of else None
        gradient = chain_gradient(nodes, edges, alpha, beta, log_z, of) if of else None
        best = best_states(nodes, edges)
        best_score = score_of(best, nodes, edges)
        rows = [
            (
                f"{t + 1} {word}",
                states[best[t]],
                float(marginals[t, best[t]]),
                states[int(marginals[t].argmax())],
                float(marginals[t].max()),
            )
            for t, word in enumerate(words)
        ]
        sums = marginals.sum(1)
        return LabResult(
            title="Forward and backward",
            see=_seen(log_z, product=product)
            + f" The two tables take {2 * (T - 1) * len(states) ** 2:,} products; "
            f"there are {len(states) ** T:,} sequences."
            + (
                f" Through the chosen state go {marginals[of]:.3f} of all: ∂p/∂θ = p (α̂/α + β̂/β − that)."
                if of
                else ""
            ),
            blocks=[
                *drawing.blocks(step),
                *(gradient_blocks(gradient, words, states, of) if gradient and of else ()),
            ],
            table=(("word", "best path", "p", "most probable", "p"), rows),
            numbers={
                "words": words,
                "states": states,
                "nodes": nodes,
                "edges": edges,
                "alpha": alpha,
                "beta": beta,
                "log_partition": log_z,
                "marginals": marginals,
                "pairs": pair_marginals(nodes, edges, alpha, beta, log_z),
                "column_sums": sums,
                "best": [states[i] for i in best],
                "p_of_best": float(np.exp(best_score - log_z)),
                **({"forward": np.exp(alpha), "backward": np.exp(beta)} if product else {}),
                **({"gradient": gradient._asdict()} if gradient else {}),
            },
            worked=[
                *(
                    _worked_products(words, states, nodes, edges, alpha, beta, marginals)
                    if product
                    else _worked(words, states, nodes, edges, alpha, marginals)
                ),
                _worked_sequence(best, states, nodes, edges, log_z),
                *(() if product else _worked_pair(words, states, nodes, edges, alpha, beta, log_z, best)),
                *(
                    worked_gradient(gradient, nodes, edges, alpha, beta, log_z, states, of)
                    if gradient and of
                    else ()
                ),
            ],
            steps=[drawing.card(one) for one in range(1, 2 * T + 2)],
        )


def potentials(
    words: tuple[str, ...],
    states: tuple[str, ...],
    nodes: Mapping[str, Mapping[str, float]],
    edges: Mapping[str, Mapping[str, float]],
) -> tuple[Array, Array]:
    """nodes (T, C) and edges (C, C): the given potentials, and defaults for some words and states."""
    known = [*dict.fromkeys(words), *(str(t + 1) for t in range(len(words)))]
    for name, of in (("nodes", nodes), ("edges", edges)):
        for key, values in of.items():
            allowed = known if name == "nodes" else list(states)
            for one, choices in ((key, allowed), *((state, list(states)) for state in values)):
                if one not in choices:
                    raise RegardError(
                        f"{one!r} is not one of {', '.join(choices)}.",
                        where=f"--set {name}.{key}",
                        fix=nearest(one, choices),
                    )
    found = np.zeros((len(words), len(states)))
    for t, word in enumerate(words):
        for given in (NODES.get(word.lower(), {}), nodes.get(word, {}), nodes.get(str(t + 1), {})):
            for state, value in given.items():
                if state in states:
                    found[t, states.index(state)] = value
    ties = np.zeros((len(states), len(states)))
    for known_ties in (EDGES, edges):
        for before, values in known_ties.items():
            for after, value in values.items():
                if before in states and after in states:
                    ties[states.index(before), states.index(after)] = value
    return found, ties


def tables(nodes: Array, edges: Array) -> tuple[Array, Array, float]:
    """α and β, (T, C) each, and log Z."""
    T, C = nodes.shape
    alpha, beta = np.zeros((T, C)), np.zeros((T, C))
    alpha[0] = nodes[0]
    for t in range(1, T):
        for j in range(C):
            alpha[t, j] = nodes[t, j] + log_sum(alpha[t - 1] + edges[:, j])
    for t in reversed(range(T - 1)):
        for i in range(C):
            beta[t, i] = log_sum(edges[i] + nodes[t + 1] + beta[t + 1])
    return alpha, beta, log_sum(alpha[-1])


def pair_marginals(nodes: Array, edges: Array, alpha: Array, beta: Array, log_z: float) -> Array:
    """p(z_t, z_{t+1}), (T − 1, C, C)."""
    return np.exp(alpha[:-1, :, None] + edges + (nodes + beta)[1:, None, :] - log_z)


def best_states(nodes: Array, edges: Array) -> list[int]:
    """The states of the best path (Viterbi)."""
    score, back = nodes[0], []
    for row in nodes[1:]:
        ways = score[:, None] + edges  # (before, after)
        back.append(ways.argmax(0))
        score = row + ways.max(0)
    path = [int(score.argmax())]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return path[::-1]


def score_of(path: list[int], nodes: Array, edges: Array) -> float:
    """The sum of the potentials of a path."""
    ties = sum(edges[i, j] for i, j in pairwise(path))
    return float(sum(nodes[t, j] for t, j in enumerate(path)) + ties)


class _Drawing:
    """Draws α, β and p below each other as they fill: T steps of α, T of β, then p."""

    def __init__(
        self,
        words: tuple[str, ...],
        states: tuple[str, ...],
        alpha: Array,
        beta: Array,
        marginals: Array,
        *,
        product: bool,
    ) -> None:
        self.words, self.states, self.product = words, states, product
        self.tables = (alpha.T, beta.T, marginals.T)  # (C, T) each

    def blocks(self, step: int) -> list[Block]:
        T = len(self.words)
        at = np.arange(T)
        filled = (at < step, at >= 2 * T - step, np.full(T, step > 2 * T))
        newest = (at == step - 1, at == 2 * T - step, np.zeros(T, bool))
        space = "" if self.product else " (log)"
        titles = (f"forward α{space}", f"backward β{space}", "marginal p")
        blocks = []
        for place, (title, values) in enumerate(zip(titles, self.tables, strict=True)):
            shown = np.where(filled[place][None], values, np.nan)
            shades = values if place == 2 else _column_shares(values)
            digits = "{:.2f}" if place == 2 else "{:.1f}"
            if self.product and place < 2:
                shown = np.exp(shown)
                digits = "{:.0f}" if np.exp(values.max()) > 1000 else "{:.3g}"
            outlined = (
                np.broadcast_to(newest[place][None], values.shape).astype(float) if step <= 2 * T else None
            )
            blocks.append(
                draw_log_table(
                    title,
                    self.states,
                    self.words,
                    shown,
                    shades,
                    outlined=outlined,
                    digits=digits,
                )
            )
        return blocks

    def card(self, step: int) -> Card:
        T = len(self.words)
        told = (
            f"forward, word {step}: {self.words[step - 1]}"
            if step <= T
            else f"backward, word {2 * T - step + 1}: {self.words[2 * T - step]}"
            if step <= 2 * T
            else "marginals"
        )
        return Card(
            frame(below(self.blocks(step), gap=16), description=f"The three tables: {told}."), heading=told
        )


def _seen(log_z: float, *, product: bool) -> str:
    how, whole = (
        ("product, over Z", written(float(np.exp(log_z)))) if product else ("sum, less log Z", f"{log_z:.3f}")
    )
    what = "the probability" if product else "the log probability"
    return (
        f"α fills from left to right and β from right to left; their {how} = {whole}, is {what} of each state at each "
        "word, and every column of p adds up to 1."
    )


def _column_shares(values: Array) -> Array:
    """The share of each cell in the sum of its column, given logarithms: its shade."""
    shifted = np.exp(values - values.max(0, keepdims=True))
    return np.asarray(shifted / shifted.sum(0, keepdims=True))


def _worked(
    words: tuple[str, ...],
    states: tuple[str, ...],
    nodes: Array,
    edges: Array,
    alpha: Array,
    marginals: Array,
) -> list[str]:
    """For each word, α of its most probable state as an equation with numbers."""
    lines = []
    for t, word in enumerate(words):
        j = int(marginals[t].argmax())
        name = f"α_{t + 1}({states[j]})"
        if t == 0:
            lines.append(f"{name} = node({word}, {states[j]}) = {alpha[0, j]:.2f}")
            continue
        inside = " + ".join(f"e^({alpha[t - 1, i]:.2f} + {edges[i, j]:g})" for i in range(len(states)))
        lines.append(f"{name} = {nodes[t, j]:g} + log({inside}) = {alpha[t, j]:.2f}")
    return [line.replace("-", "−") for line in lines] + [
        f"log Z = log Σ e^α_{len(words)} = {written(log_sum(alpha[-1]))}"
    ]


def _worked_sequence(
    path: list[int], states: tuple[str, ...], nodes: Array, edges: Array, log_z: float
) -> str:
    """p of the best path as an equation with numbers: its potentials, over Z."""
    ties = [0.0, *(edges[i, j] for i, j in pairwise(path))]
    inside = " + ".join(f"{nodes[t, j] + ties[t]:g}" for t, j in enumerate(path))
    score = score_of(path, nodes, edges)
    named = " ".join(states[j] for j in path)
    line = f"p({named}) = exp({inside}) / Z = e^({score:g} - {log_z:.3f}) = {np.exp(score - log_z):.4f}"
    return line.replace("-", "−")


def _worked_pair(
    words: tuple[str, ...],
    states: tuple[str, ...],
    nodes: Array,
    edges: Array,
    alpha: Array,
    beta: Array,
    log_z: float,
    path: list[int],
) -> list[str]:
    """The pairwise marginal of two neighbors on the best path, as an equation with numbers."""
    if len(words) < 2:
        return []
    t = min(1, len(words) - 2)
    i, j = path[t], path[t + 1]
    tie, found = edges[i, j] + nodes[t + 1, j], pair_marginals(nodes, edges, alpha, beta, log_z)[t, i, j]
    named = f"p({t + 1} {words[t]} = {states[i]}, {t + 2} {words[t + 1]} = {states[j]})"
    inside = f"{alpha[t, i]:.2f} + {tie:g} + {beta[t + 1, j]:.2f} - {log_z:.2f}"
    ways = f"α_{t + 1}({states[i]}) + θ({states[i]}, {states[j]}) + β_{t + 2}({states[j]}) - log Z"
    return [f"{named} = e^({ways}) = e^({inside}) = {found:.4f}".replace("-", "−")]


def _worked_products(
    words: tuple[str, ...],
    states: tuple[str, ...],
    nodes: Array,
    edges: Array,
    alpha: Array,
    beta: Array,
    marginals: Array,
) -> list[str]:
    """For each word, α and then β of its most probable state as a sum of products."""
    a, b, T = np.exp(alpha), np.exp(beta), len(words)
    best = [int(row.argmax()) for row in marginals]
    lines = [f"α_1({states[best[0]]}) = e^{nodes[0, best[0]]:g} = {a[0, best[0]]:.4g}"]
    for t in range(1, T):
        j = best[t]
        inside = " + ".join(
            f"{a[t - 1, i]:.4g} · e^{edges[i, j] + nodes[t, j]:g}" for i in range(len(states))
        )
        lines.append(f"α_{t + 1}({states[j]}) = {inside} = {a[t, j]:.4g}")
    lines.append(f"β_{T}({states[best[-1]]}) = 1")
    for t in reversed(range(T - 1)):
        i = best[t]
        inside = " + ".join(
            f"e^{edges[i, j] + nodes[t + 1, j]:g} · {b[t + 1, j]:.4g}" for j in range(len(states))
        )
        lines.append(f"β_{t + 1}({states[i]}) = {inside} = {b[t, i]:.4g}")
    return [line.replace("-", "−") for line in lines] + [f"Z = Σ α_{T} = {written(float(a[-1].sum()))}"]
