"""The base of text encoders: a vector and a memory position for each unit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import torch
from pydantic import model_validator
from torch import Tensor

from regard import parts
from regard.data.batch import Tokens
from regard.errors import RegardError
from regard.nn.embedding import Embedding, EmbeddingOptions, build_embedding, further_words, vectors_note
from regard.nn.encoders.encoder import Encoder, LastStates, owner_of, refuse_unread
from regard.nn.letters import Letters, under
from regard.nn.memory import Memory
from regard.nn.parents import Parents
from regard.nn.spelling import ConvolutionalSpelling, RecurrentSpelling, SpelledEmbedding
from regard.nn.symbols import MemorySymbols
from regard.parts import Count, Dropout, Mistakes, Plan, Size
from regard.parts.definition import remember


class CharactersOptions(parts.Settings):
    """Read words by their characters too, so that unknown words differ: adds a vector to that of the word."""

    type: Literal["convolutional", "recurrent"] = "convolutional"
    """convolutional: the maximum of a convolution over the characters; recurrent: the last states of a
    bidirectional LSTM."""
    size: Size = 64
    """Size of the vector computed from the characters."""
    embedding: Size = 32
    """Size of the vector of a character."""
    width: Count = 3
    """Width of the convolution, in characters; must be odd."""

    @model_validator(mode="after")
    def _own_options(self) -> CharactersOptions:
        if self.type == "recurrent" and "width" in self.model_fields_set:
            raise ValueError("width belongs to `type: convolutional`. Leave it out, or choose that type.")
        if self.type == "convolutional" and self.width % 2 == 0:
            raise RegardError(
                f"width is {self.width}; a convolution's width must be odd.", fix=f"Choose {self.width + 1}."
            )
        if self.type == "recurrent" and self.size % 2:
            raise RegardError(
                f"size is {self.size}; with type: recurrent, it must be even: half for each direction.",
                fix=f"Choose {self.size + 1}.",
            )
        return self


class TextEncoderOptions(EmbeddingOptions):
    """Options of encoders with one position for each unit of a text."""

    word_dropout: Dropout = 0.0
    """Share of the units that are replaced by the unknown unit in training."""
    characters: CharactersOptions | None = None
    """Read words by their characters too; default: by their own vectors only."""
    parents: Parents.Options | None = None
    """Add a soft parent to each value of the memory; default: none."""


@remember
class TextEncoder(Encoder):
    """The base class of encoders with one memory position for each unit of a text."""

    class Options(TextEncoderOptions):
        """An encoder of text."""

    reads = ("text",)
    by_word = True

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        if options.characters is not None:
            _check_characters(name, plan, mistakes)
        if further_words(options) is not None:
            _check_extended(name, plan, mistakes)
        refuse_unread(options, ["parents"], plan, mistakes)
        if options.parents is not None:
            readers = [other for other in plan.encoder if owner_of(plan, other) is options]
            Parents.check(options.parents, readers, plan, mistakes.at("parents"))

    @classmethod
    def symbols(cls, options: Any) -> MemorySymbols:
        gain = cls.written_gain(options)
        return MemorySymbols(gain=gain) if options.parents is None else MemorySymbols("g_j", gain=2 * gain)

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return embedding_letters(options)

    @classmethod
    def written_gain(cls, options: Any) -> int:
        """The square of the factor that scales the values before parents are added (`MemorySymbols`)."""
        return 1

    @classmethod
    def column_needs(cls, options: Any) -> dict[str, Any]:
        asked: dict[str, Any] = {} if options.characters is None else {"spelled": True}
        further = further_words(options)
        return asked if further is None else {**asked, "further": further}


def _check_extended(name: str, plan: Plan, mistakes: Mistakes) -> None:
    column = plan.inputs[name]
    if getattr(column, "unit", None) != "word" or getattr(column, "case", None) == "marked":
        mistakes.add(
            f"extend needs an input of whole words, and {name} has other units.",
            "embedding.extend",
            fix="Use unit: word, and case: keep or lower.",
        )
    owner = getattr(column, "shared", None) or name
    outputs = [other for other, one in plan.outputs.items() if getattr(one, "shared", None) == owner]
    if owner in plan.outputs or outputs:
        mistakes.add(
            "extend cannot be used with a vocabulary that is shared with an output.",
            "embedding.extend",
            fix="Leave extend out, or leave shared out.",
        )


def _check_characters(name: str, plan: Plan, mistakes: Mistakes) -> None:
    column = plan.inputs[name]
    if getattr(column, "unit", None) != "word" or getattr(column, "case", None) == "marked":
        mistakes.add(
            f"characters needs an input of whole words, and {name} has other units.",
            "characters",
            fix="Use unit: word, and case: keep or lower.",
        )
    columns = {**plan.inputs, **plan.outputs}
    sharing = [other for other, one in columns.items() if getattr(one, "shared", None) == name]
    if getattr(column, "shared", None) is not None or sharing:
        mistakes.add(
            "characters cannot be used with a shared vocabulary.",
            "characters",
            fix="Leave characters out, or leave shared out.",
        )
    if any(getattr(decoder, "tie", "none") == "all" for decoder in plan.decoder.values()):
        mistakes.add(
            "characters cannot be used with tie: all, which shares the embeddings of words alone.",
            "characters",
            fix="Use tie: output, or leave characters out.",
        )


def build_word_embedding(options: Any, column: Any, *, read_files: bool) -> Embedding | SpelledEmbedding:
    """The vectors of units; with `characters`, beside vectors computed from their spelling."""
    words = build_embedding(options, column, read_files=read_files, extends=True)
    words.word_dropout = options.word_dropout
    if options.characters is None:
        return words
    characters = options.characters
    signs = Embedding(len(column.characters), characters.embedding)
    spelling = (
        ConvolutionalSpelling(signs, characters.size, width=characters.width)
        if characters.type == "convolutional"
        else RecurrentSpelling(signs, characters.size)
    )
    return SpelledEmbedding(words, spelling, dropout=words.dropout.p)


def word_vector(options: Any) -> str:
    """The symbol of the vector of the unit at position j."""
    return "E_x[w_j]" if options.characters is None else "[E_x[w_j]; χ_j]"


def embedding_note(options: Any) -> str:
    """A note on the sizes of the vectors of a text's units, and their dropout."""
    dropout = f", dropout {options.dropout}" if options.dropout else ""
    characters = getattr(options, "characters", None)
    spelled = ""
    if characters is not None:
        way = (
            f"a convolution of width {characters.width}"
            if characters.type == "convolutional"
            else "a bidirectional LSTM"
        )
        spelled = f", χ_j: {characters.size} features of the characters, by {way}"
    return f"vectors of {options.width_of_vectors}{vectors_note(options)}{spelled}{dropout}"


def embedding_letters(options: Any) -> Letters:
    """The letters of the vectors of units."""
    if options.characters is None:
        return {"embedding.weight": "E_x"}
    return {"embedding.words.weight": "E_x", "embedding.spelling.**": "χ_j"}


def parents_lines(options: Any, gain: int = 1) -> list[str]:
    """Equations of the soft parents; empty without them. gain: see `MemorySymbols`."""
    return [] if options.parents is None else Parents.board(options.parents, gain)


class ParentedEncoder(Encoder):
    """values [h_s; Σ_r p(r → s) h_r]: the values of another encoder, each beside its soft parent.

    The summary is the other encoder's.
    """

    def __init__(self, encoder: Encoder, parents: Parents) -> None:
        super().__init__()
        self.encoder, self.parents = encoder, parents
        self.value_size, self.summary_size = 2 * encoder.value_size, encoder.summary_size
        self.keyed, self.key_size = encoder.keyed, encoder.key_size if encoder.keyed else self.value_size
        # A mixture of heads has a smaller norm than a head.
        self.gain = encoder.gain * 2**0.5

    @classmethod
    def around(cls, encoder: Encoder, options: Any) -> ParentedEncoder:
        """An encoder with the soft parents that the options describe."""
        return cls(encoder, Parents.build(options, encoder.value_size, gain=encoder.gain))

    @classmethod
    def letters_around(cls, letters: Letters, options: Any) -> Letters:
        """The letters of an encoder and those of its soft parents."""
        return under("encoder", letters) | under("parents", Parents.letters(options))

    @property
    def embedding(self) -> Embedding:
        """The embedding of the input."""
        embedding: Embedding = self.encoder.embedding  # type: ignore[assignment]
        return embedding

    def hand_on(self) -> LastStates:
        return self.encoder.hand_on()

    @property
    def finds_heads(self) -> bool:
        return self.parents.reader is not None

    def forward(self, tokens: Tokens, heads: Tensor | None = None, arcs: Tensor | None = None) -> Memory:
        """heads (B, S) int64, 0 for the root symbol; required if the parents are given. arcs (B, S, S+1): the heads
        that each word may have."""
        memory: Memory = self.encoder(tokens)
        found, marginals = self.parents(memory.values, tokens.lengths, heads, counts=tokens.counts, arcs=arcs)
        return replace(memory, values=torch.cat([memory.values, found], -1), heads=marginals)


def build_encoder(options: Any, column: Any, *, read_files: bool = True) -> Any:
    """The encoder of an input, with soft parents if the options ask for them."""
    encoder = options.part.build(options, column, read_files=read_files)
    parents = getattr(options, "parents", None)
    if parents is None:
        return encoder
    return ParentedEncoder.around(encoder, parents)


def encoder_letters(options: Any) -> Letters:
    """The letters of the parameters of `build_encoder`."""
    letters: Letters = options.part.letters(options)
    parents = getattr(options, "parents", None)
    return letters if parents is None else ParentedEncoder.letters_around(letters, parents)
