"""One small trained model for all questions."""

from __future__ import annotations

import pytest

from regard import Model

from .reversing import trained


@pytest.fixture(scope="session")
def reverser(learning_seed: int) -> Model:
    """It reverses words of two to five letters."""
    return trained(seed=learning_seed, epochs=10)
