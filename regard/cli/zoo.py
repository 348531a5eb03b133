"""`regard list` and `regard init`: the systems that come along."""

from __future__ import annotations

from typing import Annotated

import typer


def list_systems() -> None:
    """List the systems of the zoo, with what each does."""
    from rich.console import Console
    from rich.table import Table

    from regard import zoo

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("what it does")
    table.add_column("data")
    for name in zoo.names():
        spec = zoo.find(name)
        provider = spec.data.provider
        data = f"{provider.kind} {provider.type}" if provider else ", ".join(spec.data.train)
        table.add_row(name, spec.description, data)
    console = Console()
    console.print(table)
    console.print(
        "\n[dim]regard train NAME[/dim] trains one, [dim]regard init NAME > my.yaml[/dim] gives you its spec to change."
    )


def init(
    name: Annotated[str, typer.Argument(help="A system of the zoo; see `regard list`.", show_default=False)],
) -> None:
    """Print a system's spec, to start your own from: regard init translation > my.yaml"""
    from regard import zoo

    typer.echo(zoo.text(name), nl=False)
