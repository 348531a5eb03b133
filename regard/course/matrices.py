"""The implementation of `regard matrix`: list the tasks, list the rows of one, train them and write the table."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.cli.outputs import STANDARD, write_output
from regard.course.matrix import MECHANISMS, TASKS, MatrixTable, MechanismMatrix, find_task
from regard.course.matrix.matrix import chosen_rows
from regard.course.matrix.summary import summarize
from regard.course.matrix.table import shown, title
from regard.course.matrix.writing import remarks, to_json, write_matrix, writer_of
from regard.errors import RegardError
from regard.reporting.console import safe_console


def list_tasks() -> None:
    """List every task with its inputs and outputs."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    table.add_column(style="dim", no_wrap=True)
    for task in TASKS:
        table.add_row(Text(task.name), Text(task.about), Text(f"{len(chosen_rows(task, ()))} rows"))
    console = safe_console()
    console.print(table)
    console.print(
        "\n[dim]regard matrix TASK --list[/dim] shows its rows, "
        "[dim]regard matrix TASK --minutes 10 -o matrix.html[/dim] trains them."
    )


def list_mechanisms(name: str) -> None:
    """List the rows of a task, and why others are missing."""
    task, table = find_task(name), Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for mechanism in MECHANISMS:
        reason = task.reason(mechanism)
        table.add_row(
            Text(mechanism.name, style="dim" if reason else ""),
            Text(f"not here: {reason}", style="dim") if reason else Text(mechanism.what),
        )
    safe_console(highlight=False).print(table)


def check_output(output: Path | None) -> None:
    """Refuse a file to which the table cannot be written, before any training."""
    if output is None:
        return
    writer_of(output)
    if not output.parent.is_dir():
        raise RegardError(
            "the folder to write to does not exist.", where=str(output.parent), fix="Make it first."
        )


def run_matrix(matrix: MechanismMatrix, *, output: Path | None, json_file: Path | None) -> None:
    """Train the unfinished rows. Print and write the table even if training is interrupted."""
    try:
        matrix.run()
    except (KeyboardInterrupt, SystemExit):
        left = ", ".join(matrix.table.waiting)
        matrix.console.print(f"Not finished: {left}. The same command goes on with them.", highlight=False)
        raise
    finally:
        if matrix.rows:
            _write(matrix.table, output=output, json_file=json_file)
    if matrix.failed:
        raise typer.Exit(1)


def _write(table: MatrixTable, *, output: Path | None, json_file: Path | None) -> None:
    _show(table, safe_console(stderr=json_file == STANDARD, highlight=False))
    if output is not None:
        write_matrix(table, output)
    if json_file is not None:
        write_output(json_file, to_json(table))


def _show(table: MatrixTable, console: Console) -> None:
    printed = Table(box=None, pad_edge=False, header_style="dim")
    looked = ["looks"] if table.task.looks else []
    names = ["", title(table.task.metric), *table.columns, *looked, "weights", "ms"]
    for place, head in enumerate(names):
        printed.add_column(Text(head), justify="right" if place else "left", no_wrap=True)
    for row in table.rows:
        found = [row.lengths.get(label) for label in table.columns]
        looks = [row.looks] if table.task.looks else []
        printed.add_row(
            Text(row.mechanism),
            *(Text(shown(table.task.metric, one)[0] if one else "") for one in (row.score, *found)),
            *(Text(shown(table.task.looks, one)[0] if one else "–") for one in looks),
            Text(f"{row.parameters / 1000:,.0f} k"),
            Text(f"{1000 * row.seconds_per_update:.0f}"),
        )
    console.print(printed)
    looking = f"; looks: {title(table.task.looks)}" if looked else ""
    told = f"scores by {table.task.unit} of the input{looking}; weights: parameters; ms: time of an update"
    console.print(Text(f"{told}; {table.updates:,} updates each", style="dim"))
    for name, why in remarks(table).items():
        console.print(Text(f"{name}: {why}", style="dim"))
    console.print()
    console.print(Text(summarize(table), style="bold"))
