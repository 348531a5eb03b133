"""What a server tells about itself."""

from __future__ import annotations

from starlette.routing import Route


def documents() -> list[Route]:
    return []
