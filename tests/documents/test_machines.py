"""The blocks of docs/machines.md can be typed. `bench/machines.py` runs them as they are printed; the options of their
commands are parsed with those of the other pages (`test_commands.py`)."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from regard.cli.main import app
from tests.documents.pages import ROOT
from tests.documents.sections import FENCE, PAGE, Block, sections

GROUP: Any = typer.main.get_command(app)
PROGRAMS = {"regard", "python", "torchrun", "curl", "cat"}
BLOCKS = [
    pytest.param(block, id=f"{PAGE.name}:{block.line}") for blocks in sections().values() for block in blocks
]


def test_every_block_is_one_that_is_run() -> None:
    languages = [block[1] for block in FENCE.finditer(PAGE.read_text(encoding="utf-8"))]
    assert not {"sh", "shell", "console", ""} & set(languages), "a block that nobody would run"
    assert len(BLOCKS) == sum(language in ("bash", "python") for language in languages) > 10
    page = "## A\n```bash\nregard \\\n  one\n# remark\ntwo\n```\n## B\n```text\nno\n```\n"
    assert [block.commands for block in sections(page)["A"]] == [["regard one", "two"]]
    assert set(sections(page)) == {"A"}


def test_every_section_is_checked() -> None:
    """A section without a check of what came of it would pass if its commands did nothing."""
    tree = ast.parse((ROOT / "bench" / "machines.py").read_text(encoding="utf-8"))
    owners = {
        made.args[0].value
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for made in function.decorator_list
        if isinstance(made, ast.Call) and isinstance(made.args[0], ast.Constant)
    }
    assert set(sections()) == owners


def test_a_command_in_a_sentence_is_in_a_block_too() -> None:
    text = PAGE.read_text(encoding="utf-8")
    typed = [command for blocks in sections().values() for block in blocks for command in block.commands]
    for mention in re.findall(r"`(regard [^`]+)`", FENCE.sub("", text)):
        assert any(line.startswith(mention) for line in typed), mention
    assert not re.search(r"^(?:    |\t)\$? ?regard ", FENCE.sub("", text), re.M), "an indented command"


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_can_be_typed(block: Block) -> None:
    if block.language == "python":
        check_calls(ast.parse(block.text))
        return
    for command in block.commands:
        words = shlex.split(re.split(r" [|>&]", command)[0])
        assert words[0] in PROGRAMS, command
        if "-m" in words and "regard" in words:
            words = words[words.index("-m") + 1 :]
        if words[0] == "regard":
            GROUP.commands[words[1]].make_context(words[1], words[2:])


def check_calls(tree: ast.Module) -> None:
    """What a block imports of regard exists, and takes the options that it is called with."""
    known: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {
                one.name: importlib.import_module(one.name) for one in node.names if one.name == "regard"
            }
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("regard"):
            room = importlib.import_module(str(node.module))
            known |= {one.name: getattr(room, one.name) for one in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (called := found(node.func, known)) is not None:
            taken = inspect.signature(getattr(called, "start", called)).parameters  # regard.sweep is a room
            assert {str(one.arg) for one in node.keywords} <= set(taken), ast.unparse(node)


def found(node: ast.expr, known: dict[str, Any]) -> Any:
    """The object that a name such as `regard.sweep.minimize` is; None if it is not of regard."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute) and (holder := found(node.value, known)) is not None:
        return getattr(holder, node.attr)
    return None


def test_a_misspelled_option_is_found() -> None:
    for wrong in ("regard sweep my.yaml --trails 3", "regrad sweep my.yaml"):
        with pytest.raises((Exception, SystemExit)):
            test_a_block_can_be_typed(Block("bash", wrong, 1))
    with pytest.raises(AssertionError):
        check_calls(ast.parse("import regard\nregard.sweep('my.yaml', trails=3)"))
    assert Path(PAGE).is_file()
