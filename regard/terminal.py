"""What is printed on a terminal: only what can be seen, whatever a vocabulary, a spec or a file holds.

A terminal obeys control characters: ESC begins commands that move the cursor, rename the window or write to the
clipboard (OSC 52), and marks of direction (U+202E) turn what stands behind them around. Each becomes U+FFFD. What rich
itself sends for color and progress stays. Files and pipes get their texts unchanged.
"""

from __future__ import annotations

import sys
from typing import Any

REPLACEMENT = "\ufffd"
_TURNING = frozenset([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
"""Marks of direction that reach beyond themselves: embeddings, overrides and isolates, and what closes them."""
LINES = "\n\t"


def printable(text: str, keep: str = "") -> str:
    """The text without what XML, figures and terminals refuse: controls, marks that turn the direction of other text
    and lone surrogates become U+FFFD.

    keep   controls that may stay, such as line breaks
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        REPLACEMENT if _forbidden(character) and character not in keep else character for character in text
    )


def _forbidden(character: str) -> bool:
    code = ord(character)
    return (
        code < 32
        or 0x7F <= code <= 0x9F
        or code in _TURNING
        or 0xD800 <= code <= 0xDFFF
        or code & 0xFFFE == 0xFFFE
    )


def say(text: str, *, error: bool = False) -> None:
    """Print a line: as it is to a file or a pipe, made printable on a terminal."""
    stream = sys.stderr if error else sys.stdout
    TerminalText(stream).write(f"{text}\n")


class TerminalText:
    """A stream of text that makes printable what it writes to a terminal."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.terminal = stream, bool(stream.isatty())

    def write(self, text: str) -> int:
        return int(self.stream.write(printable(text, LINES) if self.terminal else text))

    def flush(self) -> None:
        self.stream.flush()
