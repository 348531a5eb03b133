"""Soft parents around an encoder of text."""

from __future__ import annotations

from typing import Any

from regard.nn import ParentedEncoder, Parents
from regard.spec import EncoderSpec, PositionsSpec


def with_parents(encoder: Any, spec: EncoderSpec) -> Any:
    """The encoder, its positions beside their parents where the spec asks for them."""
    if not isinstance(spec, PositionsSpec) or spec.parents is None:
        return encoder
    parents = spec.parents
    return ParentedEncoder(
        encoder,
        Parents(
            encoder.value_size,
            select=parents.select,
            score=parents.score,
            cell=parents.cell,
            size=parents.size,
            hidden=parents.hidden,
            dropout=parents.dropout,
            gain=encoder.gain,
        ),
    )
