"""Options that an older version saved: they are upgraded while the folder of a model is read.

class Options(Cell.Options):
    @classmethod
    def upgrade(cls, data, version):
        if version.startswith("1."):  # "width" was called "size"
            data["width"] = data.pop("size", 64)
        return data
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from regard.errors import RegardError
from regard.parts.options import Options


@dataclass
class Saved:
    """What a folder says of the versions it was written with.

    regard     the version of regard
    versions   (kind, name) → the version of the distribution of a part that is not regard's own
    changed    whether an option was changed since
    """

    regard: str = ""
    versions: Mapping[tuple[str, str], str] = field(default_factory=dict)
    changed: bool = False


_saved: ContextVar[Saved | None] = ContextVar("saved", default=None)


@contextmanager
def reading_saved(saved: Saved) -> Iterator[Saved]:
    """While a saved spec is validated: options of parts are upgraded."""
    token = _saved.set(saved)
    try:
        yield saved
    finally:
        _saved.reset(token)


def upgraded(options: type[Options], kind: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options of a part, upgraded if they were saved."""
    saved = _saved.get()
    if saved is None:
        return given
    before = dict(given)
    found = options.upgrade(dict(given), saved.versions.get((kind, name), saved.regard))
    if not isinstance(found, Mapping):
        raise RegardError(
            f"the {kind} {name}: Options.upgrade returned a {type(found).__name__}, expected a mapping of options."
        )
    saved.changed = saved.changed or dict(found) != before
    return dict(found)
