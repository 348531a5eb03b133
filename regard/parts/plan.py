"""The view that a part has of the whole spec, and the collection of mistakes it reports to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from regard.errors import RegardError, Words

Where = Callable[..., Words]
"""From a path in the spec ("decoder", "target", "size") to the file, line and path to show."""


class Plan(Protocol):
    """A spec as seen by its parts: the options of every part, by name."""

    @property
    def inputs(self) -> Mapping[str, Any]: ...

    @property
    def outputs(self) -> Mapping[str, Any]: ...

    @property
    def truth(self) -> Mapping[str, Any]: ...

    @property
    def encoder(self) -> Mapping[str, Any]: ...

    @property
    def decoder(self) -> Mapping[str, Any]: ...


def is_stream(plan: Plan) -> bool:
    """Whether the output is a text stream, so that the model continues a text and has no inputs."""
    return any(column.part.alone for column in plan.outputs.values())


class Mistakes:
    """Collects all mistakes in a spec, so that they are shown at once."""

    def __init__(
        self, where: Where, place: tuple[str, ...] = (), found: list[RegardError] | None = None
    ) -> None:
        self._where, self._place = where, place
        self.found: list[RegardError] = [] if found is None else found

    def at(self, *place: str) -> Mistakes:
        """The same collection, for mistakes below a path."""
        return Mistakes(self._where, (*self._place, *place), self.found)

    def add(self, what: Words, *place: str, fix: Words = "") -> None:
        """Report a mistake at a path below this one."""
        self.found.append(RegardError(what, where=self._where(*self._place, *place), fix=fix))

    def raise_all(self) -> None:
        """Raise one error with all mistakes, if there are any."""
        if self.found:
            raise RegardError.of_all(self.found)
