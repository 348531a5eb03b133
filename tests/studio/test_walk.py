"""Runs of several layouts, looked into in every way; `bench/looking.py` does so for every system of the zoo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regard.report import report
from tests.studio.client import Client
from tests.zoo.looks import Asking, report_faults, show_faults, trace_faults

LAYOUTS = {
    "translation": "matrix",
    "caption": "image",
    "facts": "hops",
    "document-class": "document",
    "dialog-context": "dialog",
    "video-class": "video",
    "pointer-hull": "plane",
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_run_of_each_layout_is_looked_into(
    name: str, load: Any, folders: dict[str, Path], client: Client
) -> None:
    model, folder = load(name), folders[name]
    assert list(report_faults(report(model, rows=4, figures=1))) == []
    assert list(show_faults(model, folder)) == []
    assert list(trace_faults(model, folder)) == []
    assert list(Asking(client, name).faults()) == []
