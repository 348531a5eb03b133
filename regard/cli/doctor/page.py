"""The page: every section, printed or as JSON."""

from __future__ import annotations

import json

from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.cli.doctor import libraries, machine, speed
from regard.cli.doctor.finding import Finding, Findings, section
from regard.version import __version__

PAGE = {
    "Versions": machine.versions,
    "Devices": machine.devices,
    "Libraries": libraries.required,
    "Extras": libraries.extras,
    "Kernels": speed.kernels,
    "Functions of other packages": speed.functions,
    "Fast paths": speed.paths,
    "Folders": machine.folders,
    "Packages with parts": libraries.plugins,
    "Settings": machine.settings,
}
"""The sections and what finds their lines."""
ABOUT = {
    "Extras": "optional libraries",
    "Kernels": "compiled code, kept on disk",
    "Functions of other packages": "each is tried; plain code replaces it if it fails",
    "Fast paths": "`regard describe NAME --paths` tells which of them serve a model",
    "Settings": "environment variables",
}
"""What stands beside some titles."""
SIGNS = {"on": ("✓", "green"), "off": ("–", "dim"), "wrong": ("✗", "bold red")}
NARROW = 60
"""Columns below which a finding takes a line for its name and one for the rest."""


def examined() -> list[Findings]:
    """What `regard doctor` finds, section by section."""
    return [section(title, find) for title, find in PAGE.items()]


def wrong(sections: list[Findings]) -> list[str]:
    """The names of what should work and does not."""
    return [
        f"{one.title}: {found.name}" for one in sections for found in one.findings if found.state == "wrong"
    ]


def printed(sections: list[Findings], console: Console) -> None:
    """The page in the terminal, in its width."""
    for one in sections:
        if not one.findings:
            continue
        title = Text(one.title, style="bold")
        if one.title in ABOUT:
            title.append(f"  {ABOUT[one.title]}", style="not bold dim")
        console.print(title)
        console.print(_narrow(one) if console.width < NARROW else _wide(one, console.width // 2))
        console.print()
    if failing := wrong(sections):
        console.print(Text(f"✗ should work and does not: {'; '.join(failing)}", style="bold red"))
    else:
        console.print(Text("✓ everything that should work does", style="bold green"))


def _wide(one: Findings, most: int) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(width=1)
    table.add_column(style="cyan", max_width=most, overflow="fold")
    table.add_column(overflow="fold")
    for found in one.findings:
        table.add_row(Text(*SIGNS[found.state]), Text(found.name), _told(found))
    return table


def _narrow(one: Findings) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(width=1)
    table.add_column(overflow="fold")
    for found in one.findings:
        told, name = _told(found), Text(found.name, style="cyan")
        table.add_row(Text(*SIGNS[found.state]), Text("\n").join([name, told]) if told else name)
    return table


def _told(found: Finding) -> Text:
    told = Text(found.value)
    if found.reason:
        told.append(
            ("  " if found.value else "") + found.reason, style="red" if found.state == "wrong" else "dim"
        )
    if found.fix:
        told.append(f"\n{found.fix}", style="default" if found.state == "wrong" else "dim")
    return told


def as_json(sections: list[Findings]) -> str:
    data = {"regard": __version__, "wrong": wrong(sections), "sections": [one.data for one in sections]}
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"
