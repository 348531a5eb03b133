"""`regard describe`"""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from regard.cli.options import Device, Overrides, Seed, search_overrides


def describe(
    what: Annotated[
        str, typer.Argument(metavar="NAME | SPEC.yaml | RUN", help="Any model.", show_default=False)
    ],
    letters: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--as",
            metavar="DECK",
            help="In the letters of a lecture (003, 004), with the parameter and rows that hold each weight.",
        ),
    ] = None,
    overrides: Overrides = None,
    device: Device = None,
    seed: Seed = None,
) -> None:
    """A model as six answers: data, encoder, decoder, parameters, loss, algorithm, with the equations."""
    from regard import zoo
    from regard.console import safe_console
    from regard.describe import board

    spec = zoo.find(what, search_overrides(None, seed, overrides))
    safe_console().print(board(spec, what, letters=letters))
