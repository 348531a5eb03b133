"""Scene → terminal, with rich."""

from regard.inspect.terminal.ink import Ink
from regard.inspect.terminal.render import render

__all__ = ["Ink", "render"]
