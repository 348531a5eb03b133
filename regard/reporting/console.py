"""A rich console that prints only printable text, as `regard.reporting.terminal` defines it.

A separate module, because commands that draw nothing do not load rich."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

from regard.reporting.terminal import LINES, printable


def safe_console(**options: Any) -> Console:
    """A rich console that prints only printable text."""
    made = Console(**options)
    made.push_render_hook(_Printable())
    return made


class _Printable(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Cleaned(one) for one in renderables]


class _Cleaned:
    def __init__(self, content: ConsoleRenderable) -> None:
        self.content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        return _cleaned(console.render(self.content, options), console.encoding)


def _cleaned(segments: Iterable[Segment], encoding: str) -> Iterable[Segment]:
    for text, style, control in segments:
        # a link is a control sequence too, with an address from the text
        style = style.update_link(None) if style is not None and style.link else style
        yield Segment(text if control else _encodable(printable(text, LINES), encoding), style, control)


def _encodable(text: str, encoding: str) -> str:
    """The text with escapes for what the output cannot encode, such as … in ASCII."""
    if encoding.startswith("utf"):
        return text
    return text.encode(encoding, "backslashreplace").decode(encoding)
