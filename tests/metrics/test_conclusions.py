"""valid_conclusions: entailed by the premise and not equal to it, counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from regard import RegardError
from regard.metrics.conclusions import share
from regard.worlds.inference.reading import follows

PREMISE = "the old dog chased my cat and the farmer slept"
CONCLUSIONS = {
    "the dog chased the cat": True,
    "the cat was chased": True,
    "the person slept": True,
    PREMISE: False,  # entailed, but only repeats the premise
    "the farmer chased the cat": False,
    "farmer the slept": False,
}


def test_the_share_is_that_counted_by_hand() -> None:
    written = list(CONCLUSIONS)
    found = share(written, [PREMISE] * len(written), follows)
    assert found == pytest.approx(sum(CONCLUSIONS.values()) / len(CONCLUSIONS))


def test_it_needs_one_premise(tmp_path: Path) -> None:
    two = {
        "inputs": {"premise": {"type": "text"}, "other": {"type": "text"}},
        "outputs": {"hypothesis": {"type": "text"}},
        "encoder": {name: {"type": "recurrent", "size": 8} for name in ("premise", "other")},
        "decoder": {"type": "recurrent", "size": 8, "condition": ["start"]},
        "metrics": ["valid_conclusions"],
    }
    rows = [{"premise": PREMISE, "other": "a", "hypothesis": "the cat was chased"}] * 4
    with pytest.raises(RegardError, match="needs one input, the premise"):
        regard.fit(rows, spec=two, dev=rows, run=tmp_path / "run", device="cpu", quiet=True)
