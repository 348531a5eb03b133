"""`regard lab`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import Command, Overwrite
from regard.cli.outputs import outputs
from regard.parts.registry import register


@register("command", "lab")
class LabCommand(Command):
    """See what gradients, gates and dynamic programs do: small experiments with a figure and a sentence each.

    \b
    regard lab
    regard lab jacobian -o jacobian.svg --set steps=100
    regard lab inside-outside -o tables.html
    """

    heading = "Learn"
    order = 310

    @classmethod
    def run(
        cls,
        name: Annotated[
            Optional[str],  # noqa: UP045
            typer.Argument(metavar="NAME", help="A lab. Default: list them all.", show_default=False),
        ] = None,
        output: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "-o",
                "--output",
                metavar="FILE",
                help="Write the figure here (.svg .png .pdf), or a page (.html).",
            ),
        ] = None,
        json_file: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "--json", metavar="FILE", help="Write the numbers here as JSON; -: standard output."
            ),
        ] = None,
        settings: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the lab. Can be repeated."),
        ] = None,
        overwrite: Overwrite = False,
    ) -> None:
        from regard.course.experimenting import list_labs, run_lab

        if name is None:
            list_labs(output=output, json_file=json_file, settings=settings or [])
        else:
            with outputs({"--output": output, "--json": json_file}, overwrite=overwrite):
                run_lab(name, output=output, json_file=json_file, settings=settings or [])
