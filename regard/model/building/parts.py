"""What builds an encoder or a decoder, by the class of its spec."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

from regard.data.columns import Column


@singledispatch
def build_encoder(encoder: Any, column: Column, *, read_files: bool = True) -> Any:
    """The encoder a spec describes, for the input `column`, with fresh weights.

    read_files   False leaves pretrained vectors unread: the weights are about to be loaded or only counted
    """
    raise TypeError(encoder)


@singledispatch
def build_decoder(
    decoder: Any, column: Column, sources: Mapping[str, Any], *, read_files: bool = True
) -> Any:
    """The decoder a spec describes, for the output `column`, reading from the encoders `sources`."""
    raise TypeError(decoder)
