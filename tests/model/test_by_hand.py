"""Networks with weights set by hand compute the intended function for every short sequence."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard import Model
from regard.errors import RegardError
from regard.fitting.experiment import Experiment
from regard.zoo import find

LONGEST = 10


def model(name: str, folder: Path) -> Model:
    world = f"{{type: {name.split('-')[0]}, train: 4, dev: 4, test: 4, long: 2}}"
    spec = find(name).changed(f"data.world={world}")
    return Experiment(spec, folder / name, device="cpu", quiet=True).train()


def answers(made: Model, field: str, values: list[Any]) -> list[Any]:
    found = made.predict([{field: value} for value in values], trace=False)
    return [answer.value for answer in found]


def test_parity_is_exact(tmp_path: Path) -> None:
    rows = [list(bits) for length in range(1, LONGEST + 1) for bits in product((0, 1), repeat=length)]
    found = answers(model("parity-by-hand", tmp_path), "numbers", rows)
    assert found == ["NO" if sum(bits) % 2 else "YES" for bits in rows] and len(rows) == 2046


def test_sums_are_exact(tmp_path: Path) -> None:
    rows = [list(one) for length in range(1, LONGEST + 1) for one in product((-0.75, 2.0), repeat=length)]
    found = answers(model("sum-by-hand", tmp_path), "numbers", rows)
    assert found == [float(sum(map(Fraction, row))) for row in rows]


def test_comparisons_are_exact(tmp_path: Path) -> None:
    steps = ((1.0, 0.5), (0.25, 1.0))
    rows = [list(one) for length in range(1, LONGEST + 1) for one in product(steps, repeat=length)]
    totals = [np.array(row).sum(0) for row in rows]
    decided = [(row, total) for row, total in zip(rows, totals, strict=True) if total[0] != total[1]]
    found = answers(model("compare-by-hand", tmp_path), "pairs", [np.array(row) for row, _ in decided])
    assert found == ["first" if total[0] > total[1] else "second" for _, total in decided]
    assert len(decided) > 1500


def test_longer_than_it_was_ever_trained(tmp_path: Path) -> None:
    made = model("parity-by-hand", tmp_path)
    bits = np.random.default_rng(1).integers(0, 2, (20, 1000))
    assert answers(made, "numbers", bits.tolist()) == ["NO" if row.sum() % 2 else "YES" for row in bits]


@pytest.mark.parametrize("value", ["[1, 2", "[[1], [2, 3]]", "[]", '["a"]', "[1, null]"])
def test_lists_that_are_no_series_are_refused(value: str, tmp_path: Path) -> None:
    made = model("sum-by-hand", tmp_path)
    with pytest.raises(RegardError, match="numbers is the list"):
        made.predict({"numbers": value})
