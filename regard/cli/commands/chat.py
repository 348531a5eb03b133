"""`regard chat`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import (
    Beam,
    Command,
    Device,
    Loading,
    Of,
    Overrides,
    Overwrite,
    Run,
    Seed,
    spec_changes,
)
from regard.cli.outputs import outputs
from regard.parts.registry import register


@register("command", "chat")
class ChatCommand(Command):
    """Talk with a model of dialogs: each line is a turn; Ctrl-D ends. From a pipe, one answer per line.

    \b
    regard chat runs/dialog-context
    regard chat runs/dialog-context --trace
    printf 'hello\\nwho made it ?\\n' | regard chat runs/dialog-context

    Lines that begin with a slash are commands:

    \b
    /undo              undo your last turn and its answer
    /history           show the dialog
    /trace             show or hide which turns were attended to
    /turn NAME: TEXT   add a turn of another speaker, such as a fact, without an answer
    /new               begin a new dialog
    /help, /quit

    Write a turn that begins with a slash with two slashes.
    """

    heading = "Use"
    order = 130
    computes = True

    @classmethod
    def run(
        cls,
        run: Run,
        trace: Annotated[
            bool, typer.Option("--trace", help="After each answer, show which turns the model attended to.")
        ] = False,
        history: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "--history",
                metavar="FILE",
                help="Continue the dialog in this file: turns such as `U: hello`, one per line, or JSON.",
            ),
        ] = None,
        output: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "-o",
                "--output",
                metavar="FILE",
                help="Write the dialog to this file at the end; --history continues it.",
            ),
        ] = None,
        user: Annotated[str, typer.Option("--user", metavar="NAME", help="Your name in the data.")] = "U",
        bot: Annotated[
            str, typer.Option("--bot", metavar="NAME", help="The model's name in the data.")
        ] = "B",
        of: Of = None,
        beam: Beam = None,
        overwrite: Overwrite = False,
        overrides: Overrides = None,
        device: Device = None,
        seed: Seed = None,
    ) -> None:
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
