"""`regard list` and `regard init`: the systems of the zoo."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.spec import Spec


def list_systems(
    what: Annotated[
        str, typer.Argument(metavar="systems|runs", help="Systems of the zoo, or trained models.")
    ] = "systems",
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="With runs: the folder they are in.")
    ] = Path("runs"),
) -> None:
    """List the systems of the zoo by what they read and write, or trained models with their scores.

    \b
    regard list
    regard list runs
    regard list runs experiments/
    """
    if what == "runs":
        from regard.cli.runs import list_runs

        list_runs(folder)
        return
    if what != "systems":
        raise RegardError(
            f"expected systems or runs, received {what!r}.", where="list", fix="regard list runs FOLDER"
        )
    from rich.table import Table
    from rich.text import Text

    from regard import zoo
    from regard.console import safe_console

    groups: dict[str, list[tuple[str, str, str]]] = {}
    for name in zoo.names():
        spec = zoo.find(name)
        provider = spec.data.provider
        data = f"{provider.kind} {provider.type}" if provider else ", ".join(spec.data.train)
        groups.setdefault(task(spec), []).append((name, spec.description, data))
    console = safe_console()
    widths = [max(len(row[i]) for rows in groups.values() for row in rows) for i in range(3)]
    for title, rows in sorted(groups.items()):
        table = Table(
            box=None, show_header=False, pad_edge=False, title=Text(title, style="bold"), title_justify="left"
        )
        table.add_column(style="cyan", no_wrap=True, width=widths[0])
        table.add_column()
        table.add_column(style="dim", no_wrap=True)
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)
        console.print()
    console.print(
        "[dim]regard train NAME[/dim] trains one, [dim]regard init NAME > my.yaml[/dim] gives you its spec to change; "
        "[dim]regard list runs[/dim] shows what you have trained."
    )


def task(spec: Spec) -> str:
    """The inputs and outputs of a system, by the types of its columns: image + text → label."""
    sides = [
        " + ".join(dict.fromkeys(column.type for column in columns.values()))
        for columns in (spec.inputs, spec.outputs)
    ]
    return " → ".join(side for side in sides if side)


def init(
    name: Annotated[str, typer.Argument(help="A system of the zoo; see `regard list`.", show_default=False)],
) -> None:
    """Print the spec of a system of the zoo, as a start for your own.

    \b
    regard init translation > my.yaml
    """
    from regard import zoo

    typer.echo(zoo.text(name), nl=False)
