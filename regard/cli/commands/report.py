"""`regard report`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import Command, Device, Overwrite
from regard.cli.outputs import outputs
from regard.parts.registry import register


@register("command", "report")
class ReportCommand(Command):
    """Write a page about a model: scores, curves, strange answers, figures, data; or about several side by side.

    \b
    regard report runs/my
    regard report runs/my -o my.html --rows 1000
    regard report runs/a runs/b -o both.html
    """

    heading = "Look inside"
    order = 240

    @classmethod
    def run(
        cls,
        runs: Annotated[
            list[Path], typer.Argument(metavar="RUN", help="Folders of trained models.", show_default=False)
        ],
        output: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "-o",
                "--output",
                metavar="FILE",
                help="Write the page here (.html). Default: NAME-report.html.",
            ),
        ] = None,
        split: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--split",
                metavar="NAME",
                help="The split to measure. Default: test, or dev if there is none.",
            ),
        ] = None,
        rows: Annotated[
            int,
            typer.Option(
                "--rows", metavar="N", min=1, help="Rows to list, the strangest first. All rows are measured."
            ),
        ] = 300,
        figures: Annotated[
            int, typer.Option("--figures", metavar="N", min=0, help="Examples with a figure.")
        ] = 12,
        overwrite: Overwrite = False,
        device: Device = None,
    ) -> None:
        from regard.report import report
        from regard.reporting.console import DataProgress
        from regard.reporting.terminal import say, tell

        target = output or Path(f"{'-'.join(run.absolute().name for run in runs)}-report.html")
        with outputs({"--output": target}, overwrite=overwrite):
            with DataProgress().shown("reading"):
                found = report(
                    runs,
                    split=split,
                    rows=rows,
                    figures=figures,
                    device=device,
                    progress=lambda what, done, of: tell("measuring", what, done / max(1, of)),
                )
            found.save(target)
        say(str(target))
