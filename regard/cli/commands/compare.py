"""`regard compare`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import Command, DataRow, Device, Of, Overwrite
from regard.cli.outputs import outputs
from regard.parts.registry import register


@register("command", "compare")
class CompareCommand(Command):
    """See where several models looked at the same input, side by side, with the truth where it is known.

    \b
    regard compare runs/simple runs/sigmoid --text 'the small cat sleeps'
    regard compare runs/simple runs/sigmoid runs/segments --row 3 -o panels.svg
    """

    heading = "Look inside"
    order = 220

    @classmethod
    def run(
        cls,
        runs: Annotated[
            list[Path], typer.Argument(metavar="RUN", help="Folders of trained models.", show_default=False)
        ],
        text: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option("--text", metavar="TEXT", help="The input."),
        ] = None,
        target: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--target",
                help="Show where the models look while they write this text, instead of their own answers.",
            ),
        ] = None,
        row: DataRow = None,
        split: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--split",
                metavar="NAME",
                help="The split of the data for --row. Default: test, or dev if there is none.",
            ),
        ] = None,
        of: Of = None,
        names: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Option(
                "--name",
                metavar="TITLE",
                help="Title of a run's panel, once for each run. Default: the folder's name.",
            ),
        ] = None,
        output: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "--output",
                "-o",
                metavar="FILE",
                help="Write one figure here (.svg .png .pdf .html). Default: print a figure for each run.",
            ),
        ] = None,
        across: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option("--across", help="Panels in a row of the figure. Default: all."),
        ] = None,
        overwrite: Overwrite = False,
        device: Device = None,
    ) -> None:
        from regard.cli.comparing import draw_side_by_side
        from regard.cli.show_request import ShowRequest

        with outputs({"--output": output}, overwrite=overwrite):
            request = ShowRequest(text, target, row, split)
            draw_side_by_side(
                runs, request, of=of, names=names or [], output=output, across=across, device=device
            )
