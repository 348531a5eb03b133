"""Remedies for Python callers: options of the command line become arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from regard.errors import MissingExtra, RegardError

DIRECT = {"training.epochs": "epochs", "training.seed": "seed", "data.dev": "dev", "data.test": "test"}
"""Settings that are direct arguments of `regard.fit`."""
WORDS = (
    (r"`--resume (\S+)`", r"`regard train --resume \1`"),
    (r"`?--overwrite`?", "overwrite=True"),
    (r"([Cc]hoose another folder) with `?-o`?", r"\1 with run=…"),
    (r"`?--set (\S+?) -o NEW`?", lambda found: f"{_argument(found[1])}, run='NEW'"),
    (
        r"--set ([\w.-]+=(?:\{.*?\}+|\[.*?\]|\"[^\"]*\"|[^\s:`]+?))(?=[.:]? |[.:`]?$|`|\n)",
        lambda found: _argument(found[1]),
    ),
    (r"--bad-rows (stop|skip)", r"data={'bad_rows': '\1'}"),
    (r"--(device|seed) ", r"\1="),
)


@contextmanager
def in_python() -> Iterator[None]:
    """Rewrite errors raised inside so that they name arguments instead of options."""
    try:
        yield
    except MissingExtra:
        raise
    except RegardError as error:
        told = [_worded(text) for text in (error.what, error.where, error.fix)]
        if told == [error.what, error.where, error.fix]:
            raise
        what, where, fix = told
        raise RegardError(what, where=where, fix=fix) from None


def _worded(text: str) -> str:
    for pattern, replacement in WORDS:
        text = re.sub(pattern, replacement, text)
    return text


def _argument(change: str) -> str:
    """`encoder.size=512` as an argument: encoder={'size': 512}."""
    path, equals, value = change.partition("=")
    if path in DIRECT:
        return f"{DIRECT[path]}={value}" if equals else DIRECT[path]
    first, *steps = path.split(".")
    value = value if equals else "…"
    for step in reversed(steps):
        value = f"{{{step!r}: {value}}}"
    return f"{first}={value}"
