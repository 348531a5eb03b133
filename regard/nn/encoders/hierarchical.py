"""Hierarchical encoder: it reads the words of each sentence, then the sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard import parts
from regard.data.batch import Sentences, Tokens
from regard.data.media import Series
from regard.nn.attention import Attention
from regard.nn.attention_check import check_attention
from regard.nn.cells import AnyCell
from regard.nn.embedding import (
    Arrange,
    Embedding,
    Width,
    as_it_stands,
    build_embedding,
    vectors_note,
    width_of,
)
from regard.nn.encoders.encoder import Encoder, positions_read
from regard.nn.encoders.layer_symbols import LayerSymbols
from regard.nn.encoders.mean import MeanEncoder
from regard.nn.encoders.recurrent import RecurrentEncoder
from regard.nn.letters import Letters, under
from regard.nn.memory import Memory, Parts
from regard.nn.packing import BucketPacking
from regard.nn.path import Replaces
from regard.nn.recurrence import First
from regard.nn.selections import Softmax
from regard.nn.symbols import LookSymbols, MemorySymbols
from regard.parts import Dropout, Mistakes, Plan, Size, register

Values = Literal["states", "inputs"]
WHOLE = Replaces(RecurrentEncoder, methods=("forward",))
"""The encoders that can read all sentences together, without padding."""
ATTENTIONS = Replaces(Attention, children=False)
SELECTIONS = Replaces(Softmax)


class LevelOptions(parts.Settings):
    """How to read one level of a document."""

    cell: AnyCell | None = "gru"
    """The recurrent cell; null: none, the memory of the level is its inputs, and the summary their mean."""
    size: Size | None = None
    """Units of the cell in each direction; default: 100."""
    bidirectional: bool = True
    """Read in both directions."""
    first: First = "learned"
    """The initial state: learned, or zero."""
    values: Values = "states"
    """Values that attention reads. states: the states of the cell; inputs: the inputs of the level, with the
    states as keys."""
    dropout: Dropout = 0.0
    """Probability that a feature of the level's inputs is set to zero in training."""


class WordsOptions(LevelOptions):
    """How to read the words of a sentence."""

    embedding: Width = 200
    """Size of the word vectors, or pretrained ones."""
    word_dropout: Dropout = 0.0
    """Share of the words that are replaced by the unknown word in training."""


class Handed(nn.Module):
    """The outputs of the level below, (B, S, size), in place of an embedding."""

    def __init__(self, size: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.size, self.dropout = size, nn.Dropout(dropout)

    def read(self, tokens: Any, arrange: Arrange = as_it_stands) -> Tensor:
        vectors: Tensor = self.dropout(arrange(tokens.values))
        return vectors


@register("encoder", "hierarchical")
class HierarchicalEncoder(Encoder):
    """The two levels of Hierarchical Attention Networks (Yang et al. 2016) and of hierarchical recurrent encoders.

        b_jm = [→b_jm; ←b_jm]                    the words m of sentence j, read by a recurrent network
        z_j  = Σ_m β_jm b_jm,  β_j = softmax(v·tanh(W b_jm + U q))   the sentence, by attention; q learned
        z_j  = [→b_jN; ←b_j1]                    the sentence, without attention: the last states
        h_j  = [→h_j; ←h_j]                      the sentences, read by another recurrent network

    With an additive score, U q is the bias in Yang's u = tanh(W h + b), and v is his u_w. The sentences of
    all documents in a batch are read together, grouped by length (`Sentences`), so that no document is padded
    to the longest. The memory consists of the sentences; their words are its `parts`.
    """

    class Options(Encoder.Options):
        """Read the words of each sentence, then the sentences: h_j = cell(h_{j−1}, z_j), where z_j summarizes
        the words of sentence j."""

        words: WordsOptions = WordsOptions()
        """How to read the words of a sentence."""
        attention: Attention.Options | None = None
        """Attention with a learned query that pools the words of a sentence; default: none, a sentence is its
        last states."""
        sentences: LevelOptions = LevelOptions()
        """How to read the sentences."""

    reads = ("document", "story", "dialog")
    of_words = True

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> HierarchicalEncoder:
        reader = make_words(options.words, column, read_files=read_files)
        attention, size = None, reader.summary_size
        if options.attention is not None:
            width: int = getattr(reader, "key_size", reader.value_size)
            asked: int = getattr(options.attention.score, "size", None) or width
            attention, size = Attention.build(options.attention, asked, reader), reader.value_size
        return cls(
            reader, make_level(options.sentences, Handed(size, dropout=options.sentences.dropout)), attention
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        if "values" in options.sentences.model_fields_set and not positions_read(plan, options):
            mistakes.at("sentences").add(
                "values has no effect: no decoder attends to the sentences.",
                "values",
                fix="Add an attention over this input, or leave values out.",
            )
        words, here = options.words, mistakes.at("words")
        check_level(words, here)
        check_level(options.sentences, mistakes.at("sentences"))
        if options.attention is None:
            if "values" in words.model_fields_set and words.cell is not None:
                here.add(
                    "values has no effect: without attention the vector of a sentence is its last states.",
                    "values",
                    fix="Add  attention: {score: additive}  to the encoder, or leave values out.",
                )
            return
        given = options.attention.model_fields_set
        idle = [option for option in ("over", "guide", "truth") if option in given]
        for option in idle:
            mistakes.at("attention").add(
                f"{option} has no effect: this attention is over the words of a sentence, and has no true alignment.",
                option,
                fix=f"Leave {option} out.",
            )
        if idle:
            return
        check_attention(
            options.attention,
            mistakes.at("attention"),
            user="a hierarchical encoder",
            gives=("query",),
            together=True,
            truths=None,
        )

    @classmethod
    def width(cls, options: Any) -> int | None:
        sentences = options.sentences
        if sentences.cell is not None and sentences.values == "states":
            return level_width(sentences)
        words = options.words
        if words.cell is None or (options.attention is not None and words.values == "inputs"):
            return width_of(words.embedding)
        return level_width(words)

    @classmethod
    def key_width(cls, options: Any) -> int | None:
        return cls.width(options) if options.sentences.cell is None else level_width(options.sentences)

    @classmethod
    def symbols(cls, options: Any) -> MemorySymbols:
        keys = options.sentences.cell is not None and options.sentences.values == "inputs"
        values, own = "x_jm", ""
        if options.words.cell is not None:
            values, own = ("b_jm", "") if options.words.values == "states" else ("x_jm", "b_jm")
        words = MemorySymbols(values, keys=own, summary="", index="m", length="N_j", embedding="")
        return MemorySymbols(keys="κ_j" if keys else "", words=words)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        words, sentences = options.words, options.sentences
        both = any(level.cell is not None and level.bidirectional for level in (words, sentences))
        arrows = ", d ∈ {→, ←}" if both else ""
        return [
            f"j = 1 … S, m = 1 … N_j{arrows}     — w_jm: word m of sentence j",
            *word_lines(options.words, options.attention),
            *_sentence_lines(sentences),
            f"— words: {size_note(words)}vectors of {width_of(words.embedding)}{extras(words)}",
            f"— sentences: {size_note(sentences)}vectors z_j{extras(sentences)}",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        found: Letters = {"words.embedding.weight": "E_x", "query": "q_w"}
        if options.words.cell is not None:
            found |= under("words.layers.0", word_layer(options.words).letters())
        if options.sentences.cell is not None:
            found |= under("sentences.layers.0", _sentence_layer(options.sentences).letters())
        if options.attention is not None:
            look = LookSymbols("q_w", MemorySymbols("b_jm", index="m", length="N_j"), step="j", mark="w")
            found |= under("attention", Attention.letters(options.attention, look))
        return found

    def __init__(self, words: Encoder, sentences: Encoder, attention: Attention | None = None) -> None:
        super().__init__()
        self.words, self.sentences, self.attention = words, sentences, attention
        self.query = None if attention is None else nn.Parameter(torch.randn(attention.query_size) * 0.1)
        self.value_size, self.summary_size = sentences.value_size, sentences.summary_size
        self.key_size = getattr(sentences, "key_size", sentences.value_size)

    @property
    def embedding(self) -> Embedding:
        """The embedding of the words."""
        found: Embedding = self.words.embedding  # type: ignore[assignment]
        return found

    def forward(self, document: Sentences) -> Memory:
        if isinstance(self.words, RecurrentEncoder) and WHOLE(self.words):
            vectors, found = self._read_together(self.words, document)
        else:
            vectors, found = self._look([self.words(tokens) for tokens in document.buckets], document)
        memory = self.sentences(Series(document.gather(vectors), document.lengths, document.counts))
        return Memory(
            memory.values, memory.mask, memory.summary, keys=memory.keys, layout="sentences", parts=found
        )

    def _read_together(self, words: RecurrentEncoder, document: Sentences) -> tuple[list[Tensor], Parts]:
        """The vectors of the sentences, and their words. The network reads all buckets at once: the more rows
        share a step, the fewer steps there are. A softmax needs no padding either."""
        buckets = document.buckets
        packing = BucketPacking.over(buckets)
        lengths = torch.cat([tokens.lengths for tokens in buckets])
        together = Tokens(torch.cat([tokens.ids.flatten() for tokens in buckets]), lengths)
        embedded = words.embedding.read(together, packing.pack)  # (N, E)
        states, summaries = words.run(embedded, packing)  # (N, D), (rows, D)
        values, keys = (states, None) if words.values == "states" else (embedded, states)
        pieces = packing.apart(values)
        others = None if keys is None else packing.apart(keys)
        if self.attention is None or self.query is None:
            return [summaries], Parts(document, pieces, others)
        if ATTENTIONS(self.attention) and SELECTIONS(self.attention.select):
            score = self.attention.score
            scores = score(self.query.expand(1, 1, -1), score.keys(states.unsqueeze(0)))  # (1, 1, N)
            weights = packing.softmax(scores[0, 0]).unsqueeze(1)
            shares = [bucket.squeeze(2) for bucket in packing.apart(weights)]
            return [packing.sums(weights * values)], Parts(document, pieces, others, shares)
        ends = summaries.split([len(tokens.ids) for tokens in buckets])
        found = [
            Memory(value, tokens.mask, end, keys=None if others is None else others[number])
            for number, (tokens, value, end) in enumerate(zip(buckets, pieces, ends, strict=True))
        ]
        return self._look(found, document)

    def _look(self, read: Sequence[Memory], document: Sentences) -> tuple[list[Tensor], Parts]:
        """The vectors of the sentences of each bucket from the memories of their words."""
        vectors, weights = [], []
        for memory in read:
            if self.attention is None or self.query is None:
                vectors.append(memory.summary)
                continue
            look = self.attention(self.query.expand(len(memory.mask), 1, -1), memory)
            vectors.append(look.context.squeeze(1))
            weights.append(look.weights.squeeze(1))
        keys = [memory.keys for memory in read if memory.keys is not None]
        return vectors, Parts(document, [memory.values for memory in read], keys or None, weights or None)


def make_words(options: Any, column: Any, *, read_files: bool) -> Encoder:
    """The encoder of the words of a column of sentences, with their embedding."""
    embedding = build_embedding(options, column.words, read_files=read_files)
    embedding.word_dropout = options.word_dropout
    return make_level(options, embedding)


def make_level(options: Any, embedding: Any) -> Encoder:
    """The encoder of one level, over its input vectors."""
    if options.cell is None:
        return MeanEncoder(embedding)
    return RecurrentEncoder(
        embedding,
        cell=options.cell,
        size=options.size or 100,
        bidirectional=options.bidirectional,
        first=options.first,
        values="states" if options.values == "states" else "embeddings",
    )


def level_width(options: Any) -> int:
    """Features of the states of a level."""
    return int((options.size or 100) * (2 if options.bidirectional else 1))


def check_level(options: Any, mistakes: Mistakes) -> None:
    for option in ("size", "bidirectional", "first", "values"):
        if options.cell is None and option in options.model_fields_set:
            mistakes.add(
                f"{option} has no effect: it belongs to the recurrent network, and cell is null.",
                option,
                fix=f"Choose a cell, or leave {option} out.",
            )


def size_note(options: Any) -> str:
    if options.cell is None:
        return ""
    return f"{options.size or 100} units{' in each direction' if options.bidirectional else ''}, "


def extras(options: Any) -> str:
    vectors = vectors_note(options) if hasattr(options, "embedding") else ""
    dropout = f", dropout {options.dropout}" if options.dropout else ""
    unknown = getattr(options, "word_dropout", 0)
    return vectors + dropout + (f", word dropout {unknown:.0%}" if unknown else "")


def word_layer(options: Any) -> LayerSymbols:
    """The symbols of the network that reads words."""
    return LayerSymbols(
        options.cell,
        options.bidirectional,
        inputs="x_jm",
        letter="b",
        carried="n",
        at=("j",),
        index="m",
        mark="w",
        first=("0", "N_j+1"),
    )


def _sentence_layer(options: Any) -> LayerSymbols:
    """The symbols of the network that reads sentences."""
    alone = "κ" if options.values == "inputs" and not options.bidirectional else "h"
    return LayerSymbols(options.cell, options.bidirectional, inputs="z_j", letter=alone)


def word_lines(words: Any, attention: Any = None, what: str = "sentence j") -> list[str]:
    """Equations from the words to the vector z_j of each sentence, which is `what`."""
    lines = ["x_jm = E_x[w_jm]"]
    values, last, functions = "x_jm", "Σ_m x_jm / N_j", []
    keys = ""
    if words.cell is not None:
        both = words.bidirectional
        layer = word_layer(words)
        lines += [*layer.steps(), *_first_lines(layer, words), *(["b_jm = [→b_jm; ←b_jm]"] if both else [])]
        values, keys = ("b_jm", "") if words.values == "states" else ("x_jm", "b_jm")
        last = "[→b_{j,N_j}; ←b_j1]" if both else "b_{j,N_j}"
        functions = layer.functions()
    if attention is None:
        return [*lines, f"z_j = {last}     — {what}", *functions]
    look = LookSymbols(
        "q_w",
        MemorySymbols(values, keys=keys, index="m", length="N_j"),
        step="j",
        count="S",
        letters=("f", "β", "z"),
        mark="w",
    )
    return [*lines, "— q_w: learned", *Attention.equations(attention, look), *functions]


def _first_lines(layer: LayerSymbols, options: Any) -> list[str]:
    """Equations of the states before the first word and after the last, the same for every sentence."""
    _, zeros = layer.first_states("zero", options.size or 100)
    if options.first == "zero":
        return zeros
    learned = []
    for line in zeros:
        state = line.partition(" = ")[0]
        arrow = state[0] if state[0] in "→←" else ""
        letter = state.lstrip("→←")[0]
        learned.append(f"{state} = {letter}_w{arrow}")
    return [f"{learned[0]}     — learned", *learned[1:]]


def _sentence_lines(options: Any) -> list[str]:
    """Equations from the vectors of the sentences to the memory and its summary."""
    if options.cell is None:
        return ["h_j = z_j", "h = Σ_j h_j / S     — the summary"]
    both, keys = options.bidirectional, options.values == "inputs"
    memory = "κ" if keys else "h"
    layer = _sentence_layer(options)
    note, zeros = layer.first_states(options.first, options.size or 100)
    steps = layer.steps()
    return [
        steps[0] + note,
        *steps[1:],
        *zeros,
        *([f"{memory}_j = [→h_j; ←h_j]"] if both else []),
        *(["h_j = z_j     — the values; κ_j: the keys"] if keys else []),
        ("h = [→h_S; ←h_1]" if both else f"h = {memory}_S") + "     — the summary",
        *layer.functions(),
    ]
