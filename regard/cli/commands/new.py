"""`regard new`: start a part of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.command import Command
from regard.parts.registry import register


@register("command", "new")
class NewCommand(Command):
    """Write a part of your own to start from, with its test and the pyproject.toml of its package.

    \b
    regard new cell mgu
    regard new metric first-letter -o parts/
    """

    heading = "Train and measure"
    order = 60

    @classmethod
    def run(
        cls,
        kind: Annotated[
            str, typer.Argument(help="The kind of part: cell, encoder, metric, …; see `regard list parts`.")
        ],
        name: Annotated[str, typer.Argument(help="Its name, as a spec will write it.")],
        out: Annotated[
            Path | None, typer.Option("-o", "--out", help="The folder; default: the name of the part.")
        ] = None,
    ) -> None:
        from regard.templates import write_part

        folder = Path(name) if out is None else out
        for path in write_part(kind, name, folder):
            typer.echo(str(path))
        typer.echo(
            f"\nTest it:  cd {folder} && python -m pytest\nUse it everywhere:  pip install -e {folder}"
        )
