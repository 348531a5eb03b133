"""`regard runs`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import Command, Overwrite
from regard.cli.outputs import outputs
from regard.parts.registry import register


@register("command", "runs")
class RunsCommand(Command):
    """Compare trained models: their scores, size, time and date, and the settings in which they differ.

    \b
    regard runs
    regard runs experiments/ runs/my
    regard runs -o runs.html
    """

    heading = "Train and measure"
    order = 30

    @classmethod
    def run(
        cls,
        folders: Annotated[
            Optional[list[Path]],  # noqa: UP045
            typer.Argument(
                metavar="FOLDER", help="Runs, or folders that hold them. Default: runs.", show_default=False
            ),
        ] = None,
        output: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "-o",
                "--output",
                metavar="FILE",
                help="Write a page here, with the learning curves over each other (.html).",
            ),
        ] = None,
        json_file: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option("--json", metavar="FILE", help="Write the table here as JSON; -: standard output."),
        ] = None,
        overwrite: Overwrite = False,
    ) -> None:
        import json

        from regard.cli.outputs import STANDARD, write_output
        from regard.cli.runs import print_runs
        from regard.report.runs import runs
        from regard.reporting.terminal import say

        with outputs({"--output": output, "--json": json_file}, overwrite=overwrite):
            found = runs(*(folders or ()))
            if json_file is not None:
                write_output(json_file, json.dumps(found.to_dict(), ensure_ascii=False, indent=1) + "\n")
            if json_file != STANDARD:
                print_runs(found)
            if output is not None:
                found.save(output)
                say(str(output))
