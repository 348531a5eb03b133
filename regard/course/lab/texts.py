"""Text for labs that train on characters: a file of the user, or the source of a standard library module."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from regard.errors import RegardError
from regard.storage.files import read_bytes

LARGEST = 1 << 22
SHORTEST = 400
MODULE = "textwrap"


def read_text(path: str) -> str:
    """Read the text of a file; for an empty path, the source of the standard library's `textwrap`."""
    if not path:
        found = find_spec(MODULE)
        if found is None or not found.origin or not Path(found.origin).is_file():
            raise RegardError(
                "this Python has no source of its standard library to read.",
                fix="Name a file: --set text=FILE",
            )
        path = found.origin
    try:
        text = read_bytes(Path(path), most=LARGEST).decode("utf-8")
    except UnicodeDecodeError as error:
        raise RegardError(f"byte {error.start} is not UTF-8.", where=path, fix="Save it as UTF-8.") from None
    except (OSError, ValueError) as error:
        raise RegardError(
            f"the text cannot be read: {getattr(error, 'strerror', None) or error}.", where=path
        ) from None
    if len(text) < SHORTEST:
        raise RegardError(
            f"the text has {len(text):,} characters, expected at least {SHORTEST}.",
            where=path,
            fix="Name a longer file.",
        )
    return text
