"""The console of rich, which draws on terminals: only what can be seen, as `regard.terminal` says.

Apart from it, because a command that draws nothing does not load rich."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

from regard.terminal import LINES, printable


def safe_console(**options: Any) -> Console:
    """A console of rich that prints only what can be seen."""
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
        return _cleaned(console.render(self.content, options))


def _cleaned(segments: Iterable[Segment]) -> Iterable[Segment]:
    for text, style, control in segments:
        # a link is a command too, whose address the text chose
        style = style.update_link(None) if style is not None and style.link else style
        yield Segment(text if control else printable(text, LINES), style, control)
