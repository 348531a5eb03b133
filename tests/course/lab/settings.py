"""Settings with which every lab runs in a fraction of a second."""

from __future__ import annotations

from typing import Any

SMALL: dict[str, dict[str, Any]] = {
    "attractors": {"grid": 24},
    "cells": {"updates": 2, "size": 6, "lines": 2, "characters": 200},
    "clipping": {"steps": 3, "size": 4},
    "convolution": {"window": 3},
    "depth": {"leaves": 8, "size": 4},
    "error-surface": {"grid": 20, "steps": 20},
    "glimpses": {"updates": 3, "readings": 2, "batch": 8, "size": 5, "glimpses": 4},
    "gradient-flow": {"steps": 6, "size": 4},
    "hessian-free": {"updates": 4, "units": 3, "products": 3},
    "ladder": {"updates": 3, "steps": 6, "size": 4, "rates": [0.01]},
    "lossy": {"lengths": [1, 2, 3], "sizes": [2, 4, 8], "rows": 20},
    "memory": {"updates": 2, "size": 4, "remembered": [1, 8]},
    "overfitting": {"updates": 40, "units": 5},
    "residual": {"layers": 5, "size": 4},
    "spectrum": {"size": 6, "steps": 12},
    "structure-speed": {"longest": 10, "repetitions": 1},
    "timing": {"longest": 32, "repetitions": 1, "size": 8},
    "turing": {"steps": 5},
    "word-order": {"updates": 2},
}
"""Labs that are missing here are fast with their defaults."""


def as_arguments(name: str) -> list[str]:
    return [part for key, value in SMALL.get(name, {}).items() for part in ("--set", f"{key}={value}")]
