"""The modules of the bench, imported from its folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="session")
def of_bench() -> Callable[[str], Any]:
    def imported(name: str) -> Any:
        sys.path.insert(0, str(BENCH))
        try:
            return import_module(name)
        finally:
            sys.path.remove(str(BENCH))

    return imported
