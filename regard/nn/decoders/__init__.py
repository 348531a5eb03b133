from regard.nn.decoders.align import AlignDecoder
from regard.nn.decoders.base import Source
from regard.nn.decoders.chain_tags import ChainTags, ChainTagsDecoder
from regard.nn.decoders.facts import FactsDecoder, Supported
from regard.nn.decoders.label import LabelDecoder, Labels
from regard.nn.decoders.objective import Objective, Taught
from regard.nn.decoders.recurrent import RecurrentDecoder
from regard.nn.decoders.tags import Tags, TagsDecoder
from regard.nn.decoders.tree import ParsedTrees, TreeDecoder
from regard.nn.stepping import State, Step

__all__ = [
    "AlignDecoder",
    "ChainTags",
    "ChainTagsDecoder",
    "FactsDecoder",
    "LabelDecoder",
    "Labels",
    "Objective",
    "ParsedTrees",
    "RecurrentDecoder",
    "Source",
    "State",
    "Step",
    "Supported",
    "Tags",
    "TagsDecoder",
    "Taught",
    "TreeDecoder",
]
