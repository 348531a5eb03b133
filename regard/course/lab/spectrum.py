"""Eigenvalues decide: a linear recurrence is the power method.

    h_t = Wᵀ h_{t−1} = (W^t)ᵀ h_0      W = Q Λ Qᵀ  ⇒  h_t = Q Λ^t Qᵀ h_0     (W symmetric, Q orthogonal)

Each component of h_0 along an eigenvector grows like its eigenvalue to the power t. In the end the
eigenvector of the largest eigenvalue dominates, and h_t·W h_t / h_t·h_t converges to that eigenvalue.

With `own`, layers with a matrix each are set beside it: W_t = r Q_t and Q_t / r in turn, Q_t orthogonal, so that
what one grows by the next shrinks; and W_1, and W_2, at every layer.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from regard.course.lab.lab import Lab, LabResult, written
from regard.inspect.plot import Curve, draw_plot
from regard.parts import Seed, register
from regard.trace import Array

Radius = Annotated[float, Field(gt=0, le=3)]
EXPLODED = 10.0
"""A factor |λ|^t above this counts as exploded, one below its inverse as vanished."""
CONVERGED = 0.01
"""The power method has converged if it differs by less than this from the eigenvalue."""


@register("lab", "spectrum")
class SpectrumLab(Lab):
    """The eigenvalues of a recurrent matrix, and its recurrence as the power method."""

    class Options(Lab.Options):
        """The eigenvalues of a recurrent matrix, and its recurrence as the power method."""

        size: Annotated[int, Field(ge=2, le=200)] = 24
        """Units of the recurrence."""
        radii: Annotated[tuple[Radius, ...], Field(min_length=1, max_length=4)] = (0.9, 1.0, 1.1)
        """Largest absolute eigenvalues to which W is scaled, one curve each."""
        steps: Annotated[int, Field(ge=2, le=1000)] = 60
        """Steps of the recurrence."""
        symmetric: bool = True
        """Whether W = Wᵀ, so that its eigenvalues are real and its eigenvectors orthogonal."""
        own: bool = False
        """Whether to compare layers with a matrix each, W_t = r Q_t and Q_t / r in turn (Q_t orthogonal, r the last of
        `radii`), with one of these matrices at every layer."""
        seed: Seed = 0
        """Seed of W and h_0."""

    summary = "a linear recurrence is the power method: its largest eigenvalue decides between 0 and ∞"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        steps = np.arange(options.steps + 1)
        unit = unit_matrix(options.size, options.symmetric, options.seed)
        start = np.random.default_rng(options.seed + 1).standard_normal(options.size)
        start /= np.linalg.norm(start)
        values = np.linalg.eigvals(unit)
        growth = {radius: norms(radius * unit, start, options.steps) for radius in options.radii}
        quotients = power_method(unit, start, options.steps)
        r, t = options.radii[-1], options.steps
        layers = layers_and_one(r, start, t, options.seed) if options.own else {}
        largest = float(np.abs(values).max())
        circle = np.linspace(0, 2 * np.pi, 121)
        top = options.radii[-1]
        plane = {
            "eigenvalues of W": Curve(top * values.real, top * values.imag, "dots"),
            "unit circle": Curve(np.cos(circle), np.sin(circle), "dashes", "muted"),
        }
        reach = max(1.15, 1.05 * top)
        rows = [(f"|λ| = {radius:g}", radius**options.steps, found[-1]) for radius, found in growth.items()]
        fates = _fates([factor for _, factor, _ in rows])
        factors = (r ** (t % 2), r**t, r**-t)
        rows += [
            (name, factor, found[-1]) for (name, found), factor in zip(layers.items(), factors, strict=False)
        ]
        blocks = [
            *(
                [
                    draw_plot(
                        {name: Curve(steps, found) for name, found in layers.items()},
                        title="Layers with a matrix each, and one of them repeated",
                        x_name="t",
                        y_name="‖h_t‖",
                        log_y=True,
                    )
                ]
                if layers
                else []
            ),
            draw_plot(
                {f"|λ| = {radius:g}": Curve(steps, found) for radius, found in growth.items()},
                x_name="t",
                y_name="‖(W^t)ᵀ h_0‖",
                log_y=True,
            ),
            draw_plot(
                plane,
                title=f"W scaled to |λ| = {top:g}",
                x_name="real part",
                y_name="imaginary part",
                x_range=(-reach, reach),
                y_range=(-reach, reach),
                width=250,
                equal=True,
            ),
            draw_plot(
                {
                    "hᵀWh / hᵀh": Curve(steps[: len(quotients)], np.abs(quotients)),
                    "largest |λ|": Curve(steps[[0, -1]], np.array([largest, largest]), "dashes", "muted"),
                },
                title="The power method finds it (W scaled to |λ| = 1)",
                x_name="t",
                height=90,
            ),
        ]
        return LabResult(
            title="Eigenvalues to the power t",
            see=f"The same W, scaled so that its largest eigenvalue is {_listed(options.radii)}: after {options.steps} "
            f"steps the state and its gradient have {fates}, and "
            + (
                "only the leading eigenvector is left."
                if abs(abs(quotients[-1]) - largest) < CONVERGED
                else "other eigenvectors than the leading one still contribute."
            )
            + (
                f" Layers with a matrix each, r Q_t and Q_t / r in turn, end at {ends[0]}; the first of these matrices "
                f"at every layer at {ends[1]}, the second at {ends[2]}."
                if (ends := [written(float(one[-1])) for one in layers.values()])
                else ""
            ),
            blocks=blocks,
            table=(("", "|λ|^t", "‖(W^t)ᵀ h_0‖"), rows),
            numbers={
                "eigenvalues": {"real": values.real, "imaginary": values.imag},
                "norms": {f"{radius:g}": found for radius, found in growth.items()},
                "layers": layers,
                "power_method": quotients,
                "matrix": unit,
            },
            worked=(
                "h(t) = Wᵀ h(t−1) = (W^t)ᵀ h(0)",
                *(["W = QΛQᵀ:  h(t) = QΛ^tQᵀ h(0)"] if options.symmetric else []),
                *(
                    f"|λ| = {radius:g}:  |λ|^{options.steps} = {written(float(factor))}"
                    for radius, (_, factor, _) in zip(options.radii, rows, strict=False)
                ),
            ),
        )


def unit_matrix(size: int, symmetric: bool, seed: int) -> Array:
    """A random matrix whose largest eigenvalue has the absolute value 1."""
    matrix = np.random.default_rng(seed).standard_normal((size, size))
    matrix = (matrix + matrix.T) / 2 if symmetric else matrix
    return np.asarray(matrix / np.abs(np.linalg.eigvals(matrix)).max())


def norms(matrix: Array, start: Array, steps: int) -> Array:
    """‖(W^t)ᵀ h_0‖ for t = 0 … steps."""
    found, state = [float(np.linalg.norm(start))], start
    for _ in range(steps):
        state = matrix.T @ state
        found.append(float(np.linalg.norm(state)))
    return np.array(found)


def layers_and_one(radius: float, start: Array, steps: int, seed: int) -> dict[str, Array]:
    """‖h_t‖ for layers with a matrix each, r Q_t and Q_t / r in turn, and for the first and second at every layer."""
    generator = np.random.default_rng(seed + 2)
    size = len(start)
    each = [
        radius ** (1 if t % 2 == 0 else -1) * np.linalg.qr(generator.standard_normal((size, size)))[0]
        for t in range(steps)
    ]
    state, found = start, [float(np.linalg.norm(start))]
    for matrix in each:
        state = matrix @ state
        found.append(float(np.linalg.norm(state)))
    return {
        "a matrix each": np.array(found),
        "W_1 each time": norms(each[0].T, start, steps),
        "W_2 each time": norms(each[1].T, start, steps),
    }


def power_method(matrix: Array, start: Array, steps: int) -> Array:
    """The Rayleigh quotients hᵀWh / hᵀh along the iteration h ← Wᵀ h / ‖Wᵀ h‖."""
    found, state = [], start / np.linalg.norm(start)
    for _ in range(steps + 1):
        following = matrix.T @ state
        found.append(float(state @ following))
        length = np.linalg.norm(following)
        state = following / length if length else following
    return np.array(found)


def _fates(factors: list[float]) -> str:
    """What the powers |λ|^t have done: "vanished, stayed or exploded"."""
    found = dict.fromkeys(
        "vanished" if factor < 1 / EXPLODED else "exploded" if factor > EXPLODED else "stayed"
        for factor in factors
    )
    if list(found) == ["stayed"]:
        return "neither vanished nor exploded"
    *others, last = found
    return f"{', '.join(others)} or {last}" if others else last


def _listed(radii: tuple[float, ...]) -> str:
    told = [written(float(radius)) for radius in radii]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
