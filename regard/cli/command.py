"""Commands are parts: the base class, what typer makes of one, the options they share, and how these are typed."""

from __future__ import annotations

import gc
import inspect
import math
import shlex
import sys
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, Optional

import typer
import typer.core
import typer.main

from regard.errors import Option, Setting, ShellCommand
from regard.errors.remedies import OPEN, UNSET, flow
from regard.parts.contract import base, required
from regard.parts.registry import names, part

MAX_SEED = 2**63 - 1


@base("command", options=False, check="regard.cli.checking:check_command")
class Command:
    """Base class of commands. Its docstring is its help, and the first paragraph stands in `regard --help`.

    heading   the heading above it in `regard --help`
    order     its place there: smaller numbers come first, and headings in the order of their first commands
    computes  whether it always computes with torch, which is then imported, quickly, before it runs
    """

    heading: ClassVar[str] = "More"
    order: ClassVar[int] = 1000
    computes: ClassVar[bool] = False

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
    made = typer.main.get_command(alone)
    made.computes = command.computes  # type: ignore[attr-defined]
    return made


def import_torch() -> None:
    """Import torch without searching its objects, which stay, for garbage: neither now nor later."""
    if "torch" in sys.modules or not gc.isenabled():
        return
    gc.disable()
    try:
        import_module("torch")
        gc.freeze()
    finally:
        gc.enable()


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


class HintingCommand(typer.core.TyperCommand):
    """For an option that does not exist, names the settings of this name: --dropout is --set encoder.dropout=…"""

    computes = False

    def invoke(self, ctx: Any) -> Any:
        if self.computes:
            import_torch()
        return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # The class of the error belongs to click, or to typer's own copy of it.
            hint = self._hint(error.option_name) if type(error).__name__ == "NoSuchOption" else ""  # type: ignore[attr-defined]
            if hint:
                error.message, error.possibilities = f"{error.message}{hint}", []  # type: ignore[attr-defined]
            raise

    def _hint(self, option: str) -> str:
        from regard.spec.keys import paths_of

        takes_settings = any("--set" in parameter.opts for parameter in self.params)
        found = paths_of(option.lstrip("-").replace("-", "_")) if takes_settings else []
        return f". Use {' or '.join(f'--set {path}=VALUE' for path in found)}" if found else ""


def a_number(value: Optional[float]) -> Optional[float]:  # noqa: UP045
    """Refuse nan, which no range excludes."""
    if value is not None and math.isnan(value):
        raise typer.BadParameter("nan is not a number.")
    return value


def _checked_seed(seed: int | None) -> int | None:
    """Refuse a seed here rather than by a range of the option, which would fill half of every help page."""
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise typer.BadParameter(f"{seed} is not in the range 0 to {MAX_SEED}.")
    return seed


Overrides = Annotated[
    Optional[list[str]],  # noqa: UP045  (typer reads this form on every supported Python)
    typer.Option("--set", metavar="KEY.PATH=VALUE", help="Change one value of the spec. Can be repeated."),
]
Device = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--device", metavar="NAME", help="cpu, cuda, cuda:1 or mps. Default: a GPU if there is one."
    ),
]
Seed = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--seed",
        metavar="N",
        callback=_checked_seed,
        help="Seed of all random numbers. Default: from the spec.",
    ),
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a trained model.", show_default=False)]
Output = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("-o", "--output", metavar="FILE", help="Write here instead of to the terminal."),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Also replace files that regard did not write, or that were changed since.",
    ),
]
Beam = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--beam", min=1, metavar="N", help="Beam search of this size; 1 is greedy. Default: from the spec."
    ),
]
Must = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--must", metavar="TEXT", help="A phrase that every output contains. Can be repeated."),
]
Never = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--never", metavar="TEXT", help="A phrase that no output contains. Can be repeated."),
]
Prefix = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--prefix", metavar="TEXT", help="The beginning of every output."),
]
Regex = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--regex", metavar="PATTERN", help="A regular expression for the whole output."),
]
Grammar = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--grammar", metavar="FILE", help="A grammar of the whole output."),
]
Answers = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--answers", metavar="FILE", help="The allowed outputs, one in each line."),
]
With = Annotated[
    Optional[list[Path]],  # noqa: UP045
    typer.Option("--with", metavar="RUN", help="Additional model of the ensemble. Can be repeated."),
]
DataRow = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--row",
        metavar="N",
        help="Row N of the spec's data, from 0, with its truth; instead of a text.",
    ),
]
Of = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--of", metavar="OUTPUT", help="The output to use, if the model has several."),
]
"""How the command line names an output."""
BadRows = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--bad-rows",
        metavar="stop|skip",
        help="What to do with a row that cannot be used: stop, or skip it and list it in rejected.tsv. "
        "Default: from the spec.",
    ),
]


@dataclass(frozen=True)
class Loading:
    """How a command loads models.

    changes   overrides of their specs, as `key.path=value`
    device    default: the best available
    """

    changes: tuple[str, ...] = ()
    device: str | None = None


def spec_changes(
    overrides: list[str] | None,
    *,
    beam: int | None = None,
    seed: int | None = None,
    bad_rows: str | None = None,
    epochs: int | None = None,
    lr: float | None = None,
    batch: int | None = None,
    model: str | None = None,
) -> tuple[str, ...]:
    """The options above as `key.path=value`; --set comes last."""
    changes = []
    if beam is not None:
        changes += ["search.method=greedy"] if beam == 1 else ["search.method=beam", f"search.beam={beam}"]
    if seed is not None:
        changes.append(f"training.seed={seed}")
    if bad_rows is not None:
        changes.append(f"data.bad_rows={bad_rows}")
    given = {"model": model, "training.epochs": epochs, "training.lr": lr, "training.batch_rows": batch}
    changes += [f"{path}={value}" for path, value in given.items() if value is not None]
    return (*changes, *(overrides or []))


class CommandLine:
    """Remedies as a user types them in a shell."""

    between = " "
    options = {"run": "-o", "data.bad_rows": "--bad-rows"}
    """Options and settings with a name of their own."""

    def setting(self, one: Setting) -> str:
        if one.path in self.options:
            return f"{self.options[one.path]} {flow(one.value)}"
        if one.typed.startswith('search.constraint=[{"type": "'):  # as `constraint_change` writes it
            from regard.cli.constraining import typed_constraints

            return typed_constraints(one.typed)
        if one.typed:
            return f"--set {one.typed}"
        if one.value is UNSET:
            return f"--set {one.path}"
        value = flow(one.value)
        quoted = any(sign in value for sign in " {}'\"")
        return f"--set {one.path}={shlex.quote(value) if quoted else value}"

    def option(self, one: Option) -> str:
        name = self.options.get(one.name, f"--{one.name.replace('_', '-')}")
        if one.value in (UNSET, OPEN, True):
            return name
        value = str(one.value)
        return f"{name} {value if '|' in value else shlex.quote(value)}"

    def command(self, one: ShellCommand) -> str:
        return one.shell()


COMMAND_LINE = CommandLine()
