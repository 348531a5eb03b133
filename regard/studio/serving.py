"""Starting and ending the studio: its port, its server, the browser."""

from __future__ import annotations

import errno
import html
import socket
import threading
import time
from collections.abc import Sequence
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from regard.errors import MissingExtra, RegardError
from regard.studio.security import Launch

if TYPE_CHECKING:
    from regard.studio.runs import Runs

HOST = "127.0.0.1"
PORT = 8323
TRIED = 50
"""Number of ports that are tried, if none was asked for."""
PATIENCE = 15
"""Seconds in which the server ends on a busy machine. A thread that outlives the program prints a traceback."""


class Studio:
    """A studio that is served from a thread.

    url   its address, with the token of this launch
    """

    def __init__(self, runs: Runs, launch: Launch, server: Any, bound: socket.socket) -> None:
        self._runs, self._launch, self._server, self._bound = runs, launch, server, bound
        self._thread = threading.Thread(
            target=server.run, kwargs={"sockets": [bound]}, name="studio", daemon=True
        )

    @property
    def url(self) -> str:
        return self._launch.url

    @property
    def port(self) -> int:
        return self._launch.port

    def start(self) -> Self:
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.005)
        return self

    def stop(self) -> None:
        """End the studio; its address answers no more."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(PATIENCE)
        self._runs.stop()
        self._bound.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Studio({self.url})"

    def _repr_html_(self) -> str:
        address = html.escape(self.url, quote=True)
        return f'<a href="{address}" target="_blank" rel="noopener">{address}</a>'


def start_studio(
    runs: Sequence[str | PathLike[str]],
    *,
    port: int | None = None,
    browser: bool = True,
    device: str | None = None,
) -> Studio:
    """Serve the studio from a thread; `regard.studio.start` says what the options are."""
    studio = _made(runs, port, device).start()
    if browser:
        _browse(studio.url)
    return studio


def serve_studio(
    runs: Sequence[str | PathLike[str]],
    *,
    port: int | None = None,
    browser: bool = True,
    device: str | None = None,
) -> None:
    """Serve the studio until Ctrl-C."""
    from regard.reporting.terminal import say

    studio = _made(runs, port, device)
    try:
        studio.start()
        say(f"{studio.url}\nCtrl-C ends it.")
        if browser:
            _browse(studio.url)
        while studio._thread.is_alive():
            studio._thread.join(0.2)
    except KeyboardInterrupt:
        say("")
    finally:
        studio.stop()


def _made(runs: Sequence[str | PathLike[str]], port: int | None, device: str | None) -> Studio:
    try:
        import uvicorn

        from regard.studio.app import make_app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("uvicorn", "starlette", "h11", "anyio"):
            raise
        raise MissingExtra(error.name, "studio", "the studio") from None
    from regard.studio.runs import Runs

    known = Runs(runs, device=device)
    try:
        bound = bind(port)
    except RegardError:
        known.stop()
        raise
    launch = Launch(bound.getsockname()[1])
    config = uvicorn.Config(
        make_app(known, launch),
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        http="h11",
        loop="asyncio",
        timeout_graceful_shutdown=1,
        timeout_keep_alive=3600,  # a page that was left alone for a while is answered at once
    )
    for run in known:
        run.worker.submit(lambda run=run: run.model)  # type: ignore[misc]
    return Studio(known, launch, uvicorn.Server(config), bound)


def bind(port: int | None) -> socket.socket:
    """A socket on this machine alone: on the port that was asked for, or on the first free one from 8323."""
    for tried in [port] if port is not None else [*range(PORT, PORT + TRIED), 0]:
        # With this protocol asyncio sends small packets at once.
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((HOST, tried))
            bound.listen(128)
            return bound
        except OSError as error:
            bound.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
    raise RegardError(
        f"port {port} is taken, or not allowed.",
        where="port",
        fix="Choose another one, or leave it out.",
    )


def _browse(url: str) -> None:
    """Open the page; without a browser, the address was printed."""
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
