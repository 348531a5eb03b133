"""Options: what can be said about a part, as validated data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Dropout = Annotated[float, Field(ge=0.0, lt=1.0)]
Size = Annotated[int, Field(ge=1, le=65536)]
Positive = Annotated[float, Field(gt=0.0)]
NotNegative = Annotated[float, Field(ge=0.0)]
Depth = Annotated[int, Field(ge=1, le=1000)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]


class Settings(BaseModel):
    """Validated data that belongs to no part: frozen; unknown keys are refused by name.

    moved   {an earlier key: what to write instead}, for keys that were renamed or have moved
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        str_strip_whitespace=True,
        allow_inf_nan=False,
        validate_default=True,
        defer_build=True,  # most options of most parts are never asked for
    )

    moved: ClassVar[Mapping[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _more_options(cls, value: Any) -> Any:
        """Options of a base class stand for these, where more options have been added: `Attention.Options(…)` does
        for the attention of every decoder."""
        if isinstance(value, Settings) and not isinstance(value, cls) and issubclass(cls, type(value)):
            return {name: getattr(value, name) for name in value.model_fields_set}
        return value

    def __repr_name__(self) -> str:
        return type(self).__qualname__


class Options(Settings):
    """The options of a part.

    kind, type   of the part these options belong to; set when the part is registered, empty for options of no part
    part         the class that is registered
    """

    kind: ClassVar[str] = ""
    type: ClassVar[str] = ""
    part: ClassVar[Any] = None


def as_data(value: Any, *, unset: bool = False) -> Any:
    """Options as the plain data a YAML file holds, the part's name as `type`.

    unset   also the options that were left at their defaults
    """
    if isinstance(value, Settings):
        chosen = type(value).model_fields if unset else sorted(value.model_fields_set, key=_order(value))
        keys = {name: type(value).model_fields[name].alias or name for name in chosen}
        data = {key: as_data(getattr(value, name), unset=unset) for name, key in keys.items()}
        return {"type": value.type, **data} if isinstance(value, Options) and value.type else data
    if isinstance(value, Mapping):
        return {key: as_data(item, unset=unset) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [as_data(item, unset=unset) for item in value]
    return value


def _order(value: Settings) -> Any:
    return list(type(value).model_fields).index
