"""The server as an ASGI application: it admits requests, counts and logs them, and passes them to the routes."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager
from os import PathLike
from typing import Any

from regard.errors import MissingExtra
from regard.serve.options import ServeOptions

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

OPEN = ("/v2/health/live", "/v2/health/ready", "/docs", "/openapi.json")
"""Paths that need no key: probes have none, and the pages tell nothing about the models."""
ALWAYS = ("/v2/health/live", "/metrics")
"""Paths that are answered while the server ends."""
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
]
ROUTE, DETAILS = "regard.route", "regard.details"
"""Keys of a scope: the name of the route, and what the log tells about the request."""


def make_app(runs: Sequence[str | PathLike[str]], *, device: str | None = None, **options: Any) -> ServeApp:
    """The server of some runs; `regard.serve.app` says what the options are."""
    try:
        import prometheus_client  # noqa: F401
        import starlette  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtra(str(error.name), "serve", "the server") from None
    return ServeApp([str(one) for one in runs], device, ServeOptions(**options))


def _again(runs: list[str], device: str | None, options: ServeOptions) -> ServeApp:
    return ServeApp(runs, device, options)


class ServeApp:
    """An ASGI application. Its models are loaded when the server starts, or at the first request."""

    def __init__(self, runs: list[str], device: str | None, options: ServeOptions) -> None:
        from regard.serve.batching import Batcher
        from regard.serve.logging import AccessLog
        from regard.serve.measuring import Metrics
        from regard.serve.models import ServedModels

        self._made_of = runs, device, options
        self.options, self.models, self.metrics = options, ServedModels(runs, options, device), Metrics()
        self.batcher = Batcher(options, self.metrics, self._prepare)
        self.log = AccessLog(options.log)
        self.active, self.draining = 0, False
        self._keys = [key.encode() for key in options.keys]
        self._routes = self._starlette()

    def __reduce__(self) -> Any:
        return _again, self._made_of

    def _prepare(self) -> None:
        self.models.load()
        for one in self.models:
            one.warm()

    def _starlette(self) -> Any:
        from starlette.applications import Starlette

        from regard.serve.routes import errors, routes

        @asynccontextmanager
        async def lifespan(_: Any) -> Any:
            self.batcher.start()
            if self.options.load_first:
                await asyncio.to_thread(self.batcher.prepared)
            yield
            await asyncio.to_thread(self.batcher.stop)

        return Starlette(routes=routes(self), exception_handlers=errors(), lifespan=lifespan)

    @property
    def ready(self) -> bool:
        """Whether requests are answered now."""
        self.batcher.start()
        return self.batcher.ready and not self.draining

    def drain(self) -> None:
        """From now on new requests are told that the server ends; those that were accepted are answered."""
        self.draining = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            else:
                await self._routes(scope, receive, send)
            return
        self.batcher.lag.watch()
        began, status = time.monotonic(), 499
        scope[ROUTE], scope[DETAILS] = "other", {}

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                more = [*HEADERS, (b"connection", b"close")] if self.draining else HEADERS
                message["headers"] = [*message.get("headers", ()), *more]
            await send(message)

        counted = False
        try:
            refused = self._refused(scope)
            if refused is not None:
                await _refuse(scope, noted, *refused)
                return
            self.active, counted = self.active + 1, True
            await self._routes(scope, receive, noted)
        finally:
            self.active -= counted
            seconds = time.monotonic() - began
            self.metrics.request(scope[ROUTE], status, seconds)
            self.log.add(scope, status, seconds)

    def _refused(self, scope: Scope) -> tuple[int, str, str, Mapping[str, str]] | None:
        """Why a request is refused before it is read: status, message, remedy and headers."""
        path = scope["path"]
        if self._keys and path not in OPEN and not self._knows(scope["headers"]):
            return (
                401,
                "the key is missing or wrong.",
                "Send  Authorization: Bearer KEY",
                {"www-authenticate": "Bearer"},
            )
        if self.draining and path not in ALWAYS:
            return 503, "the server is shutting down.", "Ask again in 1 s.", {"retry-after": "1"}
        if scope["method"] == "POST" and self.batcher.room < 1:
            from regard.serve.refusing import Busy

            busy = Busy(self.batcher.expected())
            return 429, str(busy.message), str(busy.fix), busy.headers
        return None

    def _knows(self, headers: Sequence[tuple[bytes, bytes]]) -> bool:
        """Whether a request has one of the keys; compared in constant time."""
        given = b""
        for name, value in headers:
            if name == b"x-api-key":
                given = value
            elif name == b"authorization" and value[:7].lower() == b"bearer ":
                given = value[7:].strip()
        known = False
        for key in self._keys:
            known |= hmac.compare_digest(given, key)
        return known


async def _refuse(
    scope: Scope, send: Send, status: int, message: str, fix: str, headers: Mapping[str, str]
) -> None:
    from regard.storage.plain_json import dumped

    told: Any = {"message": message, "where": "", "fix": fix}
    if scope["path"].startswith("/v2"):
        told = f"{message} {fix}"
    body = dumped({"error": told})
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    head += [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})
