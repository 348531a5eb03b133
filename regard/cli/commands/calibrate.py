"""`regard calibrate`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import Command, Device, Of, Overwrite, Run
from regard.cli.outputs import outputs
from regard.parts.registry import register


@register("command", "calibrate")
class CalibrateCommand(Command):
    """Make the probabilities of a classifier mean what they say: 80 % sure is right in 80 of 100 cases.

    \b
    regard calibrate runs/reviews
    regard calibrate runs/reviews --plot reliability.svg
    regard calibrate runs/reviews --reset

    One temperature is fitted on dev and stored in the run. Probabilities change, answers do not. Before and after are
    measured on dev, and on test if there is one.
    """

    heading = "Train and measure"
    order = 25
    computes = True

    @classmethod
    def run(
        cls,
        run: Run,
        of: Of = None,
        plot: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "--plot",
                metavar="FILE",
                help="Draw the share of right answers by confidence (.svg .png .pdf .html).",
            ),
        ] = None,
        json_file: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "--json", metavar="FILE", help="Write all figures here as JSON; -: standard output."
            ),
        ] = None,
        dry: Annotated[
            bool, typer.Option("--dry-run", help="Measure and print, and leave the run as it is.")
        ] = False,
        reset: Annotated[bool, typer.Option("--reset", help="Remove the temperature from the run.")] = False,
        overwrite: Overwrite = False,
        device: Device = None,
    ) -> None:
        from regard.cli.calibrating import calibrate_run, reset_run

        if reset:
            reset_run(run, of)
            return
        with outputs({"--plot": plot, "--json": json_file}, overwrite=overwrite):
            calibrate_run(run, of, plot=plot, json_file=json_file, dry=dry, device=device)
