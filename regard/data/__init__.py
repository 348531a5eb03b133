"""Data: from rows in files, worlds and packages to batches of encoded columns."""

from regard.data.batch import BEGIN, END, PAD, UNKNOWN, Batch, Tokens
from regard.data.columns import (
    SPECIAL,
    AlignmentColumn,
    Column,
    LabelColumn,
    TagsColumn,
    TextColumn,
    Vocabulary,
    column_from_state,
)

__all__ = [
    "BEGIN",
    "END",
    "PAD",
    "SPECIAL",
    "UNKNOWN",
    "AlignmentColumn",
    "Batch",
    "Column",
    "LabelColumn",
    "TagsColumn",
    "TextColumn",
    "Tokens",
    "Vocabulary",
    "column_from_state",
]
