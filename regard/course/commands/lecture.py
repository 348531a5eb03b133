"""`regard lecture`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import Command, Overwrite
from regard.cli.outputs import outputs
from regard.parts.registry import register


@register("command", "lecture")
class LectureCommand(Command):
    """Walk through five lectures, entry by entry: the claim, the command that shows it, what to expect, the result.

    \b
    regard lecture
    regard lecture 004
    regard lecture 000.32
    regard lecture --open 004.29
    regard lecture --check
    """

    heading = "Learn"
    order = 320

    @classmethod
    def run(
        cls,
        what: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Argument(
                metavar="DECK | ENTRY",
                help="A lecture (004) or one of its entries (004.29). Default: list the lectures.",
                show_default=False,
            ),
        ] = None,
        check: Annotated[
            bool,
            typer.Option(
                "--check", help="Check every quick entry: print pass or fail, and exit with 1 if one fails."
            ),
        ] = False,
        open_: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--open", metavar="ENTRY", help="Show the figure of this entry, and write it as a page."
            ),
        ] = None,
        code: Annotated[
            bool, typer.Option("--code", help="Print the Python code of each entry's computation below it.")
        ] = False,
        output: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "-o",
                "--output",
                metavar="FILE",
                help="With --open: write the figure here (.html .svg .png .pdf).",
            ),
        ] = None,
        browser: Annotated[
            bool, typer.Option("--browser", help="With --open: open the figure in a browser.")
        ] = False,
        json_file: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "--json", metavar="FILE", help="Write the results here as JSON; -: standard output."
            ),
        ] = None,
        overwrite: Overwrite = False,
    ) -> None:
        from regard.course.lecturing import list_decks, show_figure, walk

        with outputs({"--output": output, "--json": json_file}, overwrite=overwrite):
            if open_ is not None:
                alone = not (what or check or code or json_file)
                show_figure(open_, alone=alone, output=output, browser=browser)
            elif what or check:
                walk(what or [], check=check, code=code, output=output, browser=browser, json_file=json_file)
            else:
                list_decks(code=code, output=output, browser=browser, json_file=json_file)
