"""Every part of regard passes the check that authors of parts use."""

from __future__ import annotations

from typing import Any

import pytest

from regard.parts import KINDS, names
from regard.testing import check_part
from tests.course.lab.settings import SMALL

SLOW = {
    ("network", "vgg13"): "9 million weights",
    ("network", "vgg16"): "15 million weights",
    ("package", "cldr"): "reads all of CLDR",
    ("package", "cmudict"): "reads all of CMUdict",
    ("package", "python-docs"): "imports the standard library",
}
"""Parts whose check takes longer than all others together."""
OURS = [(kind, name) for kind in KINDS for name in names(kind) if (kind, name) not in SLOW]


SPECS: dict[str, dict[str, Any]] = {
    "dialog_accuracy": {
        "inputs": {"source": {"type": "text"}},
        "outputs": {"topic": {"type": "label"}},
        "truth": {"conversation": {"type": "group", "field": "topic"}},
        "encoder": {"type": "mean", "embedding": 4},
    }
}
"""Specs for parts that need something beside an output."""


def options(kind: str, name: str) -> dict[str, Any]:
    return dict(SMALL.get(name, {})) if kind == "lab" else {}


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("kind", "name"), OURS, ids=lambda one: one)
def test_it_passes(kind: str, name: str) -> None:
    check_part(kind, name, options(kind, name), spec=SPECS.get(name))


@pytest.mark.parametrize(("kind", "name"), [("column", "label"), ("encoder", "mean"), ("decoder", "label")])
def test_it_computes_on_the_cpu(kind: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its batches are there, so that no model may go to the default device, which is the GPU if there is one."""

    def asked() -> str:
        raise AssertionError("the default device was asked for")

    monkeypatch.setattr("regard.model.base.best_device", asked)
    check_part(kind, name)
