"""What reads an input and leaves a memory."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from regard.spec.base import Count, Dropout, Part, Size
from regard.spec.perception import ImageEncoderSpec, PyramidEncoderSpec, VideoEncoderSpec


class EmbeddingSpec(Part):
    """Shared by everything that reads units of text."""

    embedding: Size = 256
    vectors: str | None = None
    """Pretrained vectors: a text file, one unit and its `embedding` numbers a line."""
    freeze_vectors: bool = False
    dropout: Dropout = 0.0
    embedding_dropout: Dropout | None = None
    """Of the embeddings; the same as `dropout` when absent."""


class CharactersSpec(Part):
    """Words read by their characters too, so that unknown ones are told apart: a vector beside the word's own."""

    type: Literal["convolutional", "recurrent"] = "convolutional"
    size: Size = 64
    embedding: Size = 32
    """Of a character."""
    width: Count = 3
    """Of the convolution, in characters."""


class WordsSpec(EmbeddingSpec):
    """Shared by the encoders that read one vector for each unit."""

    word_dropout: Dropout = 0.0
    """Share of the units that are read as unknown in training."""
    characters: CharactersSpec | None = None


class ParentsSpec(Part):
    """Every position looks for its head in the same text: the memory becomes [h; Σ_r p(r → s) h_r]."""

    select: Literal["softmax", "projective", "spanning", "given"] = "projective"
    """softmax: each word on its own; projective, spanning: one tree over all words, whose arcs do not cross, or may;
    given: the tree that comes with the data, an input of type tree."""
    score: Literal["additive", "general"] = "additive"
    """Of an arc from r to s: v · tanh(W b_r + U b_s + c), or b_r · W b_s + w · b_r, b a recurrent network's states."""
    cell: Literal["rnn", "gru", "lstm"] = "lstm"
    size: Size = 64
    """Of that recurrent network, in each direction."""
    hidden: Size | None = None
    """Features in which head and modifier are compared; twice the size when absent."""
    dropout: Dropout = 0.0


class PositionsSpec(WordsSpec):
    """Leaves a memory with one position for each unit read."""

    parents: ParentsSpec | None = None
    """Soft parents beside the values of the memory; none when absent."""


class RecurrentEncoderSpec(PositionsSpec):
    """h_t = cell(h_{t−1}, e(x_t)), read once or from both ends."""

    type: Literal["recurrent"]
    cell: Literal["rnn", "gru", "lstm"] = "gru"
    size: Size = 256
    layers: Count = 1
    bidirectional: bool = True
    residual: bool = False
    activation: Literal["tanh", "sigmoid", "relu", "identity"] = "tanh"
    """Of the rnn cell; gru and lstm have their own."""
    update: Literal["torch", "cho"] = "torch"
    """The gru's convention: torch h' = (1−z)·n + z·h; cho h' = z·n + (1−z)·h."""
    first: Literal["learned", "zero"] = "learned"
    values: Literal["states", "embeddings"] = "states"
    """What a look reads: the states, or the embeddings, with the states as keys that say where they are."""


class ConvolutionalEncoderSpec(PositionsSpec):
    """Gated convolutions over the embeddings and their positions, with residual connections."""

    type: Literal["convolutional"]
    size: Size = 256
    width: Count = 3
    layers: Count = 2


class MeanEncoderSpec(PositionsSpec):
    """The embeddings themselves as memory, their mean as summary."""

    type: Literal["mean"]
    scaled: bool = False
    """Times √embedding, so that features are of about one, like those of a recurrent state."""


class BagEncoderSpec(EmbeddingSpec):
    """The sum of the embeddings, weighted by position: what a memory network makes of a question."""

    type: Literal["bag"]
    position: bool = True
    """Weigh each feature by where in the sentence the word stands (Sukhbaatar 2015)."""
    like: str | None = None
    """Take the embeddings of this story's keys; their vocabulary must be shared."""


class StoryEncoderSpec(EmbeddingSpec):
    """A key and a value for each sentence of a story: m_i = a(x_i) + T_A[age], c_i = c(x_i) + T_C[age]."""

    type: Literal["story"]
    sentence: Literal["bag", "recurrent"] = "bag"
    """bag: the sum of the embeddings; recurrent: the last states of a small gru, read from both ends."""
    position: bool = True
    """Of the bag: weigh each feature by where in the sentence the word stands."""
    ages: Count = 50
    """Ages of sentences that are told apart; older ones count as the oldest."""
    time_noise: Dropout = 0.0
    """Share of sentences behind which, in training, time passes without anything happening."""
    tie: Literal["layers", "adjacent"] = "layers"
    """layers: every hop reads the same keys and values; adjacent: the values of a hop are the keys of the next."""
    hops: Count | None = None
    """Of `tie: adjacent`: as many as the decoder makes."""
    start: Literal["random", "words"] = "random"
    """words, with the bag: keys and values begin as the same large vectors, and a shared word decides what is found."""
    times: Literal["random", "next"] = "random"
    """How the vectors of the ages begin. next: what is read of a sentence asks for the sentence after it."""


class SharedEncoderSpec(Part):
    """The encoder of another input, weights and all: two texts of one kind are read in one way."""

    type: Literal["shared"]
    of: str
    """The input whose encoder it is."""


EncoderSpec = Annotated[
    RecurrentEncoderSpec
    | ConvolutionalEncoderSpec
    | MeanEncoderSpec
    | BagEncoderSpec
    | StoryEncoderSpec
    | ImageEncoderSpec
    | VideoEncoderSpec
    | PyramidEncoderSpec
    | SharedEncoderSpec,
    Field(discriminator="type"),
]
