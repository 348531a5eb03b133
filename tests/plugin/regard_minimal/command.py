"""`regard units`: how many words of a text a column of amounts can read."""

from __future__ import annotations

from typing import Annotated

import typer

import regard


@regard.register("command", "units")
class UnitsCommand(regard.cli.Command):
    """Count the words of a text.

    \b
    regard units nine bars
    """

    heading = "Use"

    @classmethod
    def run(cls, words: Annotated[list[str], typer.Argument(help="The text.")]) -> None:
        if "broken" in words:
            raise KeyError("broken")
        if "" in words:
            raise regard.RegardError("a word is empty.", where="units", fix="Leave it out.")
        typer.echo(f"{len(words)} words")
