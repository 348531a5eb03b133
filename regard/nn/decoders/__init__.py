"""Decoders: the parts that write an output from memories, one decoder per file."""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.nn.decoders.constituents import ConstituentsDecoder, ParsedSpans
    from regard.nn.decoders.continuing import Carried, ContinuingDecoder
    from regard.nn.decoders.crf import ChainTags, CRFDecoder
    from regard.nn.decoders.ctc import CTCDecoder, CTCTexts
    from regard.nn.decoders.decoder import BatchView, Decoder, Source
    from regard.nn.decoders.decomposable import DecomposableDecoder
    from regard.nn.decoders.feed_forward import FeedForwardDecoder
    from regard.nn.decoders.label import LabelDecoder, Labels
    from regard.nn.decoders.language import LanguageDecoder
    from regard.nn.decoders.machine import MachineDecoder, Vectors
    from regard.nn.decoders.memory_network import MemoryNetworkDecoder, Supported
    from regard.nn.decoders.memory_retrieval import MemoryRetrievalDecoder
    from regard.nn.decoders.multilabel import LabelSets, MultilabelDecoder
    from regard.nn.decoders.nodes import NodesDecoder
    from regard.nn.decoders.number import NumberDecoder, Numbers
    from regard.nn.decoders.ordinal import OrdinalDecoder
    from regard.nn.decoders.output import Distilled, TextObjective
    from regard.nn.decoders.pointer import PointerDecoder, PointerState
    from regard.nn.decoders.recurrent import RecurrentDecoder
    from regard.nn.decoders.recurrent_steps import State
    from regard.nn.decoders.retrieval import RetrievalDecoder
    from regard.nn.decoders.soft_label import SoftLabelDecoder
    from regard.nn.decoders.span import FoundSpans, SpanDecoder
    from regard.nn.decoders.stepwise import StepwiseDecoder
    from regard.nn.decoders.tags import Tags, TagsDecoder
    from regard.nn.decoders.tree import ParsedTrees, TreeDecoder
    from regard.nn.decoders.window import WindowDecoder
    from regard.nn.decoders.word_by_word import WordByWordDecoder
    from regard.nn.stepping import Step
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "BatchView",
    "CRFDecoder",
    "CTCDecoder",
    "CTCTexts",
    "Carried",
    "ChainTags",
    "ConstituentsDecoder",
    "ContinuingDecoder",
    "Decoder",
    "DecomposableDecoder",
    "Distilled",
    "FeedForwardDecoder",
    "FoundSpans",
    "LabelDecoder",
    "LabelSets",
    "Labels",
    "LanguageDecoder",
    "MachineDecoder",
    "MemoryNetworkDecoder",
    "MemoryRetrievalDecoder",
    "MultilabelDecoder",
    "NodesDecoder",
    "NumberDecoder",
    "Numbers",
    "OrdinalDecoder",
    "ParsedSpans",
    "ParsedTrees",
    "PointerDecoder",
    "PointerState",
    "RecurrentDecoder",
    "RetrievalDecoder",
    "SoftLabelDecoder",
    "Source",
    "SpanDecoder",
    "State",
    "Step",
    "StepwiseDecoder",
    "Supported",
    "Tags",
    "TagsDecoder",
    "TextObjective",
    "TreeDecoder",
    "Vectors",
    "WindowDecoder",
    "WordByWordDecoder",
]
