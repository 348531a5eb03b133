"""Reference of all commands, generated from their help: `python -m regard.cli.reference > docs/commands.md`."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

import typer

from regard.cli.main import app


def page() -> str:
    """All commands under their headings, in the order of `regard --help`."""
    group: Any = typer.main.get_command(app)
    context = typer.Context(group, info_name="regard")
    lines = [
        "# The command line",
        "",
        "This page is generated from the help texts: `python -m regard.cli.reference > docs/commands.md`.",
        "`regard COMMAND --help` shows them in a terminal.",
        "",
    ]
    heading = ""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        panel = getattr(command, "rich_help_panel", "") or "Commands"
        if panel != heading:
            heading = str(panel)
            lines += [f"## {heading}", ""]
        lines += _command(name, command, context)
    return "\n".join(lines).rstrip() + "\n"


def _command(name: str, command: Any, parent: Any) -> Iterator[str]:
    context = typer.Context(command, info_name=name, parent=parent)
    yield from (f"### regard {name}", "")
    yield from _told(inspect.cleandoc(command.help or ""))
    usage = " ".join(piece for piece in command.collect_usage_pieces(context))
    yield from ("```text", f"regard {name} {usage}".rstrip(), "```", "")
    rows = [row for option in command.get_params(context) if (row := _row(option, context))]
    if rows:
        yield from ("| option | | default |", "|---|---|---|", *rows, "")
    if hasattr(command, "list_commands"):
        for one in command.list_commands(context):
            inner = command.get_command(context, one)
            if inner is not None:
                yield from _command(f"{name} {one}", inner, parent)


def _told(text: str) -> Iterator[str]:
    """The help text: paragraphs, and after \\b lines as they stand."""
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.startswith(("\b", "\\b")):
            yield from ("```bash", *paragraph.splitlines()[1:], "```", "")
        else:
            yield from (" ".join(paragraph.split()), "")


def _row(option: Any, context: Any) -> str:
    if getattr(option, "hidden", False) or option.name == "help":
        return ""
    record = getattr(option, "help", None) or ""
    if option.param_type_name == "option":
        form = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
        if not option.is_flag:
            form += f" {_value(option)}"
    else:
        form = f"`{_value(option)}`"
    default = option.get_default(context, call=False)
    shown = "" if default in (None, False, ()) or callable(default) else f"`{default}`"
    cells = (form, record, shown)
    return "| " + " | ".join(re.sub(r"\s+", " ", str(cell)).replace("|", r"\|") for cell in cells) + " |"


def _value(option: Any) -> str:
    """What stands for the value of an option or an argument."""
    return (
        str(getattr(option, "metavar", None) or option.name.upper()).replace("|", " or ").replace("  ", " ")
    )


if __name__ == "__main__":
    sys.stdout.write(page())
