"""`regard evaluate`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import (
    BadRows,
    Beam,
    Command,
    Device,
    Loading,
    Overrides,
    Overwrite,
    Seed,
    With,
    spec_changes,
)
from regard.cli.outputs import outputs
from regard.parts.registry import register


@register("command", "evaluate")
class EvaluateCommand(Command):
    """Measure one or several models on data they have not seen.

    \b
    regard evaluate runs/my
    regard evaluate runs/my --by-length --plot lengths.svg
    regard evaluate runs/a runs/b --compare
    regard evaluate runs/a --with runs/b

    The last one measures the two as an ensemble.
    """

    heading = "Train and measure"
    order = 20
    computes = True

    @classmethod
    def run(
        cls,
        runs: Annotated[
            list[Path], typer.Argument(metavar="RUN", help="Folders of trained models.", show_default=False)
        ],
        data: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Option("--data", metavar="FILE", help="Measure on this file instead of the spec's data."),
        ] = None,
        splits: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Option(
                "--split",
                metavar="NAME",
                help="Split of the spec's data. Can be repeated to join splits. Default: test, or dev if there is "
                "none.",
            ),
        ] = None,
        metrics: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Option(
                "--metric",
                metavar="NAME",
                help="The metric to measure. Can be repeated. Default: from the spec.",
            ),
        ] = None,
        by_length: Annotated[
            bool, typer.Option("--by-length", help="Also print the scores by input length.")
        ] = False,
        length_of: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--length-of",
                metavar="INPUT",
                help="The input whose length counts for --by-length. Default: the longest input of each row.",
            ),
        ] = None,
        by: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--by",
                metavar="COLUMN[,COLUMN]",
                help="Also print the scores by one or two columns of the data. `place`: by position in the output, "
                "counted from its end.",
            ),
        ] = None,
        plot: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "--plot",
                metavar="FILE",
                help="Draw the first metric by input length, or by the columns of --by (.svg .png .pdf .html).",
            ),
        ] = None,
        json_file: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option("--json", metavar="FILE", help="Write the scores here as JSON; -: standard output."),
        ] = None,
        predictions: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "--predictions",
                metavar="FILE",
                help="Write inputs, outputs and references here (TSV); -: standard output.",
            ),
        ] = None,
        others: With = None,
        compare: Annotated[
            bool, typer.Option("--compare", help="Compare each run with the first by paired bootstrap.")
        ] = False,
        beam: Beam = None,
        overwrite: Overwrite = False,
        overrides: Overrides = None,
        device: Device = None,
        seed: Seed = None,
        bad_rows: BadRows = None,
    ) -> None:
        from regard.cli.measuring import Measurement, evaluate_runs
        from regard.cli.reporting import EvaluationReport
        from regard.inspect.saving import check_target

        if plot is not None:
            check_target(plot)
        columns = [name.strip() for name in by.split(",")] if by is not None else []
        report = EvaluationReport(
            by_length=by_length or (length_of is not None and plot is None),
            length_of=length_of,
            by=columns,
            compare=compare,
            plot=plot,
            json=json_file,
            predictions=predictions,
        )
        wanted = Measurement(files=data or [], splits=splits or [], metrics=metrics or [])
        how = Loading(spec_changes(overrides, beam=beam, seed=seed, bad_rows=bad_rows), device)
        with outputs(report.files, read=wanted.files, overwrite=overwrite):
            evaluate_runs(runs, others or [], wanted, report, how)
