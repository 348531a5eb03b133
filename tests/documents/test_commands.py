"""Every command that a page or the header of a recipe shows can be typed: its options, systems, recipes, labs
and settings exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

import regard
from regard import zoo
from regard.cli.main import app
from regard.parts import names
from tests.documents.pages import ROOT, Example, commands

GROUP: Any = typer.main.get_command(app)
OF_A_SPEC = ("train", "describe", "init")
MADE = re.findall(
    r'register\("command", "([\w-]+)"\)', (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
)
"""Commands that the guide shows how to make."""


def is_placeholder(word: str) -> bool:
    """NAME, SPEC.yaml, RUN..., DATA/imdb/train.tsv, a file of the reader's, or a variable of a shell."""
    return re.match(r"[A-Z]{2,}|\$", word) is not None or "." in word


def listed(program: str) -> list[Any]:
    return [pytest.param(example, id=f"{example}:{example.text[:40]}") for example in commands(program)]


@pytest.mark.parametrize("example", listed("regard"))
def test_command_of_regard(example: Example) -> None:
    text = re.sub(r" \\\| \S+|\[|\]|\.\.\.| &$", " ", example.text)  # NAME | FILE: the first
    words = [word for word in shlex.split(text) if word != "…"]
    if is_placeholder(words[1]) or words[1] == "--help" or words[1] in MADE:
        return
    assert words[1] in GROUP.commands, f"{example}: no command {words[1]}"
    if all(word.startswith("-") for word in words[2:]):  # a mention, such as `regard evaluate --by`
        known = {option for parameter in GROUP.commands[words[1]].params for option in parameter.opts}
        assert set(words[2:]) <= {*known, "--help"}, example
        return
    parameters = GROUP.commands[words[1]].make_context(words[1], words[2:]).params
    given = words[2] if len(words) > 2 else ""
    settings = [str(setting) for setting in parameters.get("overrides") or ()]
    assert all("=" in setting for setting in settings), example
    if words[1] == "lab" and given and not is_placeholder(given):
        assert given in names("lab"), example
    if words[1] not in OF_A_SPEC or not given or given.startswith("-"):
        return
    if given in zoo.names():
        zoo.find(given, settings)
    elif given.startswith("recipes/"):
        spec = regard.Spec.load(ROOT / given)
        if settings and not any(re.search(r"=\S*[A-Z]{3,}|\$", setting) for setting in settings):
            spec.changed(*settings)
    else:
        assert is_placeholder(given) or given.startswith("runs/"), f"{example}: no system or file {given}"


RUNNER = ROOT / "regard" / "export" / "runner.py"
"""What an export writes as run.py."""


@pytest.mark.parametrize("example", listed("python"))
def test_command_of_python(example: Example) -> None:
    words = shlex.split(example.text)
    if words[1] == "-c":
        compile(words[2], str(example), "exec")
        return
    if words[1] == "-m":
        assert importlib.util.find_spec(words[2]) is not None, example
        return
    script = RUNNER if words[1].endswith("/run.py") else ROOT / words[1]
    assert script.is_file(), f"{example}: no script {words[1]}"
    options = {word.partition("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)}
    written = source(script)
    missing = {option for option in options if f'"{option}"' not in written}
    assert not missing, f"{example}: {words[1]} has no option {', '.join(sorted(missing))}"


def source(script: Path) -> str:
    """The text of a script and of the files beside it that it imports, where its options are declared."""
    text = script.read_text(encoding="utf-8")
    beside = [
        script.parent / f"{name}.py" for name in re.findall(r"(?m)^(?:from|import) (?:bench\.)?(\w+)", text)
    ]
    return text + "".join(path.read_text(encoding="utf-8") for path in beside if path.is_file())


def test_commands_are_found() -> None:
    assert len(listed("regard")) >= 200 and len(listed("python")) >= 30
