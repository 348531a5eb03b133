"""Errors carry remedies as data; Python names arguments and the command line names options, of the same fact."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.cli.command import COMMAND_LINE
from regard.errors import (
    FILE,
    OPEN,
    PYTHON,
    Message,
    Option,
    RegardError,
    Remedy,
    Setting,
    ShellCommand,
    Together,
)
from regard.fitting.fitting import Sections, fit
from regard.spec import Spec
from regard.spec.document import Document, nested

PACKAGE = Path(__file__).parents[2] / "regard"
ABOVE = ("cli", "course", "report", "serve", "studio", "sweep")
"""Rooms that print commands: the command line, and the pages that say which command makes them again."""
STYLES = PACKAGE / "inspect" / "page_style.py"
RUNNER = PACKAGE / "export" / "runner.py"
"""A style sheet, in which `--` begins a variable."""
OPTION = re.compile(r"(?:^|[\s`(])--[a-z][a-z-]*\b(?!:)")
SMALL: dict[str, Any] = {
    "inputs": {"source": {"type": "text"}},
    "outputs": {"target": {"type": "text"}},
    "encoder": {"size": 8},
}


@pytest.mark.parametrize(
    ("remedy", "option", "argument"),
    [
        (Setting("encoder.size", 512), "--set encoder.size=512", "encoder={'size': 512}"),
        (Setting("training.lr", 0.001), "--set training.lr=0.001", "lr=0.001"),
        (Setting("data.dev", FILE), "--set data.dev=FILE", "dev=FILE"),
        (Setting("data.hold_out", 0.1), "--set data.hold_out=0.1", "overrides=['data.hold_out=0.1']"),
        (
            Setting("data.format", {"type": "csv", "header": False}),
            "--set data.format='{type: csv, header: false}'",
            "overrides=['data.format={type: csv, header: false}']",
        ),
        (Setting("metrics", ["bleu"]), "--set metrics=[bleu]", "metrics=['bleu']"),
        (Setting("name", "no"), "--set name='\"no\"'", "name='no'"),
        (Setting("data.bad_rows", "skip"), "--bad-rows skip", "overrides=['data.bad_rows=skip']"),
        (
            Setting("encoder.size", "x", "encoder.size=x"),
            "--set encoder.size=x",
            "overrides=['encoder.size=x']",
        ),
        (Option("overwrite", True), "--overwrite", "overwrite=True"),
        (Option("run", OPEN), "-o", "run=…"),
        (Option("source", "a b"), "--source 'a b'", "source='a b'"),
        (Option("length_of"), "--length-of", "length_of"),
        (
            Together(Option("source", "a"), Option("target", "b")),
            "--source a --target b",
            "source='a', target='b'",
        ),
        (
            ShellCommand("generate", ("RUN",), {"prompt": "TEXT"}, python="model.generate(prompt)"),
            "regard generate RUN --prompt TEXT",
            "model.generate(prompt)",
        ),
        (
            ShellCommand("train", options={"resume": "runs/x"}),
            "regard train --resume runs/x",
            "regard train --resume runs/x",
        ),
    ],
)
def test_each_front_end_words_a_remedy(remedy: Remedy, option: str, argument: str) -> None:
    error = RegardError("too large.", where=remedy, fix=Message("Use ", remedy, "."))
    assert str(error) == f"{argument}: too large. Use {argument}."
    assert error.said(COMMAND_LINE) == f"{option}: too large. Use {option}."
    again = pickle.loads(pickle.dumps(error))  # as from a worker of a data loader
    assert (str(again), again.said(COMMAND_LINE)) == (str(error), error.said(COMMAND_LINE))


def test_several_mistakes_keep_their_remedies() -> None:
    both = RegardError.of_all(
        [
            RegardError("one.", where="a", fix=Setting("encoder.size", 1)),
            RegardError("two.", where=Option("by"), fix=Setting("data.dev", FILE)),
        ]
    )
    assert str(both) == "a: one. encoder={'size': 1}\nby: two. dev=FILE"
    assert both.said(COMMAND_LINE) == "a: one. --set encoder.size=1\n--by: two. --set data.dev=FILE"


def test_values_of_python_reach_the_spec_as_they_are() -> None:
    """No value is written as text and parsed again: `no` and `1e3` stay texts, 1e-5 a number."""
    changes = [
        *nested("name", "no"),
        *nested("training", {"lr": 1e-5, "seed": 7}),
        *nested("description", "1e3"),
    ]
    spec = Spec.parse(Document(SMALL), changes)
    assert (spec.name, spec.description, spec.training.lr, spec.training.seed) == ("no", "1e3", 1e-5, 7)


def test_a_mapping_with_a_type_replaces_the_part_and_others_change_values() -> None:
    assert [(one.path, one.value) for one in nested("encoder", {"size": 4, "cell": {"type": "gru"}})] == [
        ("encoder.size", 4),
        ("encoder.cell", {"type": "gru"}),
    ]
    (whole,) = nested("encoder", {"type": "transformer", "heads": 2})
    assert (whole.path, whole.value) == ("encoder", {"type": "transformer", "heads": 2})


@pytest.mark.parametrize("value", [object(), "\ud800", {"size": {1, 2}}])
def test_what_yaml_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(RegardError, match="cannot be written into a spec"):
        list(nested("encoder", value))


def test_other_search_options_do_not_read_the_spec_again(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Spec.parse(Document(SMALL))
    monkeypatch.setattr(Spec, "parse", lambda *_: pytest.fail("the whole spec was validated"))
    beam = spec.with_options("search", {"method": "beam", "beam": 3})
    assert beam.search.method.beam == 3 and beam.written()["search"] == {"method": "beam", "beam": 3}
    assert spec.search.method.type == "greedy"
    with pytest.raises(RegardError, match=r"^beam=0: expected greater than or equal to 1, received 0"):
        spec.with_options("search", {"beam": 0})


def texts(tree: ast.AST) -> Iterator[ast.Constant]:
    """The texts of a module that are neither docstrings nor the documentation of a contract (decorators)."""
    documents = {
        id(inner)
        for node in ast.walk(tree)
        for decorator in getattr(node, "decorator_list", ())
        for inner in ast.walk(decorator)
    }
    said = documents | {
        id(line.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for line in node.body
        if isinstance(line, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node


def test_no_text_of_the_library_names_an_option_of_the_command_line() -> None:
    """Below the command line, options are data; each front end words them."""
    found = [
        f"{file.relative_to(PACKAGE)}:{text.lineno}: {text.value.strip()[:60]!r}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if file.relative_to(PACKAGE).parts[0] not in ABOVE and file not in (STYLES, RUNNER)
        for text in texts(ast.parse(file.read_text(encoding="utf-8")))
        if OPTION.search(text.value)
    ]
    assert not found, "\n".join(found)


def test_python_names_only_arguments_that_fit_has() -> None:
    arguments = {*Sections.__annotations__, *inspect.signature(fit).parameters}
    assert {*PYTHON.sections, *PYTHON.direct.values(), *PYTHON.names.values()} <= arguments | {
        "ensemble",
        "output",
    }
    with pytest.raises(RegardError, match=r"fit has no argument 'encodr'\. Did you mean encoder"):
        fit([("a", "b")], encodr={"size": 4})  # type: ignore[call-arg]
    with pytest.raises(RegardError, match=r"fit has no argument 'epoch'\. Did you mean epochs"):
        fit([("a", "b")], epoch=4)  # type: ignore[call-arg]
