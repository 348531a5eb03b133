"""Columns: typed fields of the data, each with its own encode, decode and collate."""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.data.columns.alignment import AlignmentColumn
    from regard.data.columns.audio import AudioColumn, SoundVariation
    from regard.data.columns.bits import BitsColumn
    from regard.data.columns.brackets import BracketsColumn
    from regard.data.columns.column import Column
    from regard.data.columns.constituents import ConstituentsColumn
    from regard.data.columns.cut import CutTextColumn
    from regard.data.columns.dialog import DialogColumn
    from regard.data.columns.document import DocumentColumn
    from regard.data.columns.evidence import EvidenceColumn
    from regard.data.columns.facts import FactsColumn
    from regard.data.columns.graph import GraphColumn
    from regard.data.columns.image import ImageColumn
    from regard.data.columns.label import LabelColumn
    from regard.data.columns.label_words import LabelWordsColumn
    from regard.data.columns.multilabel import MultilabelColumn
    from regard.data.columns.number import NumberColumn
    from regard.data.columns.ordinal import OrdinalColumn
    from regard.data.columns.places import PlacesColumn
    from regard.data.columns.pointers import PointersColumn
    from regard.data.columns.points import PointsColumn
    from regard.data.columns.restore import column_from_state
    from regard.data.columns.series import SeriesColumn
    from regard.data.columns.soft_label import SoftLabelColumn
    from regard.data.columns.span import SpanColumn
    from regard.data.columns.spelled import SpelledTextColumn
    from regard.data.columns.story import StoryColumn
    from regard.data.columns.stream import StreamColumn
    from regard.data.columns.table import TableColumn
    from regard.data.columns.tags import TagsColumn
    from regard.data.columns.text import TextColumn
    from regard.data.columns.tree import TreeColumn
    from regard.data.columns.video import VideoColumn
    from regard.data.columns.vocabulary import SPECIAL, Vocabulary
    from regard.data.columns.wave import WaveAudioColumn
    from regard.data.columns.weight import WeightColumn
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "SPECIAL",
    "AlignmentColumn",
    "AudioColumn",
    "BitsColumn",
    "BracketsColumn",
    "Column",
    "ConstituentsColumn",
    "CutTextColumn",
    "DialogColumn",
    "DocumentColumn",
    "EvidenceColumn",
    "FactsColumn",
    "GraphColumn",
    "ImageColumn",
    "LabelColumn",
    "LabelWordsColumn",
    "MultilabelColumn",
    "NumberColumn",
    "OrdinalColumn",
    "PlacesColumn",
    "PointersColumn",
    "PointsColumn",
    "SeriesColumn",
    "SoftLabelColumn",
    "SoundVariation",
    "SpanColumn",
    "SpelledTextColumn",
    "StoryColumn",
    "StreamColumn",
    "TableColumn",
    "TagsColumn",
    "TextColumn",
    "TreeColumn",
    "VideoColumn",
    "Vocabulary",
    "WaveAudioColumn",
    "WeightColumn",
    "column_from_state",
]
