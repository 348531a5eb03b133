"""The same look in Python and on the command line, for the page to copy."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pprint import pformat
from typing import TYPE_CHECKING, Any

from regard.reporting.terminal import LINES, printable

if TYPE_CHECKING:
    from regard.studio.looking import Looking

WIDTH = 100
FILE = "FILE"
"""Stands for a file that was dropped on the page, whose path the browser does not tell."""


def command_of(looking: Looking) -> str:
    """The command that shows this look; empty if there is none, as for a prefix."""
    asked, inputs = looking.asked, looking.inputs
    if asked.prefix is not None:
        return ""
    words = ["regard", "show", str(looking.run.folder)]
    if inputs.row is not None:
        words += ["--row", str(inputs.row), "--split", inputs.split]
    else:
        words += [FILE if isinstance(value, bytes) else str(value) for value in inputs.values.values()]
        if asked.target is not None:
            words += ["--target", asked.target]
    if len(looking.run.model.spec.outputs) > 1:
        words += ["--of", looking.output]
    if asked.search.beam is not None:
        words += ["--beam", str(asked.search.beam)]
    if asked.seed is not None:
        words += ["--seed", str(asked.seed)]
    if asked.edits:
        from regard.model.edits import written

        words += ["--look", written(asked.edits)]
    return printable(shlex.join(words), LINES)


def python_of(looking: Looking) -> str:
    """The Python calls that make this prediction."""
    asked, inputs = looking.asked, looking.inputs
    options: dict[str, Any] = {}
    if len(looking.run.model.spec.outputs) > 1:
        options["output"] = looking.output
    if asked.prefix is not None:
        options["prefix"] = asked.prefix
    options |= looking.options
    if asked.edits:
        options["look"] = list(asked.edits)
    head = ["import regard", "", f"model = regard.load({str(looking.run.folder)!r})"]
    if inputs.row is not None and inputs.dataset is not None:
        return "\n".join(head + _of_row(looking, options))
    value = _literal(inputs.values)
    call = "predict"
    if asked.target is not None:
        call, value = "score", f"{value}, {asked.target!r}"
        options = {name: one for name, one in options.items() if name in ("output", "look")}
    lines = [f"prediction = model.{call}({', '.join([value, *_arguments(options)])})"]
    return printable("\n".join([*head, *lines, "prediction.trace.print()"]), LINES)


def _of_row(looking: Looking, options: dict[str, Any]) -> list[str]:
    inputs = looking.inputs
    searched = {name: options.pop(name) for name in looking.options if name in options}
    chosen = f".searching({', '.join(_arguments(searched))})" if searched else ""
    options.setdefault("output", looking.output)
    edits = options.pop("look", None)
    arguments = _arguments(options)
    if edits is not None:
        arguments.append(f"edits=model.edits([{_written(edits)}], {looking.output!r})")
    return [
        "",
        "from regard.evaluation import open_dataset",
        "",
        f"rows = open_dataset(model, (), [{inputs.split!r}])",
        f"prediction = model{chosen}.answer(rows.batch([{inputs.row}]), {', '.join(arguments)})[0]",
        "prediction.trace.print()",
    ]


def _literal(values: Mapping[str, Any]) -> str:
    """The inputs as Python; an upload as the name of a file."""
    plain = {name: FILE if isinstance(value, bytes) else value for name, value in values.items()}
    return repr(next(iter(plain.values())) if len(plain) == 1 else plain)


def _arguments(options: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_written(value)}" for name, value in options.items()]


def _written(value: Any) -> str:
    return pformat(value, width=WIDTH, sort_dicts=False) if isinstance(value, list) else repr(value)
