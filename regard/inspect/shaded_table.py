"""A table of numbers with intervals, shaded by how good they are; on a narrow page, every row is a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from regard.reporting.terminal import printable


@dataclass(frozen=True)
class ShadedCell:
    """A formatted number, its interval in small letters, and its shade from 0 to 1; None: no shade."""

    text: str = ""
    small: str = ""
    weight: float | None = None


@dataclass(frozen=True)
class ShadedRow:
    """The name of a row, a description, its cells, and whether there is a rule above it."""

    name: str
    small: str
    cells: Sequence[ShadedCell]
    rule: bool = False


@dataclass(frozen=True)
class ShadedTable:
    """head: the corner, and a name for each column."""

    head: Sequence[str]
    rows: Sequence[ShadedRow]


def shaded_html(table: ShadedTable) -> str:
    first = "".join(f'<th scope="col">{_text(name)}</th>' for name in table.head)
    body = "".join(_row(row, table.head[1:]) for row in table.rows)
    inside = f"<thead><tr>{first}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="scroll"><table class="shaded">{inside}</table></div>'


def _row(row: ShadedRow, names: Sequence[str]) -> str:
    small = f"<small>{_text(row.small)}</small>" if row.small else ""
    cells = "".join(_cell(cell, name) for cell, name in zip(row.cells, names, strict=True))
    rule = ' class="rule"' if row.rule else ""
    return f'<tr{rule}><th scope="row">{_text(row.name)}{small}</th>{cells}</tr>'


def _cell(cell: ShadedCell, name: str) -> str:
    kind = "none" if not cell.text else "" if cell.weight is None else "heat"
    shade = "" if cell.weight is None else f' style="--w:{cell.weight:.2f}"'
    small = f"<small>{_text(cell.small)}</small>" if cell.small else ""
    named = f' class="{kind}"' if kind else ""
    return f'<td{named}{shade} data-name="{_text(name)}">{_text(cell.text)}{small}</td>'


def _text(text: str) -> str:
    return escape(printable(text))
