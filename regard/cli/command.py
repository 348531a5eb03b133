"""Commands are parts: the base class, and what the command line makes of one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, MutableMapping
from typing import Any, ClassVar

import typer
import typer.core
import typer.main

from regard.cli.hinting import HintingCommand
from regard.parts.contract import base, required
from regard.parts.registry import names, part


@base("command", options=False, check="regard.cli.checking:check_command")
class Command:
    """Base class of commands. Its docstring is its help, and the first paragraph stands in `regard --help`.

    heading   the heading above it in `regard --help`
    order     its place there: smaller numbers come first, and headings in the order of their first commands
    """

    heading: ClassVar[str] = "More"
    order: ClassVar[int] = 1000

    @classmethod
    @required("when somebody runs the command")
    def run(cls, *arguments: Any, **options: Any) -> None:
        """Do the work; its parameters are the arguments and options of the command line, as typer reads them."""
        raise NotImplementedError

    @classmethod
    def declared_wrong(cls) -> str:
        """What is wrong with its declarations; empty if nothing."""
        return "" if vars(cls).get("__doc__") else "lacks a docstring, which is the help of a command"


def typer_command(name: str, command: type[Command]) -> Any:
    """The command as typer runs it."""
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    add = alone.command(
        name,
        cls=HintingCommand,
        help=inspect.cleandoc(command.__doc__ or ""),
        rich_help_panel=command.heading,
    )
    add(command.run)
    return typer.main.get_command(alone)


class RegisteredCommands(MutableMapping[str, Any]):
    """All registered commands by name, in the order of `regard --help`; one is imported when it is asked for."""

    def __init__(self) -> None:
        self.made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.made:
            command = part("command", name)
            if command is None:
                raise KeyError(name)
            self.made[name] = typer_command(name, command)
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        known = names("command")
        return iter(sorted(known, key=lambda name: (part("command", name).order, name)))

    def __len__(self) -> int:
        return len(names("command"))

    def __setitem__(self, name: str, made: Any) -> None:
        self.made[name] = made

    def __delitem__(self, name: str) -> None:
        del self.made[name]


class RegardGroup(typer.core.TyperGroup):
    """The command `regard`, whose commands are the registered ones."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = RegisteredCommands()
