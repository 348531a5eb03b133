"""The implementation of `regard calibrate`: fit a temperature, store it, and report."""

from __future__ import annotations

import json
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from regard.cli.command import Loading
from regard.cli.loading import load
from regard.cli.outputs import STANDARD, write_output
from regard.evaluation.calibration import (
    Calibration,
    Reliability,
    calibrate,
    calibrated_output,
    set_temperature,
)
from regard.model import Model
from regard.reporting.console import safe_console
from regard.runs.run import LOCK
from regard.storage.files import Lock


def calibrate_run(
    run: Path, output: str | None, *, plot: Path | None, json_file: Path | None, dry: bool, device: str | None
) -> None:
    """Fit the temperature of a run on its dev split, store it, and print what it changes."""
    if plot is not None:
        from regard.inspect.saving import check_target

        check_target(plot)
    model = load(run, Loading((), device), Model)
    found = calibrate(model, output)
    console = safe_console(stderr=json_file == STANDARD)
    console.print(calibration_table(found))
    if plot is not None:
        from regard.inspect.reliability import reliability_figure
        from regard.inspect.saving import save

        split = list(found.before)[-1]
        save(
            reliability_figure(
                {"before": found.before[split].bins, "after": found.after[split].bins},
                title=f"{model.spec.name or run.name}: reliability on {split}",
            ),
            plot,
        )
        console.print(f"the figure is in [bold]{escape(str(plot))}[/bold]", highlight=False)
    if json_file is not None:
        write_output(json_file, json.dumps(found.to_dict(), indent=1) + "\n")
    if found.bounded:
        console.print(
            "[yellow]nothing was stored: dev has too few wrong answers, or too few right ones, to fit a temperature"
            "[/yellow]"
        )
    elif not dry:
        _store(model, run)
        where = f"[bold]{escape(str(run))}[/bold]; answers stay as they were"
        console.print(
            f"temperature {found.temperature:.4g} for {escape(found.output)} is stored in {where}",
            highlight=False,
        )


def reset_run(run: Path, output: str | None) -> None:
    """Remove the temperature of a run."""
    model = load(run, Loading((), "cpu"), Model)
    name = calibrated_output(model, output)
    set_temperature(model, name, 1.0)
    _store(model, run)
    safe_console().print(f"{escape(name)} answers with its own probabilities again", highlight=False)


def _store(model: Model, run: Path) -> None:
    lock = Lock(run, LOCK)
    try:
        model.save(run)
    finally:
        lock.release()


def calibration_table(found: Calibration) -> Table:
    """ECE, Brier score and loss of each split, before and after."""
    title = f"{found.output}: temperature {found.temperature:.4g}, fitted on dev"
    table = Table(box=None, header_style="bold", pad_edge=False, title=escape(title), title_justify="left")
    table.add_column("", style="cyan")
    for head in ("accuracy", "confidence", "ECE", "Brier", "loss", "answers"):
        table.add_column(head, justify="right")
    for split in found.before:
        for when, one in (("before", found.before[split]), ("after", found.after[split])):
            table.add_row(f"{split}, {when}", *_cells(one))
    return table


def _cells(one: Reliability) -> list[str]:
    shown = (one.accuracy, one.confidence, one.ece, one.brier, one.loss)
    return [*(f"{value:.4f}" for value in shown), f"{one.count:,}"]
