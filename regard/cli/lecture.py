"""`regard lecture`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.options import Overwrite
from regard.cli.outputs import outputs


def lecture(
    what: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(
            metavar="[DECK | ENTRY]...", help="004, or 004.29; default: list the decks.", show_default=False
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Run every quick entry and print pass or fail; exit 1 on a failure."),
    ] = False,
    open_: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--open", metavar="ENTRY", help="Show the figure of an entry, and write it as a page."),
    ] = None,
    code: Annotated[
        bool, typer.Option("--code", help="Print the Python of the computations below each entry.")
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
        typer.Option("--json", metavar="FILE", help="Write what was found as JSON; -: standard output."),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Walk through five lectures: what each claims, the command that shows it, what to expect, what is found.

    regard lecture · regard lecture 004 · regard lecture 000.32 · regard lecture --check · regard lecture --open 004.29
    """
    from regard.cli.lecturing import list_decks, show_figure, walk

    with outputs({"--output": output, "--json": json_file}, overwrite=overwrite):
        if open_ is not None:
            alone = not (what or check or code or json_file)
            show_figure(open_, alone=alone, output=output, browser=browser)
        elif what or check:
            walk(what or [], check=check, code=code, output=output, browser=browser, json_file=json_file)
        else:
            list_decks(code=code, output=output, browser=browser, json_file=json_file)
