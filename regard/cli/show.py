"""`regard show`"""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from regard.cli.options import Beam, Device, Output, Overrides, Run, Seed, search_overrides


def show(
    run: Run,
    text: Annotated[
        list[str], typer.Argument(metavar="TEXT", help="One input; several words need no quotes.")
    ],
    target: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--target", help="Where does it look while it writes this, instead of its own answer?"),
    ] = None,
    output: Output = None,
    beam: Beam = None,
    overrides: Overrides = None,
    device: Device = None,
    seed: Seed = None,
) -> None:
    """See where a model looked, in the terminal or as a figure (-o .svg .png .pdf .html).

    regard show runs/g2p attention · regard show runs/translation the small cat sleeps -o cat.svg
    """
    from regard.cli.answering import show_trace

    show_trace(
        run,
        text=" ".join(text),
        target=target,
        output=output,
        overrides=search_overrides(beam, seed, overrides),
        device=device,
    )
