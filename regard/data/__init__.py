"""Data: from rows in files and packages to batches of encoded columns."""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.data.batch import (
        BEGIN,
        END,
        PAD,
        UNKNOWN,
        Batch,
        Evidence,
        Sentences,
        Span,
        SpanLabels,
        Spelling,
        Tokens,
        Trees,
    )
    from regard.data.batches import Batches
    from regard.data.columns import (
        SPECIAL,
        AlignmentColumn,
        AudioColumn,
        Column,
        ConstituentsColumn,
        DocumentColumn,
        EvidenceColumn,
        FactsColumn,
        ImageColumn,
        LabelColumn,
        SpelledTextColumn,
        StoryColumn,
        StreamColumn,
        TagsColumn,
        TextColumn,
        TreeColumn,
        Vocabulary,
        column_from_state,
    )
    from regard.data.dataset import Dataset, Rejected, Rejections, write_rejected
    from regard.data.image_values import image_value
    from regard.data.media import Images, Places, Series, Videos
    from regard.data.packages import Package, package
    from regard.data.provider import numbered
    from regard.data.ragged import Ragged
    from regard.data.readers import Reader, Row, read_rows, values
    from regard.data.streams import StreamBatches
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "BEGIN",
    "END",
    "PAD",
    "SPECIAL",
    "UNKNOWN",
    "AlignmentColumn",
    "AudioColumn",
    "Batch",
    "Batches",
    "Column",
    "ConstituentsColumn",
    "Dataset",
    "DocumentColumn",
    "Evidence",
    "EvidenceColumn",
    "FactsColumn",
    "ImageColumn",
    "Images",
    "LabelColumn",
    "Package",
    "Places",
    "Ragged",
    "Reader",
    "Rejected",
    "Rejections",
    "Row",
    "Sentences",
    "Series",
    "Span",
    "SpanLabels",
    "SpelledTextColumn",
    "Spelling",
    "StoryColumn",
    "StreamBatches",
    "StreamColumn",
    "TagsColumn",
    "TextColumn",
    "Tokens",
    "TreeColumn",
    "Trees",
    "Videos",
    "Vocabulary",
    "column_from_state",
    "image_value",
    "numbered",
    "package",
    "read_rows",
    "values",
    "write_rejected",
]
