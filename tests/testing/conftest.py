"""What a test registers is forgotten after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from regard.parts import KINDS, names, registry


@pytest.fixture(autouse=True)
def only_here() -> Iterator[None]:
    for kind in KINDS:
        names(kind)
    parts = {kind: dict(known) for kind, known in registry.PARTS.items()}
    yield
    for kind in KINDS:
        registry.PARTS[kind] = parts[kind]
