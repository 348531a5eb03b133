"""Conversion of the numbers of a trace to arrays, and to and from JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


def no_scores() -> Array:
    return np.zeros(0)


def arrays(values: Mapping[str, Any]) -> dict[str, Array]:
    return {name: np.asarray(array, dtype=np.float64) for name, array in values.items()}


def to_json(score: float) -> float | None:
    """None for minus infinity, the score of an impossible output, which JSON does not have."""
    return float(score) if math.isfinite(score) else None


def from_json(score: float | None) -> float:
    return -math.inf if score is None else score
