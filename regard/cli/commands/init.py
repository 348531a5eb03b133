"""`regard init`"""

from __future__ import annotations

from typing import Annotated

import typer

from regard.cli.command import Command
from regard.parts.registry import register


@register("command", "init")
class InitCommand(Command):
    """Print the spec of a system of the zoo, as a start for your own.

    \b
    regard init translation > my.yaml
    """

    heading = "Train and measure"
    order = 50

    @classmethod
    def run(
        cls,
        name: Annotated[
            str, typer.Argument(help="A system of the zoo; see `regard list`.", show_default=False)
        ],
    ) -> None:
        from regard import zoo

        typer.echo(zoo.text(name), nl=False)
