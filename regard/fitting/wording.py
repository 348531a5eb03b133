"""Remedies for Python callers: options of the command line become arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import yaml

from regard.errors import MissingExtra, RegardError

DIRECT = {
    "training.epochs": "epochs",
    "training.lr": "lr",
    "training.batch_rows": "batch",
    "training.seed": "seed",
    "training.start_from": "start_from",
    "data.dev": "dev",
    "data.test": "test",
}
"""Settings that are direct arguments of `regard.fit`."""
SECTIONS = ("inputs", "outputs", "encoder", "attention", "decoder", "search", "training", "metrics", "name")
"""Sections of a spec that are arguments of `regard.fit`."""
WORDS = (
    (r"`--resume (\S+)`", r"`regard train --resume \1`"),
    (r"`?--overwrite`?", "overwrite=True"),
    (r"([Cc]hoose another folder) with `?-o`?", r"\1 with run=…"),
    (r"`?--set (\S+?) -o NEW`?", lambda found: f"{_argument(found[1])}, run='NEW'"),
    (
        r"--set ([\w.-]+=(?:'\{.*?\}+'|\{.*?\}+|\[.*?\]|\"[^\"]*\"|[^\s:`,]+?))(?=[.:,]? |[.:,`]?$|`|\n|,)",
        lambda found: _argument(found[1]),
    ),
    (r"--bad-rows (stop|skip)", r"overrides=['data.bad_rows=\1']"),
    (
        r"regard train (\S+) ((?:--(?:source|target) \S+ ?)+)",
        lambda found: f"regard.fit({found[1]!r}, {for_python(found[2])})",
    ),
    (r"--source (\S+) --target (\S+)", lambda found: f"source={_value(found[1])}, target={_value(found[2])}"),
    (r"--(device|seed|source|target|model) (?!works)(\S+)", lambda found: f"{found[1]}={_value(found[2])}"),
    (r"--(device|seed|source|target|model)\b", r"\1"),
)


@contextmanager
def in_python() -> Iterator[None]:
    """Rewrite errors raised inside so that they name arguments instead of options."""
    try:
        yield
    except MissingExtra:
        raise
    except RegardError as error:
        told = [for_python(text) for text in (error.what, error.where, error.fix)]
        if told == [error.what, error.where, error.fix]:
            raise
        what, where, fix = told
        raise RegardError(what, where=where, fix=fix) from None


def for_python(text: str) -> str:
    """A text with options of the command line as arguments of `regard.fit`."""
    for pattern, replacement in WORDS:
        text = re.sub(pattern, replacement, text)
    return text


def _argument(change: str) -> str:
    """`encoder.size=512` as an argument: encoder={'size': 512}."""
    path, equals, value = change.partition("=")
    value = value.strip("'")
    if path in DIRECT:
        return f"{DIRECT[path]}={_value(value)}" if equals else DIRECT[path]
    first, *steps = path.split(".")
    if first not in SECTIONS:
        return f"overrides=[{change.replace(chr(39), '')!r}]"
    value = _value(value) if equals else "…"
    for step in reversed(steps):
        value = f"{{{step!r}: {value}}}"
    return f"{first}={value}"


def _value(text: str) -> str:
    """A value as Python writes it; placeholders such as FILE stay as they are."""
    if text.isupper():  # FILE, NAME
        return text
    plain = yaml.safe_load(text) if not text.startswith(("…", "|")) else text
    return repr(plain) if not isinstance(plain, str) or "…" not in plain else plain
