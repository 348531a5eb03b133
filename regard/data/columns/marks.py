"""The marks that tokenisation puts into text, and the escapes that keep them apart from the same signs in the data."""

from __future__ import annotations

import re

JOINER = "￭"
"""No space on this side: "word￭" or "￭,"."""
CAPITAL = "⇧"
"""The first letter of what follows is a capital."""
UPPER = "⇪"
"""All of what follows is in capitals."""
SPACE = "▁"
"""A space, inside subwords."""
ESCAPE = "␛"
"""Stands, with a letter, for one of these signs where the data contain it."""
RESERVED = {"\0": "0", "▅": "b"}
"""Signs that sentencepiece keeps for itself: it would pass over any training text that has one."""

_SPELLING = {JOINER: "j", CAPITAL: "c", UPPER: "u", SPACE: "s", ESCAPE: "e", **RESERVED}
_MEANING = {letter: mark for mark, letter in _SPELLING.items()}
_MARKS = re.compile("[" + "".join(_SPELLING) + "]")
_ESCAPED = re.compile(f"{ESCAPE}([{''.join(_MEANING)}])")


def escape(text: str) -> str:
    """Text without any mark: each is spelled as the escape and a letter. `unescape` is the exact inverse."""
    return _MARKS.sub(lambda match: ESCAPE + _SPELLING[match[0]], text)


def unescape(text: str) -> str:
    """Total: an escape that begins nothing known, as a model may write it, stays as it is."""
    return _ESCAPED.sub(lambda match: _MEANING[match[1]], text)
