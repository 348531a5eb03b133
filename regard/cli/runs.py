"""The tables of `regard runs` in the terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from regard.report.runs import RunTable, told
from regard.reporting.console import safe_console


def print_runs(found: RunTable) -> None:
    """Print a table for each task: the scores of each run, and the settings that differ below them."""
    screen = safe_console()
    tasks = found.by_task()
    for place, task in enumerate(tasks):
        if place:
            screen.print()
        if len(tasks) > 1:
            screen.print(task.runs[0].reads, style="bold", highlight=False, markup=False)
        screen.print(_table(task))


def _table(task: RunTable) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for head in ("run", "scores", "weights", "steps", "time", "trained"):
        number = head in ("weights", "steps", "time")
        table.add_column(head, justify="right" if number else "left", overflow="fold")
    differing = task.differing
    for run in task.runs:
        settings = [f"{key}={run.settings[key]}" for key in differing if key in run.settings]
        lines = [Text(told(run)), *([Text(", ".join(settings), style="dim")] if settings else [])]
        table.add_row(
            Text(str(run.folder), style="cyan"),
            Text("\n").join(lines),
            "" if run.weights is None else f"{run.weights:,}",
            "" if run.steps is None else f"{run.steps:,}",
            "" if run.seconds is None else f"{run.seconds:,.0f} s",
            "" if run.trained is None else f"{run.trained:%Y-%m-%d %H:%M}",
        )
    return table
