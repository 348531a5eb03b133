"""Starting and ending a server: its port, its processes, its signals."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from regard.errors import MissingExtra, RegardError

if TYPE_CHECKING:
    from regard.serve.application import ServeApp

HOST, PORT = "127.0.0.1", 8000
CONNECTIONS = 4096
PAUSE = 0.5
"""Seconds between a signal and a second one that counts: Ctrl-C reaches a worker twice."""


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens on this address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio then sends at once
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(1024)
    except OSError as error:
        bound.close()
        reasons = {errno.EADDRINUSE: "is taken", errno.EACCES: "is not allowed"}
        reason = reasons.get(error.errno or 0, f"cannot be used: {error.strerror}")
        raise RegardError(
            f"the address {host}:{port} {reason}.", where="--port", fix="Choose another one."
        ) from None
    return bound


def uvicorn_server(app: ServeApp, parent: int | None = None) -> Any:
    """A server of uvicorn that ends gracefully: new requests are refused for a moment, accepted ones answered.

    parent   the process without which it ends
    """
    try:
        import uvicorn
    except ModuleNotFoundError as error:
        raise MissingExtra(str(error.name), "serve", "the server") from None

    class Server(uvicorn.Server):
        ending: float | None = None

        def handle_exit(self, sig: int, frame: Any) -> None:
            if self.ending is None:
                self.ending = time.monotonic()
                app.drain()
            elif time.monotonic() - self.ending > PAUSE:  # the second signal ends it at once
                self.should_exit = self.force_exit = True

        async def on_tick(self, counter: int) -> bool:
            done = await super().on_tick(counter)
            if parent is not None and os.getppid() != parent and self.ending is None:
                self.handle_exit(signal.SIGTERM, None)  # nobody else would end it
            if self.ending is None:
                return done
            over = time.monotonic() - self.ending
            idle = app.active == 0 and not app.batcher.busy
            return done or (over >= app.options.grace and idle) or over > app.options.max_timeout

    return Server(
        uvicorn.Config(
            app,
            log_level="error",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            lifespan="on",
            ws="none",
            loop="asyncio",
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=int(app.options.max_timeout) + 1,
        )
    )


class Serving:
    """A server in a thread, for notebooks and tests."""

    def __init__(self, app: ServeApp, host: str = HOST, port: int = 0) -> None:
        self.app, self._bound = app, bind(host, port)
        self.port: int = self._bound.getsockname()[1]
        self.url = f"http://{host}:{self.port}"
        self._server = uvicorn_server(app)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._bound]}, daemon=True
        )

    def __enter__(self) -> Serving:
        self._thread.start()
        while not (self._server.started and self.app.batcher.ready) and self._thread.is_alive():
            if self.app.batcher.failed is not None:
                raise self.app.batcher.failed
            time.sleep(0.005)
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.handle_exit(signal.SIGTERM, None)
        self._thread.join(30)
        self._bound.close()


def serve(
    runs: Sequence[str | PathLike[str]],
    *,
    host: str = HOST,
    port: int = PORT,
    workers: int = 1,
    device: str | None = None,
    **options: Any,
) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    from regard.reporting.terminal import say

    with _shared_counts(workers):
        from regard.serve.application import make_app

        app = make_app(runs, device=device, **options)
        bound = bind(host, port)
        try:
            import torch

            threads = torch.get_num_threads()
            if workers > 1:
                torch.set_num_threads(1)  # no pool of threads may exist when the process forks
            app.models.load()
            address = f"http://{host}:{bound.getsockname()[1]}"
            say(
                f"{', '.join(one.name for one in app.models)} at {address}, its documentation at {address}/docs"
            )
            if workers == 1:
                _run(app, bound)
            else:
                _refuse_forks(app)
                _forked(app, bound, workers, max(1, threads // workers))
        finally:
            bound.close()


def _run(app: ServeApp, bound: socket.socket, parent: int | None = None) -> None:
    import gc

    gc.collect()
    gc.freeze()
    uvicorn_server(app, parent).run(sockets=[bound])
    if app.batcher.failed is not None:
        raise app.batcher.failed


def _refuse_forks(app: ServeApp) -> None:
    if any(one.model.device.type != "cpu" for one in app.models):
        raise RegardError(
            "several processes cannot share a GPU after a fork.",
            where="--workers",
            fix="Leave it out: one process fills a GPU by larger batches. Or pass --device cpu.",
        )


def _forked(app: ServeApp, bound: socket.socket, workers: int, threads: int) -> None:
    """Fork workers that share the loaded models, start those again that die, and end them on a signal."""
    import gc

    gc.collect()
    gc.freeze()  # pages of the models stay shared
    children: dict[int, float] = {}
    ending: list[int] = []

    def end(number: int, _: Any) -> None:
        ending.append(number)
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)

    parent = os.getpid()
    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}

    def start() -> None:
        child = os.fork()
        if child == 0:
            for number in before:
                signal.signal(number, signal.SIG_DFL)
            status = 1
            try:
                import torch

                torch.set_num_threads(threads)
                _run(app, bound, parent)
                status = 0
            finally:
                os._exit(status)
        children[child] = time.monotonic()

    try:
        for _ in range(workers):
            start()
        while children:
            try:
                child, _ = os.wait()
            except InterruptedError:
                continue
            began = children.pop(child, 0.0)
            _forget(child)
            if not ending:
                if time.monotonic() - began < 1.0:
                    end(signal.SIGTERM, None)
                    raise RegardError("a worker ended as soon as it was started.", where="serve")
                start()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _shared_counts(workers: int) -> Iterator[None]:
    """A folder through which several processes add their counts, while they run."""
    from regard.serve.measuring import SHARED

    if workers == 1 or SHARED in os.environ:
        yield
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="regard-serve-") as folder:
        os.environ[SHARED] = folder
        try:
            yield
        finally:
            del os.environ[SHARED]


def _forget(child: int) -> None:
    from regard.serve.measuring import SHARED

    if SHARED in os.environ:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(child)  # type: ignore[no-untyped-call]
