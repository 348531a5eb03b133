"""Tables in a notebook, without scripts and without the network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from regard.reporting.terminal import printable

CELL = "text-align:left;padding:.2rem .9rem .2rem 0"


def notebook_title(title: str, note: str = "") -> str:
    """A heading, with a note beside it."""
    beside = f" <small>{_text(note)}</small>" if note else ""
    return f"<div><strong>{_text(title)}</strong>{beside}</div>"


def notebook_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table; numbers have four digits."""
    if not rows:
        return ""
    first = "".join(f'<th style="{CELL}">{_text(name)}</th>' for name in head)
    body = "".join(
        f"<tr>{''.join(f'<td style={chr(34)}{CELL}{chr(34)}>{_text(_shown(cell))}</td>' for cell in row)}</tr>"
        for row in rows
    )
    top = f"<thead><tr>{first}</tr></thead>" if any(head) else ""
    return f'<table style="margin:.5rem 0">{top}<tbody>{body}</tbody></table>'


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _text(text: str) -> str:
    return escape("\n".join(map(printable, text.split("\n"))))
