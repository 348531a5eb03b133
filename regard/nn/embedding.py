"""Embedding: a vector for every id of a vocabulary.

embedding: 128                                       random vectors, which are trained
embedding: {vectors: glove.6B.100d.txt}              those of a file; its size is that of the file
embedding: {vectors: cc.en.300.vec.gz, train: false}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

import torch
from pydantic import Field, WrapValidator, model_validator
from torch import Tensor, nn

from regard import parts
from regard.data.batch import PAD, UNKNOWN, Tokens
from regard.errors import Message, RegardError
from regard.nn.path import Replaces
from regard.nn.vectors import VectorsOrigin, read_vectors
from regard.parts import Dropout, Mistakes, Size
from regard.parts.definition import remember
from regard.private import eager

Unknown = Literal["trained", "characters"]


class VectorsOptions(parts.Settings):
    """Pretrained vectors for the units of a text, read once: a trained model contains them."""

    vectors: str
    """The file, local or remote: text of GloVe, word2vec or fastText (`.vec`), plain or compressed (`.gz`, `.xz`,
    `.bz2`, `.zst`, `archive.zip/member`); or a folder of model2vec."""
    size: Size | None = None
    """Size of the vectors; default: that of the file."""
    train: bool = True
    """Train the vectors; false: those of the file stay as they are, and only the vectors of other units are trained."""
    unknown: Unknown = "trained"
    """Vectors of units that the file lacks. trained: they start at random and are always trained; characters: the mean
    of the vectors of words that share character n-grams with them."""

    extend: Annotated[int, Field(ge=0, le=5_000_000)] = 0
    """Number of words at the beginning of the file, its most frequent ones, that the model knows although the training
    texts lack them. Needs `train: false`, because only vectors that stay as they are fit to those of other words."""

    @model_validator(mode="after")
    def _of_fixed(self) -> VectorsOptions:
        if self.extend and self.train:
            raise RegardError(
                "extend needs vectors that stay as they are.",
                fix="Set  train: false, or leave extend out.",
            )
        return self

    @model_validator(mode="after")
    def _with_size(self) -> VectorsOptions:
        if self.size is None:
            from regard.nn.static_vectors import is_static, static_size
            from regard.nn.vector_file import size_in_file

            folder = Path(self.vectors).expanduser()
            try:
                size = static_size(folder) if is_static(folder) else size_in_file(self.vectors)
            except RegardError as error:  # its place is that in the spec
                raise RegardError(Message(error.where, ": ", error.what), fix=error.fix) from None
            object.__setattr__(self, "size", size)
        return self

    def completed(self) -> dict[str, Any]:
        return {"size": self.size}  # a saved model does not need the file


def _one_or_other(value: Any, validate: Any) -> Any:
    """A mistake in a mapping is one of pretrained vectors; else that of a size."""
    return VectorsOptions.model_validate(value) if isinstance(value, Mapping) else validate(value)


Width = Annotated[Size | VectorsOptions, WrapValidator(_one_or_other)]
"""An option: the size of embedding vectors, or pretrained ones."""


def width_of(embedding: int | VectorsOptions) -> int:
    """The size of the vectors."""
    return embedding if isinstance(embedding, int) else int(embedding.size or 0)


def given(embedding: int | VectorsOptions | None) -> VectorsOptions | None:
    """The options of pretrained vectors, if there are any."""
    return embedding if isinstance(embedding, VectorsOptions) else None


Arrange = Callable[[Tensor], Tensor]
"""A function that reorders the positions (B, S) of a batch, as packing does."""


def as_it_stands(positions: Tensor) -> Tensor:
    return positions


class TokenVectors(Protocol):
    """The interface of an encoder's embedding: vectors (…, size) of tokens."""

    @property
    def size(self) -> int: ...

    def read(self, tokens: Tokens, arrange: Arrange = as_it_stands) -> Tensor: ...


@remember
class Embedding(nn.Module):
    """ids (…) → vectors (…, size); the vector of PAD is zero and stays so.

    vocabulary   number of ids
    size         features of a vector
    dropout      probability that a feature is set to zero in training
    word_dropout probability that a unit is read as UNKNOWN in training, so that its vector is trained
    vectors      (vocabulary, size) pretrained vectors to start from
    fixed        (vocabulary) bool, the ids whose vectors are not trained
    """

    fixed: Tensor | None
    origin: VectorsOrigin | None = None
    """Where pretrained vectors were read from; None in a model that was loaded."""

    def __init__(
        self,
        vocabulary: int,
        size: int,
        *,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        vectors: Tensor | None = None,
        fixed: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.vocabulary, self.size = vocabulary, size
        if vectors is None:
            vectors = torch.randn(vocabulary, size) * size**-0.5
        if vectors.shape != (vocabulary, size):
            raise RegardError(
                f"Pretrained vectors have shape {tuple(vectors.shape)}, expected "
                f"{(vocabulary, size)}: vocabulary and size.",
                fix="Set the embedding's size to that of the vectors.",
            )
        vectors = vectors.detach().clone()
        vectors[PAD] = 0
        self.weight = nn.Parameter(vectors)
        self.register_buffer("fixed", fixed)
        if fixed is not None:
            self.weight.register_hook(self._of_trained)
            self.weight.decays = False  # type: ignore[attr-defined]
        self.dropout, self.word_dropout = nn.Dropout(dropout), word_dropout

    def _of_trained(self, gradient: Tensor) -> Tensor:
        """The gradient of the vectors that are trained; zero for the others."""
        assert self.fixed is not None
        return gradient.masked_fill(self.fixed.unsqueeze(-1), 0.0)

    def read(self, tokens: Tokens, arrange: Arrange = as_it_stands) -> Tensor:
        """The vectors (…, size) of tokens, reordered by `arrange`."""
        vectors: Tensor = self(arrange(tokens.ids))
        return vectors

    def forward(self, ids: Tensor) -> Tensor:
        if self.training and self.word_dropout:
            forgotten = torch.rand(ids.shape, device=ids.device) < self.word_dropout
            ids = ids.masked_fill(forgotten & (ids != PAD), UNKNOWN)
        vectors: Tensor = self.dropout(looked_up(ids, self.weight))
        return vectors


EMBEDDINGS = Replaces(Embedding, methods=("forward", "read"))
"""The embeddings whose vectors a fast path reads."""
FEW = 256
"""Largest vocabulary for `OfFew`, whose one product then takes less time than torch's sort of the ids."""


def looked_up(ids: Tensor, vectors: Tensor) -> Tensor:
    """ids (…) and vectors (V, E) → (…, E); the vector of padding has no gradient."""
    if ids.is_cuda and len(vectors) <= FEW and eager():
        found: Tensor = OfFew.apply(ids, vectors)
        return found
    return nn.functional.embedding(ids, vectors, padding_idx=PAD)


class OfFew(torch.autograd.Function):
    """`torch.nn.functional.embedding` for a small vocabulary: the gradient is one matrix product."""

    @staticmethod
    def forward(ctx: Any, ids: Tensor, vectors: Tensor) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.count = len(vectors)
        return nn.functional.embedding(ids, vectors)

    @staticmethod
    def backward(ctx: Any, d_found: Tensor) -> tuple[None, Tensor]:
        (ids,) = ctx.saved_tensors
        units = torch.arange(ctx.count, device=ids.device)
        chosen = (ids.flatten() == units[:, None]) & (units != PAD)[:, None]
        with torch.autocast(ids.device.type, enabled=False):
            return None, chosen.to(d_found.dtype) @ d_found.flatten(0, -2)


class EmbeddingOptions(parts.Options):
    """Options of all parts that embed units of text."""

    embedding: Width = 256
    """Size of the embedding vectors, or pretrained ones."""
    dropout: Dropout = 0.0
    """Probability that a feature is set to zero in training."""
    embedding_dropout: Dropout | None = None
    """Dropout of the embeddings; default: the same as `dropout`."""

    @property
    def width_of_vectors(self) -> int:
        """The size of the embedding vectors."""
        return width_of(self.embedding)


def check_dropout(options: Any, mistakes: Mistakes) -> None:
    """Refuse `dropout` beside `embedding_dropout` in a part that applies dropout to embeddings alone."""
    if options.dropout and options.embedding_dropout is not None:
        mistakes.add(
            "dropout has no effect: it applies to embeddings alone here, and embedding_dropout overrides it.",
            "dropout",
            fix="Leave one of the two out.",
        )


def further_words(options: Any) -> Callable[[], Sequence[str]] | None:
    """What reads the words that the vectors of an embedding add to those of the texts; None if they add none."""
    pretrained = given(options.embedding)
    if pretrained is None or not pretrained.extend:
        return None
    from regard.nn.static_vectors import is_static, whole_words
    from regard.nn.vector_file import first_words

    if is_static(Path(pretrained.vectors).expanduser()):
        return partial(whole_words, Path(pretrained.vectors).expanduser(), pretrained.extend)
    return partial(first_words, pretrained.vectors, pretrained.extend)


def build_embedding(options: Any, column: Any, *, read_files: bool, extends: bool = False) -> Embedding:
    """The embedding of a text column's units, pretrained or randomly initialized.

    extends   whether the units of the column contain further words of the file
    """
    if further_words(options) is not None and not extends:
        raise RegardError(
            "extend is for the embedding of an encoder that reads the words of a text.",
            where=f"{column.name}, embedding",
            fix="Leave extend out.",
        )
    dropout = (
        options.dropout if getattr(options, "embedding_dropout", None) is None else options.embedding_dropout
    )
    pretrained, vectors, origin, fixed = given(options.embedding), None, None, None
    if pretrained is not None and not pretrained.train:
        fixed = torch.zeros(column.size, dtype=torch.bool)
    if pretrained is not None and read_files:
        vectors, origin = read_vectors(pretrained, column)
        if fixed is not None:
            fixed[list(origin.known)] = True
    made = Embedding(column.size, width_of(options.embedding), dropout=dropout, vectors=vectors, fixed=fixed)
    made.origin = origin
    return made


def is_fixed(embedding: Any) -> bool:
    """Whether pretrained vectors are not trained."""
    pretrained = given(embedding)
    return pretrained is not None and not pretrained.train


def vectors_note(options: Any) -> str:
    """Where pretrained vectors come from, and whether they stay as they are; "" for vectors that are learned anew."""
    pretrained = given(options.embedding)
    if pretrained is None:
        return ""
    return f" from {pretrained.vectors}{'' if pretrained.train else ', which stay as they are'}"
