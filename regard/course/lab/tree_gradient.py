"""Backpropagation through structure: the values of a recursive network go up its tree, the gradients go down.

    p = φ(z),  z = u · left + v · right + b        at each inner node, with the same u, v, b
    L = ½ (p_root − target)²                       p̄_root = p_root − target
    z̄ = p̄ φ'(z),  left̄ = z̄ u,  right̄ = z̄ v       from each node to its children
    ū = Σ z̄ · left,  v̄ = Σ z̄ · right,  b̄ = Σ z̄    over all inner nodes, because they share their weights

The same with vectors, p = tanh(W [left; right] + b), is computed beside it and compared with autograd.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import Field

from regard.course.lab.bracketed import Bracketed, read_numbers
from regard.course.lab.by_hand import SLOPE, SQUASH
from regard.course.lab.lab import Lab, LabResult, written
from regard.inspect.drawings.nodes import NodeDiagram
from regard.inspect.layout import Block, below, frame
from regard.inspect.section import Card
from regard.inspect.table import draw_table
from regard.parts import Seed, register
from regard.trace import Array, Nodes

Number = Annotated[float, Field(ge=-100, le=100)]
NUDGE = 1e-5


@register("lab", "tree-gradient")
class TreeGradientLab(Lab):
    """Gradients through a tree, by hand, by finite differences and by autograd."""

    class Options(Lab.Options):
        """Gradients through a tree, by hand, by finite differences and by autograd."""

        tree: Annotated[str, Field(max_length=400)] = "((1 0.5) (-1 (2 0.3)))"
        """A binary tree in brackets with a number at each leaf; at most 8 leaves."""
        target: Number = 0.5
        """Target of the root."""
        u: Number = 0.8
        """Weight of the left child."""
        v: Number = -0.6
        """Weight of the right child."""
        b: Number = 0.1
        """Bias of every inner node."""
        activation: Literal["tanh", "sigmoid", "identity"] = "tanh"
        """φ."""
        size: Annotated[int, Field(ge=1, le=32)] = 4
        """Features of the network of vectors."""
        seed: Seed = 0
        """Seed of its weights and leaves."""

    summary = "backpropagation through a tree, node by node: by hand beside finite differences and autograd"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        tree = read_numbers(options.tree)
        weights = {name: float(getattr(options, name)) for name in "uvb"}
        found = passes(tree, tree.leaves, weights, options.target, options.activation)
        numeric = _differences(tree, weights, options.target, options.activation)
        vectors = _vectors_apart(tree, options.size, options.seed)
        leaves = {f"leaf {i + 1}": found.gradients[tree.leaf_places[i]] for i in range(len(tree.leaves))}
        by_hand = {**found.shared, **leaves}
        rows: list[tuple[object, ...]] = [
            (f"∂L/∂{name}", value, numeric[name], abs(value - numeric[name]))
            for name, value in by_hand.items()
        ]
        largest = max(abs(value - numeric[name]) for name, value in by_hand.items())
        rows.append((f"all, vectors of {options.size}", "", "", vectors))
        drawing = _Drawing(tree, found)
        inner = len(tree.inner)
        table = (("", "by hand", "numeric", "difference"), rows)
        return LabResult(
            title="Backpropagation through a tree",
            see="Values go up: a node needs both its children. Gradients go down: a node needs its parent, and the "
            f"{inner} inner nodes add up to one gradient of u, v and b. By hand and by finite differences they "
            f"differ by at most {written(largest)}; with vectors, by hand and by autograd, by {written(vectors)}.",
            blocks=[
                *drawing.blocks(2 * inner),
                draw_table(table[0], [[written(cell) for cell in row] for row in rows]),
            ],
            table=table,
            numbers={
                "parents": tree.parents,
                "values": found.values,
                "gradients": found.gradients,
                "shared": found.shared,
                "numeric": numeric,
                "loss": found.loss,
                "vectors_difference": vectors,
            },
            worked=_worked(tree, found, weights),
            steps=[drawing.card(step) for step in range(1, 2 * inner + 1)],
        )


@dataclass(frozen=True, eq=False)
class TreePass:
    """values and gradients (N,) of the nodes in post-order, slopes φ' of them, the gradients of u, v, b, the loss."""

    values: Array
    gradients: Array
    before: Array
    shared: Mapping[str, float]
    loss: float


def passes(
    tree: Bracketed, leaves: Sequence[float], weights: Mapping[str, float], target: float, activation: str
) -> TreePass:
    """Up and down, one node after the other."""
    values, down = np.zeros(len(tree.parents)), np.zeros(len(tree.parents))
    before = np.zeros(len(tree.parents))
    values[tree.leaf_places] = leaves
    for node, left, right in tree.inner:
        values[node] = SQUASH[activation](
            weights["u"] * values[left] + weights["v"] * values[right] + weights["b"]
        )
    down[-1] = values[-1] - target
    shared = dict.fromkeys("uvb", 0.0)
    for node, left, right in reversed(tree.inner):
        slope = float(down[node] * SLOPE[activation](values[node]))
        before[node] = slope
        down[left], down[right] = slope * weights["u"], slope * weights["v"]
        shared["u"] += slope * values[left]
        shared["v"] += slope * values[right]
        shared["b"] += slope
    return TreePass(values, down, before, shared, 0.5 * float(values[-1] - target) ** 2)


def _differences(
    tree: Bracketed, weights: Mapping[str, float], target: float, activation: str
) -> dict[str, float]:
    """The same gradients by central differences of the loss."""

    def loss(leaves: Sequence[float], changed: Mapping[str, float]) -> float:
        return passes(tree, leaves, changed, target, activation).loss

    found = {
        name: (
            loss(tree.leaves, {**weights, name: value + NUDGE})
            - loss(tree.leaves, {**weights, name: value - NUDGE})
        )
        / (2 * NUDGE)
        for name, value in weights.items()
    }
    for place, value in enumerate(tree.leaves):
        moved = [[*tree.leaves[:place], value + way * NUDGE, *tree.leaves[place + 1 :]] for way in (1, -1)]
        found[f"leaf {place + 1}"] = (loss(moved[0], weights) - loss(moved[1], weights)) / (2 * NUDGE)
    return found


def _vectors_apart(tree: Bracketed, size: int, seed: int) -> float:
    """The largest difference between gradients by hand and by autograd, with vectors and L = Σ root."""
    generator = torch.Generator().manual_seed(seed)
    W = (torch.randn(size, 2 * size, generator=generator, dtype=torch.float64) / size**0.5).requires_grad_()
    b = torch.randn(size, generator=generator, dtype=torch.float64).requires_grad_()
    leaves = torch.randn(len(tree.leaves), size, generator=generator, dtype=torch.float64).requires_grad_()
    values: dict[int, torch.Tensor] = dict(zip(tree.leaf_places, leaves, strict=True))
    for node, left, right in tree.inner:
        values[node] = torch.tanh(W @ torch.cat([values[left], values[right]]) + b)
    values[len(tree.parents) - 1].sum().backward()
    plain = {node: value.detach().numpy() for node, value in values.items()}
    weight = W.detach().numpy()
    down = {len(tree.parents) - 1: np.ones(size)}
    of_weight, of_bias = np.zeros_like(weight), np.zeros(size)
    for node, left, right in reversed(tree.inner):
        slope = down[node] * (1 - plain[node] ** 2)
        of_weight += np.outer(slope, np.concatenate([plain[left], plain[right]]))
        of_bias += slope
        down[left], down[right] = np.split(weight.T @ slope, 2)
    automatic = [one.grad.numpy() for one in (W, b, leaves) if one.grad is not None]
    by_hand = [of_weight, of_bias, np.stack([down[place] for place in tree.leaf_places])]
    return max(float(np.abs(one - two).max()) for one, two in zip(automatic, by_hand, strict=True))


class _Drawing:
    """The tree twice: with values, which fill from the leaves to the root, and with gradients, which fill back."""

    def __init__(self, tree: Bracketed, found: TreePass) -> None:
        self.tree, self.found = tree, found

    def blocks(self, step: int) -> list[Block]:
        inner = [node for node, _, _ in self.tree.inner]
        up = {*self.tree.leaf_places, *inner[: min(step, len(inner))]}
        down: set[int] = {inner[-1]} if step > len(inner) else set()
        for node, left, right in list(reversed(self.tree.inner))[: max(0, step - len(inner))]:
            down |= {node, left, right}
        return [
            self._tree("values, upward", self.found.values, up, "{:.2f}"),
            self._tree("gradients of L, downward", self.found.gradients, down, "{:.3f}"),
        ]

    def _tree(self, title: str, values: Array, shown: set[int], digits: str) -> Block:
        labels = [
            digits.format(value).replace("-", "−") if place in shown else ""
            for place, value in enumerate(values)
        ]
        top = float(np.abs(values).max()) or 1.0
        shades = np.where([place in shown for place in range(len(values))], np.abs(values) / top, 0.0)
        names = tuple(self.tree.names)
        return NodeDiagram(
            names, Nodes(np.array(self.tree.parents), labels=labels, weights=shades), title
        ).block()

    def card(self, step: int) -> Card:
        inner = self.tree.inner
        place = step - 1 if step <= len(inner) else 2 * len(inner) - step
        way = "up" if step <= len(inner) else "down"
        told = f"{way}: {self.tree.names[inner[place][0]]}"
        picture = frame(below(self.blocks(step), gap=20), description=f"The passes over the tree, {told}.")
        return Card(picture, heading=told)


def _worked(tree: Bracketed, found: TreePass, weights: Mapping[str, float]) -> list[str]:
    """The equations with their numbers, from the root down."""
    values, down, before = found.values, found.gradients, found.before
    lines = [
        f"{tree.names[node]} = φ({weights['u']:g} · {values[left]:.3f} + {weights['v']:g} · {values[right]:.3f} + "
        f"{weights['b']:g}) = {values[node]:.3f}"
        for node, left, right in tree.inner
    ]
    for node, left, right in reversed(tree.inner):
        lines.append(f"z̄ of {tree.names[node]} = {down[node]:.3f} · φ' = {before[node]:.3f}")
        lines.append(
            f"  {tree.names[left]}: z̄ u = {down[left]:.3f},  {tree.names[right]}: z̄ v = {down[right]:.3f}"
        )
    for name, formula in (("u", "Σ z̄ · left"), ("v", "Σ z̄ · right"), ("b", "Σ z̄")):
        lines.append(f"{name}̄ = {formula} = {found.shared[name]:.6f}")
    return [line.replace("-", "−") for line in lines]
