"""`regard list`"""

from __future__ import annotations

from typing import Annotated

import typer

from regard.cli.command import Command
from regard.parts.registry import register


@register("command", "list")
class ListCommand(Command):
    """List the systems of the zoo by what they read and write, or the parts that specs are made of.

    \b
    regard list
    regard list image
    regard list label attention
    regard list parts cell
    regard list parts cell gru
    """

    heading = "Train and measure"
    order = 40

    @classmethod
    def run(
        cls,
        what: Annotated[
            str,
            typer.Argument(
                metavar="WORD|parts",
                help="Only systems with this word: what they read or write, a part, a data set, an author. Or: "
                "the parts that specs are made of.",
            ),
        ] = "systems",
        of: Annotated[
            str | None,
            typer.Argument(
                metavar="WORD|KIND",
                help="Another word. With parts: a kind of part.",
            ),
        ] = None,
        name: Annotated[
            str | None, typer.Argument(metavar="WORD|NAME", help="Another word. With parts: one part.")
        ] = None,
    ) -> None:
        if what == "parts":
            from regard.cli.parts import list_parts

            list_parts(of, name)
        else:
            from regard.cli.systems import show_systems

            words = [word for word in (what, of, name) if word is not None]
            show_systems(words[1:] if what == "systems" else words)
