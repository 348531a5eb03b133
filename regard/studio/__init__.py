"""The studio: a local page in which one sees, edits and compares what models do.

    regard.studio("runs/g2p")        serves the page from a thread, and gives its address

The folder can be taken away: nothing else imports it. It listens on this machine only, and serves the runs that were
named, to whoever has the token of its address.
"""

from __future__ import annotations

import sys
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.studio.serving import Studio

__all__ = ["start"]


def start(
    *runs: str | PathLike[str], port: int | None = None, browser: bool = True, device: str | None = None
) -> Studio:
    """Serve the studio of these runs from a thread; `.url` is its address, `.stop()` ends it.

    port      default: 8323, or the next free one
    browser   whether to open the page in the browser
    device    cpu, cuda, cuda:1 or mps; default: a GPU if there is one
    """
    from regard.studio.serving import start_studio

    return start_studio(runs, port=port, browser=browser, device=device)


class _Room(ModuleType):
    """This room as a function: `regard.studio(run)`."""

    def __call__(
        self,
        *runs: str | PathLike[str],
        port: int | None = None,
        browser: bool = True,
        device: str | None = None,
    ) -> Studio:
        return start(*runs, port=port, browser=browser, device=device)


sys.modules[__name__].__class__ = _Room
