"""The table of `regard runs` in the terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from regard.report.runs import RunTable
from regard.reporting.console import safe_console


def print_runs(found: RunTable) -> None:
    """Print the scores of each run, and the settings that differ, a line each below it."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for head in ("run", "scores", "weights", "steps", "time", "trained"):
        number = head in ("weights", "steps", "time")
        table.add_column(head, justify="right" if number else "left", overflow="fold")
    differing = found.differing
    for run in found.runs:
        figures = ", ".join(f"{name} {value:.4g}" for name, value in run.scores.items())
        told = f"{run.split}: {figures}" if figures else run.state
        settings = [f"{key}={run.settings[key]}" for key in differing if key in run.settings]
        table.add_row(
            Text(str(run.folder), style="cyan"),
            Text("\n").join([Text(told), *([Text(", ".join(settings), style="dim")] if settings else [])]),
            "" if run.weights is None else f"{run.weights:,}",
            "" if run.steps is None else f"{run.steps:,}",
            "" if run.seconds is None else f"{run.seconds:,.0f} s",
            "" if run.trained is None else f"{run.trained:%Y-%m-%d %H:%M}",
        )
    safe_console().print(table)
