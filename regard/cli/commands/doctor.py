"""`regard doctor`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import Command, Overwrite
from regard.cli.outputs import STANDARD, outputs
from regard.parts.registry import register


@register("command", "doctor")
class DoctorCommand(Command):
    """Examine this installation: versions, devices, extras, kernels, fast paths, folders, and what is off and why.

    \b
    regard doctor
    regard doctor --json report.json

    Exits with 1 if something that should work does not. Send the page with a bug report.
    """

    heading = "This machine"
    order = 410

    @classmethod
    def run(
        cls,
        json_file: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option("--json", metavar="FILE", help="Write the page here as JSON; -: standard output."),
        ] = None,
        overwrite: Overwrite = False,
    ) -> None:
        from regard.cli.doctor.page import as_json, examined, printed, wrong
        from regard.cli.outputs import write_output
        from regard.reporting.console import safe_console

        with outputs({"--json": json_file}, overwrite=overwrite):
            found = examined()
            printed(found, safe_console(stderr=json_file == STANDARD, highlight=False))
            if json_file is not None:
                write_output(json_file, as_json(found))
        if wrong(found):
            raise typer.Exit(1)
