"""What every part of a spec has in common: frozen, no unknown keys, validated when made."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Dropout = Annotated[float, Field(ge=0.0, lt=1.0)]
Size = Annotated[int, Field(ge=1, le=65536)]
Positive = Annotated[float, Field(gt=0.0)]
Count = Annotated[int, Field(ge=1)]


class Part(BaseModel):
    """A part of a spec. `"key": value` pairs it does not know are refused by name."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        str_strip_whitespace=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )
