"""A server that answers with trained models, and its client.

    regard.serve.app("runs/translation")        the server as an ASGI application

The folder can be taken away: nothing else imports it.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.serve.application import ServeApp

__all__ = ["app"]


def app(*runs: str | PathLike[str], device: str | None = None, **options: Any) -> ServeApp:
    """The server of these runs as an ASGI application, for uvicorn, Ray Serve or any other ASGI server.

    device    cpu, cuda, cuda:1 or mps; default: a GPU if there is one
    options   those of `regard.serve.options.ServeOptions`: `max_batch`, `max_wait`, `queue`, `timeout`, `keys`, …

    The models are loaded at the start of the server, or at the first request. The application can be pickled: a copy
    loads the models itself.
    """
    from regard.serve.application import make_app

    return make_app(runs, device=device, **options)
