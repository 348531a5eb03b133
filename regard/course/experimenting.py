"""The implementation of `regard lab`: list the labs, or run one and show its results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from rich.table import Table
from rich.text import Text

from regard.cli.outputs import STANDARD, write_output
from regard.course.lab.lab import plain, written
from regard.course.lab.settings import lab_and_options
from regard.errors import RegardError
from regard.inspect.saving import check_target, save
from regard.parts import as_data, names, part
from regard.reporting.console import safe_console


def list_labs(*, output: Path | None, json_file: Path | None, settings: Sequence[str]) -> None:
    """List every lab with a one-line description."""
    if output is not None or json_file is not None or settings:
        raise RegardError(
            "name the lab to run.", where="regard lab", fix=f"Known: {', '.join(names('lab'))}."
        )
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for name in names("lab"):
        table.add_row(Text(name), Text(part("lab", name).summary))
    console = safe_console()
    console.print(table)
    console.print(
        "\n[dim]regard lab NAME[/dim] runs one, [dim]-o FIGURE.svg[/dim] draws it, [dim]-o PAGE.html[/dim] makes a "
        "page, [dim]--set KEY=VALUE[/dim] changes a setting."
    )


def run_lab(name: str, *, output: Path | None, json_file: Path | None, settings: Sequence[str]) -> None:
    """Run a lab, print its figure, numbers and explanation, and write the requested files."""
    chosen, options = lab_and_options(name, settings)
    if output is not None:
        check_target(output)
    torch.set_num_threads(1)  # labs are small: a second thread would only slow them down
    found = chosen.run(options)
    console = safe_console(stderr=json_file == STANDARD, highlight=False)
    console.print(found.figure)
    head, rows = found.table
    if rows:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for place, title in enumerate(head):
            table.add_column(Text(title), justify="right" if place else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(written(cell)) for cell in row))
        console.print()
        console.print(table)
    if found.worked:
        console.print()
        for line in found.worked:
            console.print(Text(line))
    console.print()
    console.print(Text(found.see, style="bold"))
    if output is not None:
        ending = output.suffix.lower()
        save(found.page() if ending in (".html", ".htm") else found.figure, output)
        console.print(Text(str(output)))
    if json_file is not None:
        content = {
            "lab": name,
            "settings": {key: value for key, value in as_data(options, unset=True).items() if key != "type"},
            "see": found.see,
            "table": {"head": list(head), "rows": [[plain(cell) for cell in row] for row in rows]},
            "numbers": plain(found.numbers),
        }
        text = json.dumps(plain(content), ensure_ascii=False, indent=1) + "\n"
        write_output(json_file, text)
