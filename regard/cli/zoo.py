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
        str,
        typer.Argument(
            metavar="systems|runs|parts",
            help="Systems of the zoo, trained models, or parts that specs are made of.",
        ),
    ] = "systems",
    of: Annotated[
        str | None,
        typer.Argument(
            metavar="FOLDER|KIND", help="With runs: the folder they are in. With parts: a kind of part."
        ),
    ] = None,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="With parts: one part.")] = None,
) -> None:
    """List the systems of the zoo by what they read and write, trained models with their scores, or parts.

    \b
    regard list
    regard list runs
    regard list runs experiments/
    regard list parts cell
    regard list parts cell gru
    """
    if what == "parts":
        from regard.cli.parts import list_parts

        list_parts(of, name)
        return
    if what not in ("systems", "runs") or name is not None or (what == "systems" and of is not None):
        received = " ".join(one for one in (what, of, name) if one is not None)
        raise RegardError(
            f"expected systems, runs or parts, received {received!r}.",
            where="list",
            fix="regard list runs FOLDER",
        )
    if what == "runs":
        from regard.cli.runs import list_runs

        list_runs(Path(of or "runs"))
        return
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
