"""`regard list`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.command import Command
from regard.errors import RegardError
from regard.parts.registry import register


@register("command", "list")
class ListCommand(Command):
    """List the systems of the zoo by what they read and write, trained models with their scores, or parts.

    \b
    regard list
    regard list image
    regard list label attention
    regard list runs
    regard list runs experiments/
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
                metavar="WORD|runs|parts",
                help="Only systems with this word: what they read or write, a part, a data set, an author. Or: trained "
                "models, or the parts that specs are made of.",
            ),
        ] = "systems",
        of: Annotated[
            str | None,
            typer.Argument(
                metavar="WORD|FOLDER|KIND",
                help="Another word. With runs: the folder they are in. With parts: a kind of part.",
            ),
        ] = None,
        name: Annotated[
            str | None, typer.Argument(metavar="WORD|NAME", help="Another word. With parts: one part.")
        ] = None,
    ) -> None:
        if what == "parts":
            from regard.cli.parts import list_parts

            list_parts(of, name)
        elif what == "runs":
            if name is not None:
                raise RegardError(
                    f"expected one folder, received {of!r} and {name!r}.",
                    where="list runs",
                    fix="regard list runs FOLDER",
                )
            from regard.cli.runs import list_runs

            list_runs(Path(of or "runs"))
        else:
            from regard.cli.systems import show_systems

            words = [word for word in (what, of, name) if word is not None]
            show_systems(words[1:] if what == "systems" else words)
