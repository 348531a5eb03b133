"""The application: its version and its error messages. Commands register themselves."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated

import typer

from regard.cli.command import RegardGroup
from regard.errors import RegardError
from regard.storage.files import FULL
from regard.version import __version__

TRACEBACK = "REGARD_TRACEBACK"
"""If this environment variable is set, an error shows its whole traceback."""

app = typer.Typer(
    name="regard",
    cls=RegardGroup,
    help="Encoder-decoder models you can look inside.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with:  regard train reverse   then   regard show runs/reverse 'a b c'",
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"regard {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. An error is shown in one line and exits with 2, an interruption exits with 130."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the shell, as with >&-
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    # Before torch is imported: busy-waiting threads make a loaded machine many times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # If torch uses mimalloc: releasing memory at once and requesting it again costs a tenth of each update.
    os.environ.setdefault("MIMALLOC_PURGE_DELAY", "10000")
    # Show only the message of a warning, without its location in the code.
    warnings.formatwarning = lambda message, *_: f"{message}\n"  # type: ignore[assignment]
    try:
        app()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output, such as `head`, has closed the pipe.
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        told = explained(error)
        if told is None or os.environ.get(TRACEBACK):
            raise
        _tell(told)
        sys.exit(2)


def explained(error: BaseException) -> RegardError | None:
    """An error that the user can resolve: their own mistake, or a limit of the machine. None for a bug of ours."""
    if isinstance(error, RegardError):
        return error
    from regard.parts import fault

    if (told := fault(error)) is not None:  # in a command that computes nothing, such as describe
        return told
    if isinstance(error, OSError):
        place = "" if error.filename is None else str(error.filename)
        fix = (
            "Free some space on this disk, or choose a folder on another one." if error.errno in FULL else ""
        )
        return RegardError(f"{error.strerror or error}.", where=place, fix=fix)
    if isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__ or _asks_too_much(error):
        return RegardError(
            "there is not enough memory for this.",
            fix="Close other programs, or use shorter inputs, fewer at a time, a smaller beam or a smaller model.",
        )
    if isinstance(error, ImportError) and "segment from shared object" in str(error):
        return RegardError(
            f"a library could not be loaded: {error}.",
            fix="This process may not use enough memory: raise the limit (ulimit -v), or close other programs.",
        )
    if isinstance(error, RecursionError):
        return RegardError("something in this input is nested too deeply.", fix="Reduce the nesting.")
    if isinstance(error, UnicodeError):
        return RegardError(f"a text cannot be read or written as Unicode: {error}.", fix="Save it as UTF-8.")
    if type(error).__name__ == "SafetensorError":
        return RegardError(f"a file of weights cannot be read: {error}.", fix="Copy it again.")
    return None


def _asks_too_much(error: BaseException) -> bool:
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)


def _tell(error: RegardError) -> None:
    from rich.text import Text

    from regard.cli.command import COMMAND_LINE
    from regard.errors import said
    from regard.reporting.console import safe_console

    line = Text("error: ", style="bold red")
    where, what, fix = (said(words, COMMAND_LINE) for words in (error.where, error.what, error.fix))
    if where:
        line.append(f"{where}: ", style="bold")
    line.append(what, style="default")
    if fix:
        line.append(f"\n       {fix}", style="cyan")
    safe_console(stderr=True, highlight=False, soft_wrap=True).print(line)
