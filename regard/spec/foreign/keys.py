"""A configuration whose keys are taken one by one, so that what nobody took can be listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

OFF = (None, False, -1, 0, "none")


class Keys:
    """A nested mapping. `take` marks a key as used; `left` lists the others with their values."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.taken: set[str] = set()
        self.notes: list[str] = []

    def take(self, path: str, default: Any = None) -> Any:
        """The value at `a.b.c`; the default if it is absent or null."""
        found: Any = self.document
        for key in path.split("."):
            if not isinstance(found, Mapping) or found.get(key) is None:
                return default
            found = found[key]
        self.taken.add(path)
        return found

    def ignore(self, *paths: str) -> None:
        """Keys without a meaning here, such as the folder of checkpoints."""
        self.taken.update(paths)

    def left(self) -> list[str]:
        """What was replaced, then the keys that nobody took; not those that say that something is off."""
        return [
            *self.notes,
            *(
                f"{path}: {value}"
                for path, value in _leaves(self.document)
                if value not in OFF
                and not any(path == one or path.startswith(f"{one}.") for one in self.taken)
            ),
        ]


def _leaves(document: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        path = f"{before}{key}"
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{path}.")
        else:
            yield path, value


def filled(**given: Any) -> dict[str, Any]:
    """A mapping without the values that are None."""
    return {key: value for key, value in given.items() if value is not None}
