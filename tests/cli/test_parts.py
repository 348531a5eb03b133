"""`regard list parts` and `regard new`."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from regard.cli import main
from regard.errors import RegardError
from regard.parts import KINDS, names, part, registry
from regard.templates import write_part
from regard.version import __version__

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["regard", *arguments])
        monkeypatch.setenv("COLUMNS", "200")
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return run


@pytest.fixture
def only_here() -> Iterator[None]:
    """Forget what a test registers."""
    for kind in KINDS:
        names(kind)
    before = {kind: dict(known) for kind, known in registry.PARTS.items()}
    yield
    for kind in KINDS:
        registry.PARTS[kind] = before[kind]


def test_every_kind_and_every_part_is_listed(command: Command) -> None:
    code, out, _ = command("list", "parts")
    assert code == 0
    for kind in KINDS:
        assert kind in out and names(kind)[0] in out
    code, out, _ = command("list", "parts", "cell")
    assert code == 0
    for name in names("cell"):
        assert name in out
    assert f"regard {__version__}" in out


def test_a_part_is_shown_with_its_options_and_equations(command: Command) -> None:
    code, out, _ = command("list", "parts", "selection", "local")
    assert code == 0
    assert f"from regard {__version__}: regard.nn.selections.local.Local" in out
    assert "window: whole number, default 10" in out
    assert "Number of positions on either side of the center." in out
    assert "softmax_{j: |j − p_t| ≤ 10}(e_tj)" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["parts", "cel"], "there is no kind of part 'cel'.\n       Did you mean cell?"),
        (["parts", "cell", "gur"], "there is no cell 'gur'.\n       Did you mean gru?"),
        (["prts"], "no system of the zoo has 'prts'.\n       Did you mean parts?"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(
    command: Command, arguments: list[str], told: str
) -> None:
    code, _, err = command("list", *arguments)
    assert code == 2 and told in err


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_can_be_described(command: Command, kind: str) -> None:
    for name in names(kind)[:3]:
        code, out, _ = command("list", "parts", kind, name)
        assert code == 0 and out.startswith(f"{kind} {name}\nfrom regard ")


@pytest.mark.usefixtures("only_here")
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_part_passes_its_own_test(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    files = write_part(kind, "my-own", folder)
    assert sorted(path.name for path in files) == [
        "pyproject.toml",
        "regard_my_own.py",
        "test_regard_my_own.py",
    ]
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["entry-points"]["regard.parts"] == {"regard_my_own": "regard_my_own"}
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "regard_my_own", raising=False)
    found = importlib.util.spec_from_file_location("its_test", folder / "test_regard_my_own.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    assert part(kind, "my-own").__module__ == "regard_my_own"
    test = next(value for name, value in vars(module).items() if name.startswith("test_"))
    test(tmp_path) if kind == "reader" else test()
    monkeypatch.delitem(sys.modules, "regard_my_own")


def test_new_replaces_nothing(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = command("new", "cell", "mgu")
    assert code == 0 and "regard_mgu.py" in out
    (tmp_path / "mgu" / "regard_mgu.py").write_text("mine", encoding="utf-8")
    code, _, err = command("new", "cell", "mgu")
    assert code == 2 and "this file exists" in err
    assert (tmp_path / "mgu" / "regard_mgu.py").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("kind", "name", "told"),
    [
        ("cel", "mgu", "there is no kind of part 'cel'. Did you mean cell?"),
        ("cell", "gru", "there is already a cell 'gru': regard.nn.cells.gru.GRUCell"),
        ("cell", "../mgu", "cannot name a part"),
    ],
)
def test_new_refuses_what_cannot_be(kind: str, name: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(RegardError) as refused:
        write_part(kind, name, tmp_path / "new")
    assert told in str(refused.value)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_part_says_of_itself_reads_alone(kind: str) -> None:
    """`regard list parts KIND NAME` prints the docstring of the class, not that of its module."""
    for name in names(kind):
        made = part(kind, name)
        said = f"{made.__doc__ or ''} {getattr(made, 'Options', made).__doc__ or ''}"
        assert " above" not in said.lower(), (kind, name, said)
