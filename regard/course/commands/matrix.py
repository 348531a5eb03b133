"""`regard matrix`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import Command, Device, Overwrite, a_number
from regard.cli.outputs import outputs
from regard.errors import RegardError
from regard.parts.registry import register


@register("command", "matrix")
class MatrixCommand(Command):
    """Compare all mechanisms between encoder and decoder on one task, each with the same budget.

    \b
    regard matrix captions --list
    regard matrix translation --minutes 10 -o matrix.html
    regard matrix translation additive dot
    """

    heading = "Train and measure"
    order = 30

    @classmethod
    def run(
        cls,
        task: Annotated[
            Optional[str],  # noqa: UP045
            typer.Argument(metavar="TASK", help="A task. Default: list them all.", show_default=False),
        ] = None,
        more: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Argument(metavar="MECHANISM", help="Only these rows, as with --only.", show_default=False),
        ] = None,
        minutes: Annotated[
            float,
            typer.Option(
                "--minutes",
                metavar="N",
                min=0.1,
                max=10_000.0,
                callback=a_number,
                help="Time for all rows together. It decides how many updates each row gets.",
            ),
        ] = 10.0,
        updates: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option(
                "--updates",
                metavar="N",
                min=1,
                help="Updates of each row, however long they take; instead of --minutes.",
            ),
        ] = None,
        only: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Option("--only", metavar="MECHANISM", help="Only these rows: --only additive dot"),
        ] = None,
        show_rows: Annotated[
            bool, typer.Option("--list", help="Print the rows of the task, and why it lacks the others.")
        ] = False,
        output: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "-o", "--output", metavar="FILE", help="Write the table here (.html .md .json .csv)."
            ),
        ] = None,
        json_file: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option("--json", metavar="FILE", help="Write the table here as JSON; -: standard output."),
        ] = None,
        runs: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "--runs",
                metavar="DIR",
                help="Keep the trained rows here. A second call continues with the rest. Default: runs/matrix-TASK.",
            ),
        ] = None,
        seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of every row.")] = 1,
        settings: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Option("--set", metavar="KEY=VALUE", help="Change every row's spec. Can be repeated."),
        ] = None,
        overwrite: Overwrite = False,
        device: Device = None,
    ) -> None:
        from regard.course.matrices import check_output, list_mechanisms, list_tasks, run_matrix
        from regard.course.matrix import MechanismMatrix

        if (task is None or show_rows) and (output is not None or json_file is not None):
            raise RegardError(
                "a list of tasks or rows is printed without training, so there is no table to write.",
                where="regard matrix",
                fix="Name a task, without --list; or leave out --output and --json.",
            )
        if task is None:
            list_tasks()
        elif show_rows:
            list_mechanisms(task)
        else:
            with outputs({"--output": output, "--json": json_file}, overwrite=overwrite):
                check_output(output)
                matrix = MechanismMatrix(
                    task,
                    folder=runs,
                    minutes=minutes,
                    updates=updates,
                    seed=seed,
                    only=[*(only or []), *(more or [])],
                    settings=settings or [],
                    device=device,
                )
                run_matrix(matrix, output=output, json_file=json_file)
