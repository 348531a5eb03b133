"""Options of parts: validated data, upgraded if an older version saved them, and checked with the whole spec.

class Options(Cell.Options):
    @classmethod
    def upgrade(cls, data, version):
        if version.startswith("1."):  # "width" was called "size"
            data["width"] = data.pop("size", 64)
        return data
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_validator

from regard.errors import RegardError, Words

Share = Annotated[float, Field(ge=0.0, le=1.0)]
"""An option: a number from 0 to 1."""
Dropout = Annotated[float, Field(ge=0.0, lt=1.0)]
"""An option: a probability of dropping, from 0 to below 1."""
Size = Annotated[int, Field(ge=1, le=65536)]
"""An option: a number of units or features."""
Positive = Annotated[float, Field(gt=0.0)]
"""An option: a number above 0."""
NotNegative = Annotated[float, Field(ge=0.0)]
"""An option: a number of 0 or more."""
Depth = Annotated[int, Field(ge=1, le=1000)]
"""An option: a number of layers, heads or hops."""
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
"""An option: a whole number of 1 or more."""
MAX_SEED = 2**63 - 1
"""The largest seed: every random number generator accepts it, and the sum of it and a small number."""
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
"""An option: the seed of a random number generator."""
_saved: ContextVar[Saved | None] = ContextVar("saved", default=None)
Where = Callable[..., Words]
"""From a path in the spec ("decoder", "target", "size") to the file, line and path to show."""


class Settings(BaseModel):
    """Frozen, validated data that belongs to no part. Unknown keys are refused.

    moved   {earlier key: what to write instead}, for keys that were renamed or moved
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        str_strip_whitespace=True,
        allow_inf_nan=False,
        validate_default=True,
        defer_build=True,  # most options are never used
    )

    moved: ClassVar[Mapping[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _more_options(cls, value: Any) -> Any:
        """Accept options of a base class, with the defaults of any further options: `Attention.Options(…)` fits the
        attention of every decoder."""
        if isinstance(value, Settings) and not isinstance(value, cls) and issubclass(cls, type(value)):
            return {name: getattr(value, name) for name in value.model_fields_set}
        return value

    def completed(self) -> dict[str, Any]:
        """Values of options that were found out when they were validated, and that a saved spec contains."""
        return {}

    def __repr_name__(self) -> str:
        return type(self).__qualname__


class Options(Settings):
    """The options of a part.

    kind, type   kind and name of the part, set when it is registered; empty for options of no part
    part         the registered class
    """

    kind: ClassVar[str] = ""
    type: ClassVar[str] = ""
    part: ClassVar[Any] = None

    @classmethod
    def upgrade(cls, data: dict[str, Any], version: str) -> dict[str, Any]:
        """The options that an older version saved, as this one names them.

        Called when a saved model or run is read, before the options are validated.

        version   of the distribution that saved them: of regard for its own parts; empty if it is not known
        """
        return data


def as_data(value: Any, *, unset: bool = False) -> Any:
    """Options as plain data for YAML, with the name of the part as `type`.

    unset   include options that have their default value
    """
    if isinstance(value, Settings):
        fields, further = type(value).model_fields, value.model_extra or {}
        chosen = [name for name in fields if unset or name in value.model_fields_set]
        keys = {name: fields[name].alias or name for name in chosen} | {name: name for name in further}
        data = {key: as_data(getattr(value, name), unset=unset) for name, key in keys.items()}
        return {"type": value.type, **data} if isinstance(value, Options) and value.type else data
    if isinstance(value, Mapping):
        return {key: as_data(item, unset=unset) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [as_data(item, unset=unset) for item in value]
    return value


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
