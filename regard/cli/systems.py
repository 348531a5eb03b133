"""The implementation of `regard list`: the systems of the zoo by what they read and write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.spec import Spec


def show_systems(words: Sequence[str]) -> None:
    """The systems that have all words, by task; without words all of them, in a line each."""
    from rich.table import Table
    from rich.text import Text

    from regard import zoo
    from regard.parts import nearest
    from regard.reporting.console import safe_console

    specs = {name: zoo.find(name) for name in zoo.names()}
    found = {name: spec for name, spec in specs.items() if set(words) <= _with_beginnings(name, spec, words)}
    if not found:
        known = ["runs", "parts", *specs, *{word for one in specs.items() for word in _words(*one)}]
        hint = nearest(words[0], known) if len(words) == 1 else ""
        raise RegardError(
            f"no system of the zoo has {' and '.join(map(repr, words))}.",
            where="list",
            fix=hint if hint.startswith("Did") else "`regard list` shows them all.",
        )
    groups: dict[str, list[tuple[str, str, str]]] = {}
    for name, spec in found.items():
        groups.setdefault(task(spec), []).append((name, spec.description, _data(spec)))
    console = safe_console()
    widths = [max(len(row[i]) for rows in groups.values() for row in rows) for i in range(3)]
    for title, rows in sorted(groups.items()):
        table = Table(
            box=None, show_header=False, pad_edge=False, title=Text(title, style="bold"), title_justify="left"
        )
        table.add_column(style="cyan", no_wrap=True, width=widths[0])
        table.add_column(no_wrap=not words, overflow="fold" if words else "ellipsis")
        if words:
            table.add_column(style="dim", no_wrap=True)
        for row in rows:
            table.add_row(*map(Text, row if words else row[:2]))
        console.print(table)
        console.print()
    console.print(
        "[dim]regard list WORD[/dim] shows those with this word in full, [dim]regard train NAME[/dim] trains one, "
        "[dim]regard init NAME > my.yaml[/dim] gives you its spec to change, [dim]regard runs[/dim] shows what "
        "you have trained. Your own pairs need none: [dim]regard train FILE --model transformer[/dim]."
    )


def _data(spec: Spec) -> str:
    provider = spec.data.provider
    return f"{provider.kind} {provider.type}" if provider else ", ".join(spec.data.train)


def _words(name: str, spec: Spec) -> set[str]:
    """The words by which a system is found: its name, description, columns, parts and data."""
    chosen = [
        one for part in (*spec.encoder.values(), *spec.decoder.values()) for one in (part.type, _cell(part))
    ]
    looks = [
        one.select.type
        for part in spec.decoder.values()
        for one in part.part.attentions(part)
        if _selects(one)
    ]
    text = " ".join([name, spec.description, task(spec), _data(spec), *chosen, *looks])
    text += " attention" * bool(looks)
    return {name, *chosen, *re.findall(r"\w+", text.lower())}


def _cell(part: Any) -> str:
    return getattr(getattr(part, "cell", None), "type", "")


def _selects(attention: Any) -> bool:
    return hasattr(attention, "select")


def _with_beginnings(name: str, spec: Spec, wanted: Sequence[str]) -> set[str]:
    """The wanted words with which a word of the system begins."""
    known = _words(name, spec)
    return {one for one in wanted if any(word.startswith(one.lower()) for word in known)}


def task(spec: Spec) -> str:
    """The inputs and outputs of a system, by the types of its columns: image + text → label."""
    sides = [
        " + ".join(dict.fromkeys(column.type for column in columns.values()))
        for columns in (spec.inputs, spec.outputs)
    ]
    return " → ".join(side for side in sides if side)
