"""Lists of texts encoded as one value of a row, such as a JSON list of sentences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

LISTED = "\ufdd0"
"""Follows each text of a list. This code point is a Unicode noncharacter, reserved for internal use."""
WITHIN = "\x1f"
"""Separates the words of a text that is a list itself. It is white space to `str.split`."""


def listed_texts(value: Any) -> str | None:
    """["Mary left.", "It rained."], or sentences as lists of words, as one text; None for other lists.

    A list of no texts is LISTED alone, which no column accepts: each says what it lacks.
    """
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        return None
    texts = [text if isinstance(text, str) else _words(text) for text in value]
    if any(text is None for text in texts):
        return None
    return "".join(f"{text}{LISTED}" for text in texts) or LISTED


def readable(value: str) -> str:
    """A value as people read it: the texts of a list side by side."""
    return " ".join(value.split(LISTED)).strip() if LISTED in value else value


def listed_turns(value: Any) -> str | None:
    """[{"speaker": "U", "text": "hi"}, …], the turns of a dialog, as JSON; None for other lists."""
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
        return None
    turns = all("text" in one or "speaker" in one for one in value)
    return f"{json.dumps(value, ensure_ascii=False)}{LISTED}" if turns else None


def _words(value: Any) -> str | None:
    if not isinstance(value, Sequence) or isinstance(value, bytes):
        return None
    return WITHIN.join(value) if all(isinstance(word, str) for word in value) else None
