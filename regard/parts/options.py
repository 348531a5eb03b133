"""Options of parts, as validated data."""

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
MAX_SEED = 2**63 - 1
"""The largest seed: every random number generator accepts it, and the sum of it and a small number."""
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]


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
