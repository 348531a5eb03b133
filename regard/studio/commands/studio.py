"""`regard studio`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import Command, Device
from regard.parts.registry import register


@register("command", "studio")
class StudioCommand(Command):
    """See, edit and compare what models do, on a local page in the browser. Ctrl-C ends it.

    \b
    regard studio runs/g2p
    regard studio runs/translation runs/translation-segments-word
    regard studio runs/caption --port 8400 --no-browser

    The page is served on this machine only (127.0.0.1), and only to who has the token in its address.
    """

    heading = "Look inside"
    order = 205

    @classmethod
    def run(
        cls,
        runs: Annotated[
            list[Path],
            typer.Argument(
                metavar="RUN",
                help="Folder of a trained model; several can be compared.",
                show_default=False,
            ),
        ],
        port: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option(
                "--port", min=1, max=65535, metavar="N", help="Default: 8323, or the next one that is free."
            ),
        ] = None,
        browser: Annotated[
            bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
        ] = True,
        device: Device = None,
    ) -> None:
        import gc
        import os

        # One input is answered sooner by one thread: the others would wait busily, where the page is served.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        from regard.studio.serving import serve_studio

        gc.set_threshold(
            100_000, 50, 1000
        )  # a figure is made of thousands of objects, and torch of many more
        serve_studio(runs, port=port, browser=browser, device=device)
