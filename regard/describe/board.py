"""The board: the six answers about a model as a table, with the number of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import zoo
from regard.describe.notations import lettered
from regard.describe.six_answers import NOTE, Answer, answers
from regard.model.counting import parameter_counts
from regard.spec import Spec

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

NETWORK = ("inputs", "outputs", "encoder", "attention", "decoder", "data")
"""The sections of a spec that a description is about."""


def board(spec: Spec, what: str = "", *, letters: str | None = None) -> RenderableType:
    """The answers as a rich table, with parameter counts.

    letters   the notation that is used, a part of that kind, with the location of each weight
    """
    from rich.table import Table
    from rich.text import Text

    title = spec.name or what
    table = Table(
        title=title,
        title_style="bold",
        show_header=False,
        box=None,
        padding=(0, 2, 1, 0),
        title_justify="left",
    )
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column(overflow="fold")
    found = described(spec, what)
    weights: list[tuple[str, str, str]] = []
    if letters is not None:
        counted = found["parameters"]
        found, weights = _in_letters(spec, what, letters)
        found["counted"] = counted
    if caption := _caption(spec):
        table.caption, table.caption_justify = caption, "left"
    for question, lines in found.items():
        answer = Text()
        for line in lines:
            said, dash, note = line.partition(NOTE)
            if said.strip():
                answer.append(said.rstrip())
                answer.append(f"   {dash}{note}\n" if dash else "\n", style="dim")
            else:
                heading = note.strip() in {*spec.inputs, *spec.outputs}
                answer.append(note.strip() + "\n", style="bold" if heading else "dim")
        answer.rstrip()
        whole = question == "parameters" and weights
        table.add_row(question, _with_places(answer, weights) if whole else answer)
    return table


def _caption(spec: Spec) -> str:
    """The description of a spec; of a system of the zoo with other settings, which these are, since the description
    may no longer hold."""
    if spec.name not in zoo.names():
        return spec.description
    now, before = spec.written(), zoo.find(spec.name).written()
    changed = [
        key for section in NETWORK for key in _differing(section, now.get(section), before.get(section))
    ]
    return f"{spec.name} with other settings: {', '.join(changed)}" if changed else spec.description


def _differing(place: str, now: Any, before: Any) -> list[str]:
    """The keys that differ, down to the second level."""
    if now == before:
        return []
    if "." in place or not (isinstance(now, Mapping) and isinstance(before, Mapping)):
        return [place]
    keys = dict.fromkeys([*before, *now])
    return [one for key in keys for one in _differing(f"{place}.{key}", now.get(key), before.get(key))]


def described(spec: Spec, what: str = "") -> dict[str, Answer]:
    """The six answers in plain text, with the numbers of parameters."""
    return answers(spec) | {"parameters": _parameters(spec, what)}


def _with_places(said: Text, weights: Sequence[tuple[str, str, str]]) -> RenderableType:
    from rich.console import Group

    return Group(said, _places(weights)) if said else _places(weights)


def _places(weights: Sequence[tuple[str, str, str]]) -> RenderableType:
    """Letter, shape and location of each weight; on a narrow screen, the location wraps."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 3, 0, 0))
    for whole in (True, True, False):
        table.add_column(no_wrap=whole, overflow="fold")
    for weight in weights:
        table.add_row(*map(Text, weight))
    return table


def _in_letters(spec: Spec, what: str, notation: str) -> tuple[dict[str, Answer], list[tuple[str, str, str]]]:
    """The answers in another notation, and each parameter: letter, shape, location."""
    known = Path(what) / "columns.json"
    found = lettered(spec, notation, known if known.is_file() else None)
    weights = [(one.letter, " × ".join(one.sides), one.place) for one in found.weights]
    remarks = [f"{NOTE} {remark}" for remark in found.remarks]
    printed = [f"{found.parameters}     {NOTE} as the slide prints them"] if found.parameters else []
    return {**found.answers, "parameters": printed, **({"departs": remarks} if remarks else {})}, weights


def _parameters(spec: Spec, what: str) -> Answer:
    run = Path(what)
    known = run / "columns.json"
    counts, sizes = parameter_counts(spec, known if known.is_file() else None)
    lines = [f"{part}: {count}" for part, count in counts.items()]
    if sizes:
        lines.append(", ".join(f"V({name}) = {size:,}" for name, size in sizes.items()))
    return lines
