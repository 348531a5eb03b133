"""Plain torch modules: cells, scores, selections, attention, encoders, decoders, search."""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.nn.attention import Attention, Look, Reading
    from regard.nn.attention_check import check_attention
    from regard.nn.cells import AnyCell, Cell, GRUCell, LSTMCell, RNNCell, make_cell
    from regard.nn.composers import AnyComposer, Composer, make_composer
    from regard.nn.constraints import Automaton, Constraint, OutputSpelling
    from regard.nn.decoders import (
        BatchView,
        CRFDecoder,
        Decoder,
        DecomposableDecoder,
        LabelDecoder,
        MachineDecoder,
        MemoryNetworkDecoder,
        MultilabelDecoder,
        NumberDecoder,
        OrdinalDecoder,
        RecurrentDecoder,
        SpanDecoder,
        StepwiseDecoder,
        TagsDecoder,
        TextObjective,
        TreeDecoder,
    )
    from regard.nn.embedding import Embedding
    from regard.nn.encoders import (
        BagEncoder,
        ConvolutionalEncoder,
        Encoder,
        ImageEncoder,
        MeanEncoder,
        ParentedEncoder,
        PyramidalEncoder,
        RecurrentEncoder,
        StoryEncoder,
        TextEncoder,
        TreeEncoder,
        VideoEncoder,
        build_word_embedding,
        word_vector,
    )
    from regard.nn.encoders.image import ImageNetwork
    from regard.nn.estimates import Latent, StructureEstimate
    from regard.nn.guided_attention import guide_total
    from regard.nn.loss import Loss
    from regard.nn.memory import Memory
    from regard.nn.packing import Packing
    from regard.nn.parents import Parents
    from regard.nn.path import Path, Replaces, faster, without_fast_paths
    from regard.nn.recurrence import RecurrentLayer
    from regard.nn.scores import AttentionScore
    from regard.nn.search import Hypotheses, Search, Stepper
    from regard.nn.selections import Given, Selection, masked_softmax
    from regard.nn.spelling import ConvolutionalSpelling, RecurrentSpelling, SpelledEmbedding
    from regard.nn.stepping import Step
    from regard.nn.stores import AnyStore, Store, StoreStep
    from regard.nn.symbols import LookSymbols, MemorySymbols
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "AnyCell",
    "AnyComposer",
    "AnyStore",
    "Attention",
    "AttentionScore",
    "Automaton",
    "BagEncoder",
    "BatchView",
    "CRFDecoder",
    "Cell",
    "Composer",
    "Constraint",
    "ConvolutionalEncoder",
    "ConvolutionalSpelling",
    "Decoder",
    "DecomposableDecoder",
    "Embedding",
    "Encoder",
    "GRUCell",
    "Given",
    "Hypotheses",
    "ImageEncoder",
    "ImageNetwork",
    "LSTMCell",
    "LabelDecoder",
    "Latent",
    "Look",
    "LookSymbols",
    "Loss",
    "MachineDecoder",
    "MeanEncoder",
    "Memory",
    "MemoryNetworkDecoder",
    "MemorySymbols",
    "MultilabelDecoder",
    "NumberDecoder",
    "OrdinalDecoder",
    "OutputSpelling",
    "Packing",
    "ParentedEncoder",
    "Parents",
    "Path",
    "PyramidalEncoder",
    "RNNCell",
    "Reading",
    "RecurrentDecoder",
    "RecurrentEncoder",
    "RecurrentLayer",
    "RecurrentSpelling",
    "Replaces",
    "Search",
    "Selection",
    "SpanDecoder",
    "SpelledEmbedding",
    "Step",
    "Stepper",
    "StepwiseDecoder",
    "Store",
    "StoreStep",
    "StoryEncoder",
    "StructureEstimate",
    "TagsDecoder",
    "TextEncoder",
    "TextObjective",
    "TreeDecoder",
    "TreeEncoder",
    "VideoEncoder",
    "build_word_embedding",
    "check_attention",
    "faster",
    "guide_total",
    "make_cell",
    "make_composer",
    "masked_softmax",
    "without_fast_paths",
    "word_vector",
]
