"""A lab: how a needle comes to rest."""

from __future__ import annotations

from typing import Any

import numpy as np

import regard
from regard.inspect.plot import Curve, draw_plot
from regard.parts import Size


@regard.register("lab", "needle")
class NeedleLab(regard.course.lab.Lab):
    """A damped needle."""

    class Options(regard.course.lab.Lab.Options):
        """Halving from step to step."""

        steps: Size = 10
        """Number of steps."""

    summary = "how a needle comes to rest"

    @classmethod
    def run(cls, options: Any) -> regard.course.lab.LabResult:
        t = np.arange(options.steps + 1)
        return regard.course.lab.LabResult(
            title="A needle",
            see="Every step halves the distance.",
            blocks=[draw_plot({"distance": Curve(t, 0.5**t)}, x_name="t")],
            table=(("t", "distance"), [(options.steps, 0.5**options.steps)]),
            numbers={"distances": 0.5**t},
        )
