"""Output to a terminal: only printable characters, whatever a vocabulary, a spec or a file contains.

A terminal obeys control characters: ESC starts commands that move the cursor, rename the window or write to
the clipboard (OSC 52), and direction marks (U+202E) reverse the text after them. Each becomes U+FFFD. The
control sequences that rich sends for color and progress stay. Files and pipes receive their text unchanged.
"""

from __future__ import annotations

import sys
from typing import Any

REPLACEMENT = "\ufffd"
_TURNING = frozenset([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
"""Direction marks that affect other text: embeddings, overrides and isolates, and their closing marks."""
LINES = "\n\t"


def printable(text: str, keep: str = "") -> str:
    """Replace characters that XML, figures and terminals refuse by U+FFFD: controls, marks that change the
    direction of other text, and lone surrogates.

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
    """Print a line: unchanged to a file or a pipe, made printable on a terminal."""
    stream = sys.stderr if error else sys.stdout
    TerminalText(stream).write(f"{text}\n")


class TerminalText:
    """A text stream whose output to a terminal is made printable."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.terminal = stream, bool(stream.isatty())

    def write(self, text: str) -> int:
        return int(self.stream.write(printable(text, LINES) if self.terminal else text))

    def flush(self) -> None:
        self.stream.flush()
