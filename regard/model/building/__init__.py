"""Spec + columns → Network: the only place where names in a spec become modules.

A new kind of encoder or decoder is a file here that registers itself with `build_encoder` or `build_decoder`.
"""

from regard.model.building import (  # noqa: F401  they register themselves
    align,
    facts,
    films,
    images,
    label,
    pyramid,
    recurrent,
    tags,
    text_encoders,
    tree,
)
from regard.model.building.network import build_network, count_parameters

__all__ = ["build_network", "count_parameters"]
