"""A metric by the length of the input, a line for each model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from regard.inspect.chart import bars
from regard.inspect.scene import Scene

if TYPE_CHECKING:
    from regard.metrics import ByLength


def lengths_figure(
    curves: Mapping[str, ByLength], measured: str = "the input", *, title: str | None = None
) -> Scene:
    """curves: model name → scores by length; `measured` says of what."""
    labels = {bucket.label: bucket for curve in curves.values() for bucket in curve.buckets}
    places = sorted(labels, key=lambda label: labels[label].low)
    series, intervals = {}, {}
    for name, curve in curves.items():
        known = {bucket.label: bucket for bucket in curve.buckets}
        series[name] = [known[place].value if place in known else math.nan for place in places]
        intervals[name] = [
            known[place].interval if place in known else (math.nan, math.nan) for place in places
        ]
    metric = next(iter(curves.values())).metric
    return bars(
        places,
        series,
        counts=[labels[place].n for place in places],
        intervals=intervals,
        title=f"{metric} by length of {measured}" if title is None else title,
        x_name=f"units in {measured}; thin lines: 95 % of resamples",
        y_name=metric,
        style="lines",
    )
