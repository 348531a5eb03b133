"""Edits: change what a model looks at, and see how its answer changes. `model.predict(x, look=[PinEdit(…), …])`."""

from regard.model.edits.edit import (
    ArcEdit,
    Edit,
    MaskEdit,
    PermuteEdit,
    PinEdit,
    RegionEdit,
    SegmentEdit,
    SpanEdit,
    TruthEdit,
    UniformEdit,
    WeightsEdit,
    ZeroEdit,
    edit_of,
)
from regard.model.edits.reading import read_edits
from regard.model.edits.text import parsed, written

__all__ = [
    "ArcEdit",
    "Edit",
    "MaskEdit",
    "PermuteEdit",
    "PinEdit",
    "RegionEdit",
    "SegmentEdit",
    "SpanEdit",
    "TruthEdit",
    "UniformEdit",
    "WeightsEdit",
    "ZeroEdit",
    "edit_of",
    "parsed",
    "read_edits",
    "written",
]
