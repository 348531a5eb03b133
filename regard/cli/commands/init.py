"""`regard init`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import Command
from regard.parts.registry import register


@register("command", "init")
class InitCommand(Command):
    """Print the spec of a system of the zoo as a start for your own, or convert a configuration of JoeyNMT or yoyodyne.

    \b
    regard init translation > my.yaml
    regard init --from joeynmt.yaml > my.yaml
    """

    heading = "Train and measure"
    order = 50

    @classmethod
    def run(
        cls,
        name: Annotated[
            Optional[str],  # noqa: UP045
            typer.Argument(help="A system of the zoo; see `regard list`.", show_default=False),
        ] = None,
        source: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option("--from", metavar="FILE", help="Convert this configuration of JoeyNMT or yoyodyne."),
        ] = None,
    ) -> None:
        from regard import zoo
        from regard.errors import RegardError

        if (name is None) == (source is None):
            raise RegardError("name a system of the zoo, or a file to convert.", where="init")
        if source is not None:
            from regard.spec.foreign import convert

            typer.echo(convert(source).text(), nl=False)
            return
        assert name is not None

        typer.echo(zoo.text(name), nl=False)
