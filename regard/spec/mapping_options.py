"""Which options of encoders and decoders may be mappings."""

from __future__ import annotations

from typing import Any, get_args, get_origin

from regard.parts import Settings, names, part
from regard.parts.choice import OneOf


def mappings(kind: str) -> set[str]:
    """Options of encoders (decoders) that are mappings themselves, and could be mistaken for an encoder (decoder)."""
    fields = [field for name in names(kind) for field in part(kind, name).Options.model_fields.items()]
    return {key for key, field in fields if _takes_mapping(field.annotation, *field.metadata)}


def _takes_mapping(*annotations: Any) -> bool:
    """Whether a field with these annotations may hold the options of a part, or a mapping of any kind."""
    return any(
        isinstance(one, OneOf)
        or get_origin(one) is dict
        or (isinstance(one, type) and issubclass(one, Settings))
        or _takes_mapping(*get_args(one), *getattr(one, "__metadata__", ()))
        for one in annotations
    )
