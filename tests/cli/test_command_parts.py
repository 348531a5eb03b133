"""Commands are parts: each registers itself, and the help lists commands of other packages like ours."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import pytest
import typer

from regard.cli import Command
from regard.errors import RegardError
from regard.parts import names, part, register, registry
from regard.testing import failures

COLUMNS = 80
FOLDERS = [
    Path(sys.modules["regard"].__path__[0]) / room / "commands"
    for room in ("cli", "course", "serve", "studio", "sweep")
]
IMPORTED = """
import contextlib, io, json, sys
from regard.cli import main
sys.argv = ["regard", *sys.argv[1:]]
with contextlib.redirect_stdout(io.StringIO()):
    try:
        main()
    except SystemExit as stop:
        code = stop.code
print(json.dumps([code, sorted(sys.modules)]))
"""


@pytest.fixture
def hello() -> Iterator[type[Command]]:
    """A command of another package."""
    names("command")
    before = dict(registry.PARTS["command"])

    class HelloCommand(Command):
        """Greet somebody.

        \b
        regard hello Ann
        """

        heading = "Use"

        @classmethod
        def run(cls, whom: Annotated[str, typer.Argument(help="Whom to greet.")]) -> None:
            if whom == "nobody":
                raise RegardError("there is nobody to greet.", where="hello", fix="Name somebody.")
            typer.echo({"Ann": "Hello, Ann!"}[whom])

    HelloCommand.__module__ = "elsewhere"
    yield register("command", "hello")(HelloCommand)
    registry.PARTS["command"] = before


def test_a_module_has_the_name_of_its_command() -> None:
    written = [path.stem for folder in FOLDERS for path in folder.glob("*.py") if path.stem != "__init__"]
    assert sorted(written) == names("command")
    for name in names("command"):
        assert part("command", name).__module__.rpartition(".")[2] == name


@pytest.mark.usefixtures("hello")
def test_a_command_of_another_package_is_used_like_ours(regard: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = regard("--help")
    assert code == 0
    use = out[out.index("─ Use ─") : out.index("─ Look inside ─")]
    assert use.index("predict") < use.index("push") < use.index("hello")
    assert "Greet somebody." in use
    code, out, _ = regard("hello", "--help")
    assert code == 0 and "Whom to greet." in out and "regard hello Ann" in out
    assert regard("hello", "Ann") == (0, "Hello, Ann!\n", "")
    code, _, err = regard("hello", "nobody")
    assert code == 2 and err == "error: hello: there is nobody to greet.\n       Name somebody.\n"
    code, _, err = regard("hello", "Bob")  # a bug of its own is told with its name
    assert code == 2 and "the command 'hello' (elsewhere): run failed" in err and "KeyError: 'Bob'" in err
    code, _, err = regard("helo", "Ann")
    assert code == 2 and "Did you mean 'hello'?" in err
    assert failures("command", "hello") == []


@pytest.mark.usefixtures("hello")
def test_a_command_without_help_is_refused() -> None:
    class SilentCommand(Command):
        __module__ = "elsewhere"

        @classmethod
        def run(cls) -> None:
            pass

    with pytest.raises(RegardError, match="lacks a docstring"):
        register("command", "silent")(SilentCommand)

    class OddCommand(Command):
        """Take what typer cannot read, and say nothing of it."""

        __module__ = "elsewhere"

        @classmethod
        def run(cls, one: int | str, two: str) -> None:
            pass

    register("command", "odd")(OddCommand)
    assert any("parameters that typer can read" in told for told in failures("command", "odd"))
    OddCommand.run.__func__.__annotations__["one"] = "str"
    assert failures("command", "odd") == [
        "command odd: run: expected a help text for one; received none.",
        "command odd: run: expected a help text for two; received none.",
    ]


@pytest.mark.parametrize(
    ("arguments", "own"),
    [(["--version"], set()), (["--help"], set(names("command"))), (["train", "--help"], {"train"})],
)
def test_only_what_is_asked_for_is_imported(arguments: list[str], own: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *arguments], capture_output=True, text=True, timeout=120
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    assert not {"torch", "numpy", "yaml", "numba"} & set(modules)
    commands = {name.rpartition(".")[2] for name in modules if ".commands." in name}
    assert commands == own
