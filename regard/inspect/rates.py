"""The curve of a learning-rate finder: the loss by the rate, on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from regard.inspect.curve import draw_curves
from regard.inspect.layout import frame
from regard.inspect.scene import Scene


def rates_figure(
    rates: Sequence[float], losses: Sequence[float], smoothed: Sequence[float], *, suggestion: float
) -> Scene:
    """The loss of each update and the smoothed loss; what rose far above the first loss is cut off."""
    top = 1.5 * max(losses[0], smoothed[0]) if losses else 1.0
    x = np.array([math.log10(rate) for rate in rates])
    series = {
        "smoothed": np.array([value if value <= top else math.nan for value in smoothed]),
        "loss": np.array([value if value <= top else math.nan for value in losses]),
    }
    block = draw_curves(x, series, x_name="log10 of the learning rate", y_name="loss")
    return frame(
        block,
        title=f"suggested learning rate {suggestion:g}",
        description=f"The loss while the learning rate rises; the suggestion is {suggestion:g}.",
    )
