"""Columns from their states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.data.columns.alignment import AlignmentColumn
from regard.data.columns.audio import AudioColumn
from regard.data.columns.column import Column
from regard.data.columns.facts import FactsColumn
from regard.data.columns.image import ImageColumn
from regard.data.columns.label import LabelColumn
from regard.data.columns.places import PlacesColumn
from regard.data.columns.series import SeriesColumn
from regard.data.columns.spelled import SpelledTextColumn
from regard.data.columns.story import StoryColumn
from regard.data.columns.tags import TagsColumn
from regard.data.columns.text import TextColumn
from regard.data.columns.tree import TreeColumn
from regard.data.columns.video import VideoColumn
from regard.errors import RegardError

KINDS: Mapping[str, type[Column]] = {
    kind.type: kind
    for kind in (
        TextColumn,
        StoryColumn,
        LabelColumn,
        TagsColumn,
        AlignmentColumn,
        FactsColumn,
        PlacesColumn,
        ImageColumn,
        VideoColumn,
        SeriesColumn,
        AudioColumn,
        TreeColumn,
        SpelledTextColumn,
    )
}
"""Every kind of column by the `type` a spec names it with."""


def column_from_state(state: Mapping[str, Any]) -> Column:
    """The column whose `state()` this is."""
    kind = KINDS.get(state.get("type", ""))
    if kind is None:
        raise RegardError(
            f"the type of a column is {state.get('type')!r}, expected one of {', '.join(KINDS)}.",
            fix="The model may have been saved by a later version.",
        )
    return kind.from_state(state)
