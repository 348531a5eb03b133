"""The sign × of a weight without effect, on every layout in which a weight has a place."""

from dataclasses import replace

import numpy as np
import pytest

from regard.inspect import figure, svg
from tests.live.drawn_scenes import all_traces

COUNTED = {
    "image": 3,
    "glimpses": 3,
    "video": 2,
    "series": 2,
    "segments": 9,
    "hops": 3,
    "nodes": 3,
    "document": 2,
}
"""Weights of at least 0.2 that each figure draws, counted by hand."""


@pytest.mark.parametrize("name", COUNTED)
def test_a_weight_without_effect_has_a_sign_in_every_layout(name: str) -> None:
    trace = all_traces()[name]
    without = {one: np.zeros((len(trace.output), len(pieces))) for one, pieces in trace.input.items()}
    drawn = figure(replace(trace, effects=without))
    written = svg(drawn)
    assert written.count('data-idle="1"') == 2 * COUNTED[name] + 2  # two lines each, and the legend
    assert ">no effect on log p<" in written
    assert f"{COUNTED[name]} weights have no effect on log p." in drawn.description
    needed = {one: np.full_like(rows, 0.5) for one, rows in without.items()}
    assert svg(figure(replace(trace, effects=needed))).count('data-idle="1"') == 2  # the legend
    assert "data-idle" not in svg(figure(trace))


def test_only_the_weight_without_effect_has_it() -> None:
    trace = all_traces()["video"]
    effects = np.full((3, 6), 0.5)
    effects[1, 4] = -0.009
    written = svg(figure(replace(trace, effects={"film": effects})))
    assert written.count('data-idle="1"') == 2 + 2
    assert written.count("no effect on log p</title>") == 1
