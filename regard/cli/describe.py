"""`regard describe`"""

from __future__ import annotations

from typing import Annotated

import typer

from regard.cli.options import Device, Overrides, Seed, search_overrides


def describe(
    what: Annotated[
        str, typer.Argument(metavar="NAME | SPEC.yaml | RUN", help="Any model.", show_default=False)
    ],
    overrides: Overrides = None,
    device: Device = None,
    seed: Seed = None,
) -> None:
    """A model as six answers: data, encoder, decoder, parameters, loss, algorithm, with the equations."""
    from regard import zoo
    from regard.console import safe_console
    from regard.describe import board

    safe_console().print(board(zoo.find(what, search_overrides(None, seed, overrides)), what))
