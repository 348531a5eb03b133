"""Parts: the components of a model, registered by kind and name.

A part is one class in one file. Its options are the nested class `Options` (typed, frozen, documented). It registers
itself:

    @register("selection", "tempered")
    class Tempered(Selection):
        class Options(Selection.Options):
            temperature: Positive = 1.0

A spec names a part by `type:`. The schema of specs, the builder, the board of `regard describe` and docs/spec.md are
derived from the registered parts. Packages add parts through the entry point group `regard.parts`.

Names are loaded at first use, so that a command registers itself without pydantic, which `Options` needs.
"""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.parts.choice import choose, find, nearest, one_of
    from regard.parts.contract import Contract, Method, contract_of, methods
    from regard.parts.foreign import (
        Provenance,
        check_installed,
        fault,
        missing_parts,
        used_parts,
    )
    from regard.parts.options import (
        MAX_SEED,
        Count,
        Depth,
        Dropout,
        Mistakes,
        NotNegative,
        Options,
        Plan,
        Positive,
        Seed,
        Settings,
        Share,
        Size,
        Where,
        as_data,
        is_stream,
    )
    from regard.parts.registry import KINDS, Origin, names, origin, part, register
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "KINDS",
    "MAX_SEED",
    "Contract",
    "Count",
    "Depth",
    "Dropout",
    "Method",
    "Mistakes",
    "NotNegative",
    "Options",
    "Origin",
    "Plan",
    "Positive",
    "Provenance",
    "Seed",
    "Settings",
    "Share",
    "Size",
    "Where",
    "as_data",
    "check_installed",
    "choose",
    "contract_of",
    "fault",
    "find",
    "is_stream",
    "methods",
    "missing_parts",
    "names",
    "nearest",
    "one_of",
    "origin",
    "part",
    "register",
    "used_parts",
]
