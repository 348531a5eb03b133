"""Encodings cached in memory: made once while there is room, within the memory limit."""

from __future__ import annotations

import numpy as np
import pytest

from regard.data import Column
from regard.data.encoding_cache import EncodingCache
from regard.parts import names, part


def test_what_fits_is_made_once_and_the_rest_each_time() -> None:
    made = []

    def make(value: str) -> np.ndarray:
        made.append(value)
        return np.full(40, ord(value), dtype=np.uint8)

    held = EncodingCache(room=100)
    for _ in range(3):
        for row, value in enumerate("abc"):
            assert held.get("image", value, row, make).tolist() == [ord(value)] * 40
    assert made == ["a", "b", "c", "c", "c"]


def test_rows_of_one_file_share_it_and_columns_are_apart() -> None:
    held = EncodingCache()
    first = held.get("one", "a.png", 0, lambda _: np.zeros(1))
    assert held.get("one", "a.png", 7, lambda _: np.ones(1)) is first
    assert held.get("two", "a.png", 0, lambda _: np.ones(1)).tolist() == [1.0]


def test_contents_in_the_row_are_known_by_the_row() -> None:
    held = EncodingCache()
    for row in (0, 1):
        assert held.get("one", "data:,x", row, lambda _, row=row: np.full(1, row)).tolist() == [row]


@pytest.mark.parametrize("name", [name for name in names("column") if not part("column", name).cached])
def test_what_is_not_varied_can_be_held(name: str) -> None:
    made: Column = part("column", name)("input")
    assert not made.varies
