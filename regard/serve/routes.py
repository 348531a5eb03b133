"""All routes of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.serve.answering import Handler, error_response, told
from regard.serve.documentation import documents
from regard.serve.plain_routes import PlainRoutes
from regard.serve.protocol_routes import protocol_routes
from regard.serve.refusing import Refused
from regard.serve.streaming import StreamRoutes

if TYPE_CHECKING:
    from regard.serve.application import ServeApp


def routes(app: ServeApp) -> list[Route]:
    """All routes of a server."""
    plain, streams = PlainRoutes(app), StreamRoutes(app)
    posts: dict[str, Handler] = {
        "/predict": plain.predict,
        "/chat": plain.chat,
        "/generate": streams.generate,
        "/stream": streams.stream,
    }
    return [
        *(Route(path, told(path, handler), methods=["POST"]) for path, handler in posts.items()),
        Route("/metrics", told("/metrics", plain.metrics)),
        *protocol_routes(app),
        *documents(),
    ]


def errors() -> dict[Any, Any]:
    """What starlette itself refuses, as our errors."""

    async def unknown(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        fix = "GET /docs tells what there is." if error.status_code == 404 else ""
        made = Refused(error.status_code, f"{error.detail}.", fix=fix, headers=error.headers)
        return error_response(made, plain=not request.url.path.startswith("/v2"))

    return {HTTPException: unknown}
