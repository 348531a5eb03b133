"""Checks of commands."""

from __future__ import annotations

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

from regard.cli.command import Command, typer_command
from regard.testing.report import PartReport


def check_command(report: PartReport, command: type[Command]) -> None:
    """Its help can be printed, with what every option is for; an option it does not have is refused."""
    for attribute, kind in (("heading", str), ("order", int)):
        value = getattr(command, attribute)
        report.is_true(attribute, isinstance(value, kind), f"a value of type {kind.__name__}", repr(value))
    with report.calling("run", "parameters that typer can read"):
        made = typer_command(report.name, command)
    code, said = _called(made, "--help")
    report.is_true("run", code == 0 and report.name in said, "its help for --help", f"exit code {code}")
    code, _ = _called(made, "--no-such-option")
    report.is_true("run", code == 2, "exit code 2 for an unknown option", f"exit code {code}")
    for parameter in made.params:
        told = getattr(parameter, "help", None)
        report.is_true("run", bool(told), f"a help text for {parameter.name}", "none")


def _called(made: Any, *arguments: str) -> tuple[int, str]:
    """The exit code and the output of a command of typer."""
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(StringIO()):
        try:
            made.main(args=list(arguments), prog_name=f"regard {made.name}")
        except SystemExit as stop:
            return int(stop.code or 0), out.getvalue()
    return 0, out.getvalue()
