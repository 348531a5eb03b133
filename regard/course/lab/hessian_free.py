"""Hessian-free optimization (Martens 2010; Martens and Sutskever 2011): Newton's steps without a matrix.

    L(θ + d) ≈ L + g·d + ½ d·(G + λ) d,   G = Jᵀ J / N        the Gauss-Newton matrix, J = ∂y/∂θ
    (G + λ) d = −g                                            solved by conjugate gradients

Conjugate gradients need the products G v = Jᵀ (J v) / N alone: one pass forward, one pass back, never G itself. λ
follows how well the quadratic predicted the fall of L (Levenberg and Marquardt).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from regard.course.lab.lab import Lab, LabResult, written
from regard.course.lab.small_network import SmallNetwork, first_parameters, half_squares
from regard.inspect.plot import Curve, draw_plot
from regard.parts import Seed, register
from regard.trace import Array

POINTS = 40
"""Rows of the toy: sin(3 x) for x from −1 to 1."""
ENOUGH = 1e-10
"""Conjugate gradients end when the residual is this small against the gradient."""


@register("lab", "hessian-free")
class HessianFreeLab(Lab):
    """Hessian-free optimization of a small network beside gradient descent."""

    class Options(Lab.Options):
        """Hessian-free optimization of a small network beside gradient descent."""

        units: Annotated[int, Field(ge=1, le=24)] = 8
        """H, hidden units; there are 3 H + 1 parameters."""
        updates: Annotated[int, Field(ge=1, le=100)] = 25
        """Updates of Hessian-free optimization."""
        products: Annotated[int, Field(ge=1, le=100)] = 25
        """Most products G v for one update, each as costly as a gradient."""
        rate: Annotated[float, Field(gt=0, le=10)] = 0.3
        """Learning rate of gradient descent, which gets as many gradients as the other has products."""
        damping: Annotated[float, Field(gt=0, le=100)] = 0.1
        """λ at the start."""
        seed: Seed = 0
        """Seed of the parameters."""

    summary = (
        "Hessian-free optimization: conjugate gradients with Gauss-Newton products, beside gradient descent"
    )

    @classmethod
    def run(cls, options: Any) -> LabResult:
        x = np.linspace(-1, 1, POINTS)
        targets = np.sin(3 * x)
        start = first_parameters(options.units, np.random.default_rng(options.seed))
        network = SmallNetwork(start, x)
        gradient = network.backward(network.outputs - targets) / POINTS
        dense = gauss_newton(network) + options.damping * np.eye(len(start))
        exact = np.linalg.solve(dense, -gradient)
        steps = conjugate_gradients(lambda d: product(network, d, options.damping), -gradient, len(start))
        errors = np.array([np.linalg.norm(step - exact) for step in steps]) / np.linalg.norm(exact)
        updates = _updates(start, x, targets, options)
        losses, spent, dampings = (np.array([float(one[place]) for one in updates]) for place in (1, 2, 3))
        descended = _descend(start, x, targets, options.rate, int(spent[-1]))
        last, plain = losses[-1], descended[-1]
        rows: list[tuple[object, ...]] = [
            ("parameters", len(start)),
            ("loss before", float(losses[0])),
            (f"loss after {options.updates} updates", float(last)),
            ("products and gradients for that", int(spent[-1])),
            ("loss of gradient descent after as many", float(plain)),
            ("conjugate gradients minus dense solve", float(errors[-1])),
            ("  found after products", len(errors) - 1),
            ("λ at the end", float(dampings[-1])),
        ]
        better = "below" if last < plain else "above"
        return LabResult(
            title="Hessian-free: Newton's step from products",
            see=f"After {len(errors) - 1} products G v conjugate gradients have the step of the dense solve, but for "
            f"{written(float(errors[-1]))} of its length. For {int(spent[-1]):,} passes the loss is "
            f"{written(float(last))}, {better} the {written(float(plain))} of gradient descent.",
            blocks=[
                draw_plot(
                    {
                        "Hessian-free": Curve(spent, losses),
                        "gradient descent": Curve(np.arange(len(descended), dtype=float), descended),
                    },
                    title="Loss, by products and gradients",
                    x_name="passes forward and back",
                    log_y=True,
                ),
                draw_plot(
                    {"_error": Curve(np.arange(len(errors), dtype=float), np.maximum(errors, 1e-17))},
                    title="The first step: distance to the dense solve",
                    x_name="products G v",
                    log_y=True,
                    height=110,
                ),
                draw_plot(
                    {
                        "target": Curve(x, targets, "dots"),
                        "before": Curve(x, network.outputs, "dashes", "muted"),
                        "after": Curve(x, SmallNetwork(updates[-1][0], x).outputs),
                    },
                    title="The toy",
                    x_name="x",
                    height=110,
                    dot=2.0,
                ),
            ],
            table=(("", "value"), rows),
            numbers={
                "parameters": start,
                "gradient": gradient,
                "gauss_newton": dense,
                "dense_step": exact,
                "step": steps[-1],
                "errors": errors,
                "loss": losses,
                "passes": spent,
                "damping": dampings,
                "gradient_descent": descended,
            },
        )


def gauss_newton(network: SmallNetwork) -> Array:
    """G as a matrix, column by column: what Hessian-free optimization avoids."""
    columns = [product(network, unit, 0.0) for unit in np.eye(len(network.parameters))]
    return np.stack(columns, 1)


def product(network: SmallNetwork, vector: Array, damping: float) -> Array:
    """(G + λ) v by one pass forward and one back."""
    return network.backward(network.forward(vector)) / len(network.x) + damping * vector


def conjugate_gradients(apply: Callable[[Array], Array], right: Array, most: int) -> list[Array]:
    """Solutions of A d = right after 0, 1, … products, A positive definite."""
    d = np.zeros_like(right)
    found, residual = [d], right
    way, square = residual, float(residual @ residual)
    first = square
    for _ in range(most):
        if square <= ENOUGH**2 * first:
            break
        moved = apply(way)
        length = square / float(way @ moved)
        d, residual = d + length * way, residual - length * moved
        found.append(d)
        before, square = square, float(residual @ residual)
        way = residual + square / before * way
    return found


def _updates(start: Array, x: Array, targets: Array, options: Any) -> list[tuple[Array, float, int, float]]:
    """Parameters, loss, passes so far and λ after each update."""
    theta, damping, passes = start, options.damping, 0
    loss = half_squares(SmallNetwork(theta, x).outputs, targets)
    found = [(theta, loss, passes, damping)]
    for _ in range(options.updates):
        network = SmallNetwork(theta, x)
        gradient = network.backward(network.outputs - targets) / len(x)

        def apply(vector: Array, network: SmallNetwork = network, damping: float = damping) -> Array:
            return product(network, vector, damping)

        steps = conjugate_gradients(apply, -gradient, options.products)
        passes += len(steps)  # one gradient and a product for each step after the first
        step = steps[-1]
        predicted = float(gradient @ step + 0.5 * step @ product(network, step, 0.0))
        reached = half_squares(SmallNetwork(theta + step, x).outputs, targets)
        share = (reached - loss) / predicted if predicted else 1.0
        damping *= 2 / 3 if share > 0.75 else 3 / 2 if share < 0.25 else 1.0
        if reached < loss:
            theta, loss = theta + step, reached
        found.append((theta, loss, passes, damping))
    return found


def _descend(start: Array, x: Array, targets: Array, rate: float, updates: int) -> Array:
    """The loss of gradient descent before and after each update."""
    theta, found = start, []
    for _ in range(updates + 1):
        network = SmallNetwork(theta, x)
        found.append(half_squares(network.outputs, targets))
        theta = theta - rate * network.backward(network.outputs - targets) / len(x)
    return np.array(found)
