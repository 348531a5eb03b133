"""The marks that tokenization adds to text, and the escapes that tell them from the same characters in the data."""

from __future__ import annotations

import re

JOINER = "￭"
"""No space on this side: "word￭" or "￭,"."""
CAPITAL = "⇧"
"""The next word starts with a capital."""
UPPER = "⇪"
"""The next word is in capitals."""
SPACE = "▁"
"""A space, inside subwords."""
ESCAPE = "␛"
"""Stands, together with a letter, for one of these characters in the data."""
RESERVED = {"\0": "0", "▅": "b"}
"""Characters that sentencepiece reserves: it ignores training texts that contain one."""

_SPELLING = {JOINER: "j", CAPITAL: "c", UPPER: "u", SPACE: "s", ESCAPE: "e", **RESERVED}
_MEANING = {letter: mark for mark, letter in _SPELLING.items()}
_MARKS = re.compile("[" + "".join(_SPELLING) + "]")
_ESCAPED = re.compile(f"{ESCAPE}([{''.join(_MEANING)}])")


def escape(text: str) -> str:
    """Replace each mark in a text by the escape and a letter. `unescape` is the exact inverse."""
    return _MARKS.sub(lambda match: ESCAPE + _SPELLING[match[0]], text)


def unescape(text: str) -> str:
    """The inverse of `escape`, for any text: unknown escapes, which a model may generate, stay as they are."""
    return _ESCAPED.sub(lambda match: _MEANING[match[1]], text)
