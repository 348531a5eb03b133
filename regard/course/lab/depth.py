"""Gradient against path length: a chain composes n leaves in n − 1 steps, a balanced tree in log₂ n.

p = tanh(W [left; right])        ∂root/∂leaf is a product of one Jacobian for each composition on the path
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from regard.course.lab.lab import Lab, LabResult, gradient_range, written
from regard.inspect.plot import Curve, draw_plot
from regard.parts import Seed, register
from regard.trace import Array


@register("lab", "depth")
class DepthLab(Lab):
    """The gradient at each leaf of a chain and of a balanced tree."""

    class Options(Lab.Options):
        """The gradient at each leaf of a chain and of a balanced tree."""

        leaves: Annotated[int, Field(ge=2, le=512)] = 64
        """Leaves n of the longest input."""
        size: Annotated[int, Field(ge=1, le=128)] = 24
        """Features of every node."""
        gain: Annotated[float, Field(gt=0, le=100)] = 0.8
        """Scale of W, in units of 1/√size."""
        seed: Seed = 0
        """Seed of W and the leaves."""

    summary = "gradient against path length: n − 1 compositions in a chain, log₂ n in a balanced tree"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        n = options.leaves
        given = (options.size, options.gain, options.seed)
        (chain, below_chain), (tree, below_tree) = (composed(n, shape, *given) for shape in ("chain", "tree"))
        lengths = sorted({2**k for k in range(1, int(math.log2(n)) + 1)} | {n})
        smallest = {
            shape: np.array([leaf_gradients(one, shape, *given).min() for one in lengths])
            for shape in ("chain", "tree")
        }
        paths = {"chain": int(below_chain.max()), "tree": int(below_tree.max())}
        rows = [
            ("chain", paths["chain"], float(chain.min()), float(chain.max())),
            ("balanced tree", paths["tree"], float(tree.min()), float(tree.max())),
        ]
        at = np.arange(1, n + 1)
        names = {"chain": "chain", "tree": "balanced tree"}
        return LabResult(
            title="Short paths carry gradients",
            see=f"The first leaf of a chain is {paths['chain']} compositions away from the root, no leaf of the "
            "tree more than "
            f"{paths['tree']}: the weakest gradient is {written(rows[0][2])} against {written(rows[1][2])}.",
            blocks=[
                draw_plot(
                    {"chain": Curve(at, chain), "balanced tree": Curve(at, tree)},
                    title=f"‖∂root/∂leaf‖, {n} leaves",
                    x_name="leaf",
                    log_y=True,
                    y_range=gradient_range([chain, tree]),
                ),
                draw_plot(
                    {names[shape]: Curve(np.array(lengths), found) for shape, found in smallest.items()},
                    title="The weakest leaf, by number of leaves",
                    x_name="leaves",
                    log_x=True,
                    log_y=True,
                    height=110,
                    y_range=gradient_range(list(smallest.values())),
                ),
            ],
            table=(("", "longest path", "weakest leaf", "strongest leaf"), rows),
            numbers={"chain": chain, "tree": tree, "lengths": lengths, "weakest": smallest, "paths": paths},
        )


def leaf_gradients(leaves: int, shape: str, size: int, gain: float, seed: int) -> Array:
    """(n,) Frobenius norms of ∂root/∂leaf, divided by √size so that the identity has 1."""
    return composed(leaves, shape, size, gain, seed)[0]


def composed(leaves: int, shape: str, size: int, gain: float, seed: int) -> tuple[Array, Array]:
    """(n,) norms as in `leaf_gradients`, and (n,) compositions between each leaf and the root, counted."""
    generator = torch.Generator().manual_seed(seed)
    weight = gain * torch.randn(size, 2 * size, generator=generator, dtype=torch.float64) / size**0.5
    nodes = list(torch.randn(leaves, size, generator=generator, dtype=torch.float64))
    # A node holds its vector, and for each leaf below it ∂node/∂leaf and the compositions between them.
    whole: list[_Node] = [
        (node, {i: (torch.eye(size, dtype=torch.float64), 0)}) for i, node in enumerate(nodes)
    ]
    while len(whole) > 1:
        if shape == "chain":
            whole = [_compose(weight, whole[0], whole[1]), *whole[2:]]
        else:
            pairs = [_compose(weight, *whole[i : i + 2]) for i in range(0, len(whole) - 1, 2)]
            whole = [*pairs, *whole[len(pairs) * 2 :]]
    _, found = whole[0]
    norms = np.array([float(found[i][0].norm()) / size**0.5 for i in range(leaves)])
    return norms, np.array([found[i][1] for i in range(leaves)])


_Node = tuple[Tensor, dict[int, tuple[Tensor, int]]]


def _compose(weight: Tensor, left: _Node, right: _Node) -> _Node:
    size = len(weight)
    value = torch.tanh(weight @ torch.cat([left[0], right[0]]))
    slopes = (1 - value**2)[:, None]
    below = {
        leaf: ((slopes * part) @ jacobian, steps + 1)
        for part, node in ((weight[:, :size], left), (weight[:, size:], right))
        for leaf, (jacobian, steps) in node[1].items()
    }
    return value, below
