"""`regard chat`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.options import Beam, Device, Loading, Of, Overrides, Overwrite, Run, Seed, spec_changes
from regard.cli.outputs import outputs


def chat(
    run: Run,
    trace: Annotated[
        bool, typer.Option("--trace", help="Show after each answer which turns were looked at.")
    ] = False,
    history: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--history",
            metavar="FILE",
            help="Go on with the dialog in this file: turns such as `U: hello`, one a line, or JSON.",
        ),
    ] = None,
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "-o", "--output", metavar="FILE", help="Write the dialog here at the end, as --history reads it."
        ),
    ] = None,
    user: Annotated[str, typer.Option("--user", metavar="NAME", help="Your name in the data.")] = "U",
    bot: Annotated[str, typer.Option("--bot", metavar="NAME", help="The model's name in the data.")] = "B",
    of: Of = None,
    beam: Beam = None,
    overwrite: Overwrite = False,
    overrides: Overrides = None,
    device: Device = None,
    seed: Seed = None,
) -> None:
    """Talk with a model that answers dialogs, one line a turn; end with Ctrl-D. From a pipe, one answer a line.

    regard chat runs/dialog-context · regard chat runs/dialog-context --trace ·
    printf 'hello\\nwho made it ?\\n' | regard chat runs/dialog-context

    Lines that begin with a slash are commands:

    /undo takes back your last turn and its answer\n
    /history shows the dialog\n
    /trace shows, or hides, where the model looked\n
    /turn NAME: TEXT adds a turn of somebody else, such as a fact, without an answer\n
    /new begins a new dialog · /help · /quit

    A turn that begins with a slash is written with two.
    """
    from regard.cli.chatting import talk

    with outputs({"--output": output}, overwrite=overwrite):
        talk(
            run,
            trace=trace,
            history=history,
            output=output,
            speakers=(user, bot),
            of=of,
            how=Loading(spec_changes(overrides, beam=beam, seed=seed), device),
        )
