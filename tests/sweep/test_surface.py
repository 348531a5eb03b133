"""Samplers keep to their ranges and are repeatable; bench/sweep.py compares them with random search."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import regard


def bowl(x: Mapping[str, Any]) -> float:
    """Its minimum is 0, at 0.003, 300 and lstm."""
    rate, size = math.log10(x["rate"] / 0.003), (x["size"] - 300) / 200
    return rate**2 + size**2 + (0.0 if x["cell"] == "lstm" else 0.3)


VARY = {"rate": "1e-5..1e-1:log", "size": "32..1024", "cell": ["rnn", "gru", "lstm"]}


def test_a_search_is_repeated_exactly_and_differs_by_seed() -> None:
    first, again, other = (regard.sweep.minimize(bowl, VARY, trials=12, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_samplers_keep_to_the_ranges() -> None:
    for sampler in ("tpe", "random"):
        for values, _ in regard.sweep.minimize(bowl, VARY, trials=11, sampler=sampler):
            assert 1e-5 <= values["rate"] <= 1e-1
            assert isinstance(values["size"], int)
            assert values["cell"] in VARY["cell"]


def test_a_grid_tries_every_point_once() -> None:
    tried = regard.sweep.minimize(
        lambda x: x["a"] * x["b"], {"a": "1..3", "b": [5, 7]}, trials=100, sampler="grid"
    )
    assert sorted((one["a"], one["b"]) for one, _ in tried) == [(a, b) for a in (1, 2, 3) for b in (5, 7)]
