"""The error surface of a recurrence: plateaus, and a cliff between them.

The unit and its gradient are in `surface.py`.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from regard.course.lab.lab import Lab, LabResult, written
from regard.course.lab.surface import surface
from regard.errors import RegardError
from regard.inspect.image_plot import draw_raster
from regard.inspect.plot import Curve, draw_plot
from regard.parts import register
from regard.trace import Array

Number = Annotated[float, Field(ge=-50, le=50)]


@register("lab", "error-surface")
class ErrorSurfaceLab(Lab):
    """The loss of one recurrent unit over its weight and its bias."""

    class Options(Lab.Options):
        """The loss of one recurrent unit over its weight and its bias."""

        steps: Annotated[int, Field(ge=1, le=500)] = 50
        """T, the number of steps."""
        target: Annotated[float, Field(gt=0, lt=1)] = 0.7
        """The target of σ(x_T)."""
        start: Number = 0.5
        """x_0."""
        weights: tuple[Number, Number] = (2.0, 8.0)
        """The range of w to draw."""
        biases: tuple[Number, Number] = (-5.0, 1.0)
        """The range of b to draw."""
        bias: Number = -2.5
        """b of the slice below the map."""
        grid: Annotated[int, Field(ge=10, le=400)] = 120
        """Points along each side of the map."""

    summary = "the loss of one recurrent unit over w and b: plateaus with a cliff between them"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        for name in ("weights", "biases"):
            low, high = getattr(options, name)
            if not low < high:
                raise RegardError(
                    f"expected the smaller end first, received [{low:g}, {high:g}].", where=f"--set {name}"
                )
        w, b = (np.linspace(low, high, options.grid) for low, high in (options.weights, options.biases))
        given = {"steps": options.steps, "start": options.start, "target": options.target}
        loss, along_w, along_b = surface(w[None], b[:, None], **given)
        steep = np.hypot(along_w, along_b)
        fine = refined(options.weights, options.bias, given)
        line, slope, _ = surface(fine, np.full(len(fine), options.bias), **given)
        top = np.unravel_index(steep.argmax(), steep.shape)
        edge = int(np.abs(slope).argmax())
        rows = [
            ("smallest loss on the map", float(loss.min())),
            ("largest loss on the map", float(loss.max())),
            ("median ‖gradient‖", float(np.median(steep))),
            ("largest ‖gradient‖", float(steep.max())),
            (f"steepest slope at b = {options.bias:g}", float(np.abs(slope).max())),
            ("  found at w", float(fine[edge])),
        ]
        blocks = [
            draw_raster(
                loss[::-1] / loss.max(),
                title="Loss",
                name="",
                ends=("0", f"{loss.max():.2f}"),
                x_name="w",
                y_name="b",
                x_range=options.weights,
                y_range=options.biases,
                size=250,
                height=190,
                smooth=True,
                over={
                    "_slice": Curve(np.array(options.weights), np.full(2, options.bias), "dashes", "series-5")
                },
            ),
            draw_plot(
                {"loss": Curve(fine, line)},
                title=f"Along the dashed line, b = {options.bias:g}",
                x_name="w",
                height=90,
                x_range=options.weights,
            ),
            draw_plot(
                {"|∂loss/∂w|": Curve(fine, np.abs(slope))},
                title="|∂loss/∂w| along it",
                x_name="w",
                height=90,
                log_y=True,
                x_range=options.weights,
            ),
        ]
        even = np.abs(surface(w, np.full(len(w), options.bias), **given)[1])
        ratio = float(np.abs(slope).max() / (np.median(even) or 1.0))
        return LabResult(
            title="An error surface with a cliff",
            see=f"The loss is nearly flat on both sides and falls steeply between them: at w = {fine[edge]:.2f} "
            f"the slope is {written(float(round(ratio)))} times the median slope, and one "
            "gradient step from there leaps away.",
            blocks=blocks,
            table=(("", "value"), rows),
            numbers={
                "w": w,
                "b": b,
                "loss": loss,
                "gradient_norm": steep,
                "steepest": {"w": w[top[1]], "b": b[top[0]]},
                "slice": {"w": fine, "loss": line, "slope": slope},
            },
        )


def refined(ends: tuple[float, float], bias: float, given: dict[str, Any]) -> Array:
    """Weights along a slice, refined where the slope is steepest."""
    found = low_high = np.array(ends)
    for _ in range(4):
        fine = np.linspace(low_high[0], low_high[1], 400)
        found = np.union1d(found, fine)
        steepest = int(np.abs(surface(fine, np.full(400, bias), **given)[1]).argmax())
        low_high = fine[[max(0, steepest - 1), min(399, steepest + 1)]]
    return found
