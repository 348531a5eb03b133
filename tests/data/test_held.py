"""Encodings held in memory: made once while there is room, and no more room taken than given."""

from __future__ import annotations

import numpy as np

from regard.data.held import Held


def test_what_fits_is_made_once_and_the_rest_each_time() -> None:
    held, made = Held(room=100), []

    def make(row: int) -> np.ndarray:
        made.append(row)
        return np.full(40, row, dtype=np.uint8)

    for _ in range(3):
        for row in range(3):
            assert held.get("image", row, lambda row=row: make(row)).tolist() == [row] * 40
    assert made == [0, 1, 2, 2, 2]


def test_columns_are_apart() -> None:
    held = Held()
    assert held.get("one", 0, lambda: np.zeros(1)).tolist() == [0.0]
    assert held.get("two", 0, lambda: np.ones(1)).tolist() == [1.0]
