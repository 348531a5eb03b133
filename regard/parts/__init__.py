"""Parts: the components of a model, registered by kind and name.

A part is one class in one file. Its options are the nested class `Options` (typed, frozen, documented). It registers
itself:

    @register("selection", "tempered")
    class Tempered(Selection):
        class Options(Selection.Options):
            temperature: Positive = 1.0

A spec names a part by `type:`. The schema of specs, the builder, the board of `regard describe` and docs/spec.md are
derived from the registered parts. Packages add parts through the entry point group `regard.parts`.
"""

from regard.parts.choice import find, nearest, one_of
from regard.parts.contract import Contract, Method, contract_of, methods
from regard.parts.faults import fault, faults_named
from regard.parts.options import (
    MAX_SEED,
    Count,
    Depth,
    Dropout,
    NotNegative,
    Options,
    Positive,
    Seed,
    Settings,
    Share,
    Size,
    as_data,
)
from regard.parts.plan import Mistakes, Plan, Where
from regard.parts.provenance import Provenance, check_installed, missing_parts, used_parts
from regard.parts.registry import KINDS, Origin, names, origin, part, register

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
    "contract_of",
    "fault",
    "faults_named",
    "find",
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
