"""`regard lecture ENTRY --code` prints the Python of an entry's computations, one after another, runnable as it is."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from regard.course import lectures
from regard.course.lectures.checks import PREAMBLE, PythonCheck

Command = Callable[..., tuple[int, str, str]]
ALL = [(f"{deck.deck}.{entry.number}", entry) for deck in lectures.decks() for entry in deck.entries]


def code(entry: Any) -> list[str]:
    return list(dict.fromkeys(check.python for check in entry.checks if isinstance(check, PythonCheck)))


def test_the_code_of_an_entry_runs_as_it_is_printed(regard: Command) -> None:
    status, out, _ = regard("lecture", "000.58", "--code")
    assert status == 0
    printed = out[out.index("import itertools") :].rstrip().splitlines()
    names: dict[str, Any] = {}
    exec("\n".join([*printed[:-1], f"found = {printed[-1]}"]), names)
    looks, scores, others = names["found"]
    assert looks < 1e-10 and scores < 1e-10 and others


def test_an_entry_without_code_says_what_computes_it(regard: Command) -> None:
    name = next(name for name, entry in ALL if entry.command and not entry.like and not code(entry))
    status, out, _ = regard("lecture", name, "--code")
    assert status == 0 and "No Python code" in out


def test_no_computation_takes_a_name_that_a_later_one_of_its_entry_needs() -> None:
    tools: dict[str, Any] = {}
    exec(PREAMBLE, tools)
    taken = {name: found for name, entry in ALL if (found := _taken(code(entry), set(tools)))}
    assert not taken


def test_a_name_that_is_taken_is_found() -> None:
    assert _taken(["weights = 1", "weights(m)"], {"weights"}) == {"weights"}
    assert not _taken(["weights = 1", "weights = 2\nweights"], {"weights"})
    assert not _taken(["def cost():\n    weights = 1", "weights(m)"], {"weights"})


def _taken(texts: list[str], tools: set[str]) -> set[str]:
    """The tools whose names a text assigns outside its functions, and a later text reads and does not assign."""
    before: set[str] = set()
    found: set[str] = set()
    for text in texts:
        tree = ast.parse(text)
        names = [one for one in ast.walk(tree) if isinstance(one, ast.Name)]
        own = {one.id for one in names if isinstance(one.ctx, ast.Store)}
        read = {one.id for one in names if isinstance(one.ctx, ast.Load)}
        found |= read & before & tools - own
        outside = [line for line in tree.body if not isinstance(line, ast.FunctionDef)]
        before |= {line.name for line in tree.body if isinstance(line, ast.FunctionDef)}
        inside = (one for line in outside for one in ast.walk(line) if isinstance(one, ast.Name))
        before |= {one.id for one in inside if isinstance(one.ctx, ast.Store)}
    return found
