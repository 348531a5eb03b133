"""Collated columns: the tensors that a batch of rows consists of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from regard.private import tensor_node

Value = TypeVar("Value")

PAD, UNKNOWN, BEGIN, END = 0, 1, 2, 3
"""The first four ids of every vocabulary of a text column, in this order."""
UNSEEN = -1
"""Number of a class (label, tag, relation) that the training data lack; no prediction equals it."""
UNLABELED, ADDED = -2, -3
"""Label numbers of nodes without a label, and of nodes added by binarization."""


def moved(tensor: Tensor, device: torch.device | str) -> Tensor:
    """The tensor on a device. Copies to a GPU are asynchronous, from pinned memory. Copies to the CPU are blocking,
    because the next operation reads them."""
    kind = torch.device(device).type
    if kind == "cuda" and tensor.device.type == "cpu":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=kind != "cpu")


@tensor_node()
@dataclass(frozen=True)
class Spelling:
    """The characters of the words of a batch, stored once for each of the U distinct words.

    characters  (U, W) int64, BEGIN and END around each word, padded on the right with PAD
    lengths     (U,)   int64, including BEGIN and END
    words       (B, T) int64, index of each token among the U words; 0 beyond the length
    counts      the lengths on the CPU, if known there
    """

    characters: Tensor
    lengths: Tensor
    words: Tensor
    counts: Tensor | None = None

    def select(self, rows: Tensor) -> Spelling:
        return replace(self, words=self.words.index_select(0, rows))

    def to(self, device: torch.device | str) -> Spelling:
        counts = self.lengths if self.lengths.device.type == "cpu" else self.counts
        parts = (self.characters, self.lengths, self.words)
        characters, lengths, words = (moved(part, device) for part in parts)
        return Spelling(characters, lengths, words, counts)


@tensor_node(aside=("pieces",))
@dataclass(frozen=True)
class Verbatim:
    """The pieces of a batch as written in the texts, including those outside the vocabulary, for decoders that copy.

    keys     (B, T) int64, a hash of each piece; equal pieces have equal keys in every column; 0 beyond the length
    pieces   the pieces of each row
    """

    keys: Tensor
    pieces: tuple[tuple[str, ...], ...]

    def select(self, rows: Tensor) -> Verbatim:
        return Verbatim(self.keys.index_select(0, rows), tuple(self.pieces[row] for row in rows.tolist()))

    def to(self, device: torch.device | str) -> Verbatim:
        return Verbatim(moved(self.keys, device), self.pieces)


@tensor_node(aside=("keys", "unknown"))
@dataclass(frozen=True)
class WordPieces:
    """The words of a batch, cut by the tokenizer of a pretrained encoder. A text that is too long for it is several
    windows.

    ids      (N, P) int64, the pieces of each window, with the tokenizer's special ones
    lengths  (N,)   int64, the number of pieces of each window
    rows     (N,)   int64, the row of the batch that a window belongs to
    places   (M,)   int64, window · P + piece of each pair of a piece and a word that it is part of
    words    (M,)   int64, row · T + word of each of these pairs
    keys     a hash of the pieces of each row; 0: the row is not as it was written
    unknown  the id of an unknown piece
    """

    ids: Tensor
    lengths: Tensor
    rows: Tensor
    places: Tensor
    words: Tensor
    keys: tuple[int, ...]
    unknown: int

    @property
    def mask(self) -> Tensor:
        """(N, P) bool, True where there is a piece."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths[:, None]

    def to(self, device: torch.device | str) -> WordPieces:
        parts = (self.ids, self.lengths, self.rows, self.places, self.words)
        ids, lengths, rows, places, words = (moved(part, device) for part in parts)
        return WordPieces(ids, lengths, rows, places, words, self.keys, self.unknown)

    def row(self, number: int, positions: int) -> WordPieces:
        """One row alone, without padding. positions: T"""
        windows = (self.rows == number).nonzero().flatten()
        longest, before = int(self.lengths[windows].max()), self.ids.shape[1]
        mine = (self.words >= number * positions) & (self.words < (number + 1) * positions)
        places, words = self.places[mine], self.words[mine] - number * positions
        inside = (places // before - windows[0]) * longest + places % before
        rows = torch.zeros_like(windows)
        ids = self.ids[windows, :longest]
        return WordPieces(ids, self.lengths[windows], rows, inside, words, (self.keys[number],), self.unknown)

    def forgotten(self, number: int, positions: Sequence[int], longest: int) -> WordPieces:
        """The same with unknown pieces in place of those of some words. longest: T"""
        wanted = torch.tensor([number * longest + one for one in positions], device=self.words.device)
        ids = self.ids.clone()
        ids.view(-1)[self.places[torch.isin(self.words, wanted)]] = self.unknown
        keys = tuple(0 if row == number else key for row, key in enumerate(self.keys))
        return WordPieces(ids, self.lengths, self.rows, self.places, self.words, keys, self.unknown)


@tensor_node()
@dataclass(frozen=True)
class Tokens:
    """A batch of sequences of ids, padded on the right with PAD.

    ids      (B, T) int64; without BEGIN and END, which the decoders add
    lengths  (B,)   int64
    counts   the lengths on the CPU, if known there, so that reading them needs no synchronization with the device
    spelling the characters of the words, if the column provides them
    verbatim the pieces themselves, if a decoder copies them
    cut      the words as a pretrained encoder cuts them, if it reads them
    """

    ids: Tensor
    lengths: Tensor
    counts: Tensor | None = None
    spelling: Spelling | None = None
    verbatim: Verbatim | None = None
    cut: WordPieces | None = None

    @property
    def mask(self) -> Tensor:
        """(B, T) bool, True where there is a token."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths[:, None]

    def select(self, rows: Tensor) -> Tokens:
        """Some rows, (B') int64, without `cut`, which only inputs have."""
        return Tokens(
            self.ids.index_select(0, rows),
            self.lengths.index_select(0, rows),
            None if self.counts is None else self.counts.index_select(0, rows.to(self.counts.device)),
            None if self.spelling is None else self.spelling.select(rows),
            None if self.verbatim is None else self.verbatim.select(rows),
        )

    def to(self, device: torch.device | str) -> Tokens:
        counts = self.lengths if self.lengths.device.type == "cpu" else self.counts
        spelling = None if self.spelling is None else self.spelling.to(device)
        verbatim = None if self.verbatim is None else self.verbatim.to(device)
        ids, lengths = (moved(part, device) for part in (self.ids, self.lengths))
        cut = None if self.cut is None else self.cut.to(device)
        return Tokens(ids, lengths, counts, spelling, verbatim, cut)


@tensor_node()
@dataclass(frozen=True)
class Sentences:
    """A batch of documents or stories: their N sentences, grouped into buckets of similar length.

    buckets  the sentences of each bucket, padded to its longest: Tokens (N_k, L_k)
    places   (N,) index of each sentence in the concatenation of the buckets; sentences are in document order
    lengths  (B,) number of sentences of each document
    counts   the lengths on the CPU, if known there
    verbatim (B, W) the words of the concatenated sentences, if a decoder copies them
    """

    buckets: tuple[Tokens, ...]
    places: Tensor
    lengths: Tensor
    counts: Tensor | None = None
    verbatim: Verbatim | None = None

    @classmethod
    def padded(cls, ids: Tensor, lengths: Tensor) -> Sentences:
        """A single bucket of ids (B, S, L), in which PAD fills sentences and documents up."""
        known = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        sentences = ids[known]
        tokens = Tokens(sentences, (sentences != PAD).sum(-1))
        return cls((tokens,), torch.arange(len(sentences), device=ids.device), lengths)

    @property
    def mask(self) -> Tensor:
        """(B, S) bool, True where there is a sentence."""
        known = self.lengths if self.counts is None else self.counts
        longest = int(known.max()) if len(known) else 0
        return torch.arange(longest, device=self.lengths.device) < self.lengths[:, None]

    @property
    def words(self) -> Tensor:
        """(N,) number of words of each sentence, in document order."""
        return torch.cat([bucket.lengths for bucket in self.buckets])[self.places]

    def gather(self, found: Sequence[Tensor]) -> Tensor:
        """From vectors of the sentences of each bucket, (N_k, D), to documents, (B, S, D), with zeros as padding."""
        vectors = found[0] if len(found) == 1 else torch.cat(list(found))
        mask = self.mask
        spread = vectors.new_zeros(*mask.shape, vectors.shape[-1])
        return spread.masked_scatter(mask.unsqueeze(-1), vectors[self.places])

    def to(self, device: torch.device | str) -> Sentences:
        counts = self.lengths if self.lengths.device.type == "cpu" else self.counts
        buckets = tuple(bucket.to(device) for bucket in self.buckets)
        places, lengths = (moved(part, device) for part in (self.places, self.lengths))
        verbatim = None if self.verbatim is None else self.verbatim.to(device)
        return Sentences(buckets, places, lengths, counts, verbatim)


@tensor_node(aside=("words",))
@dataclass(frozen=True)
class Evidence:
    """The words of a document that decide the answer, and the sentences with such words.

    sentences   (B, 1, S) uniform distribution over the sentences with evidence; zero if a row has none
    words       for each row, pairs (sentence, word in the sentence), counted from 0
    """

    sentences: Tensor
    words: tuple[tuple[tuple[int, int], ...], ...]

    def to(self, device: torch.device | str) -> Evidence:
        return Evidence(moved(self.sentences, device), self.words)


@tensor_node()
@dataclass(frozen=True)
class Trees:
    """A batch of dependency trees, padded on the right with 0.

    heads      (B, N) int64; words are counted from 1, and 0 is the root symbol
    relations  (B, N) int64; −1 for a relation that the training data lack
    lengths    (B,)   int64
    """

    heads: Tensor
    relations: Tensor
    lengths: Tensor

    @property
    def mask(self) -> Tensor:
        """(B, N) bool, True where there is a word."""
        return torch.arange(self.heads.shape[1], device=self.heads.device) < self.lengths[:, None]

    def select(self, rows: Tensor) -> Trees:
        return Trees(*(part.index_select(0, rows) for part in (self.heads, self.relations, self.lengths)))

    def to(self, device: torch.device | str) -> Trees:
        return Trees(
            moved(self.heads, device),
            moved(self.relations, device),
            moved(self.lengths, device),
        )


@tensor_node()
@dataclass(frozen=True)
class SpanLabels:
    """A batch of constituency trees: the label of every span of words.

    labels   (B, N, N) int64, the label of the words from i to j inclusive; UNLABELED for a span that is no constituent,
             and for padding; UNSEEN for a label that the training data lack
    lengths  (B,)      int64, number of words
    """

    labels: Tensor
    lengths: Tensor

    @property
    def mask(self) -> Tensor:
        """(B, N) bool, True where there is a word."""
        return torch.arange(self.labels.shape[1], device=self.labels.device) < self.lengths[:, None]

    def select(self, rows: Tensor) -> SpanLabels:
        return SpanLabels(self.labels.index_select(0, rows), self.lengths.index_select(0, rows))

    def to(self, device: torch.device | str) -> SpanLabels:
        return SpanLabels(moved(self.labels, device), moved(self.lengths, device))


@tensor_node()
@dataclass(frozen=True)
class Span:
    """Consecutive tokens of B texts that are read in parallel.

    ids      (B, T) int64, the tokens
    before   (B, T) int64, the preceding token of each; BEGIN at the start of a text
    fresh    whether the texts start here; otherwise they continue the previous span
    """

    ids: Tensor
    before: Tensor
    fresh: bool = True

    def to(self, device: torch.device | str) -> Span:
        return Span(moved(self.ids, device), moved(self.before, device), self.fresh)


@tensor_node()
@dataclass(frozen=True)
class Forest:
    """A batch of trees in brackets: the nodes of each in post-order, children before parents, padded on the right.

    ids      (B, N) int64, the word of a leaf; PAD for an inner node
    parents  (B, N) int64, index of the parent in its row; −1 for the root and for padding
    labels   (B, N) int64; UNSEEN for a label that the training data lack, UNLABELED for a node without a label,
             ADDED for a node that binarization added
    heights  (B, N) int64, 0 for a leaf, else 1 + the height of the highest child
    lengths  (B,)   int64
    host     a copy on the CPU, if known there: the order of computation is planned on the CPU
    """

    ids: Tensor
    parents: Tensor
    labels: Tensor
    heights: Tensor
    lengths: Tensor
    host: Forest | None = None

    @property
    def mask(self) -> Tensor:
        """(B, N) bool, True where there is a node."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths[:, None]

    def select(self, rows: Tensor) -> Forest:
        parts = (self.ids, self.parents, self.labels, self.heights, self.lengths)
        ids, parents, labels, heights, lengths = (part.index_select(0, rows) for part in parts)
        host = None if self.host is None else self.host.select(rows.to(self.host.ids.device))
        return Forest(ids, parents, labels, heights, lengths, host)

    def to(self, device: torch.device | str) -> Forest:
        host = self if self.lengths.device.type == "cpu" else self.host
        parts = (self.ids, self.parents, self.labels, self.heights, self.lengths)
        ids, parents, labels, heights, lengths = (moved(part, device) for part in parts)
        return Forest(ids, parents, labels, heights, lengths, host)


@tensor_node(aside=("rows", "cost", "idle", "texts"))
@dataclass(frozen=True)
class Batch:
    """Collated rows: one value per column, by the column's name.

    The value depends on the type of the column. Text and tags: `Tokens`. Stream: `Span`. Document and story:
    `Sentences`. Tree: `Trees`. Brackets: `Forest`. Constituents: `SpanLabels`. Label: a (B,) int64 tensor.
    Alignment: a (B, T, S) float tensor whose rows sum to 1, or to 0 if a target word is unaligned.

    rows   (B,) the indices of the rows in their dataset, to restore the order of predictions
    cost   the padded cost of the batch, in the unit of its columns (tokens, pixels, frames)
    idle   whether the batch is a placeholder for a process without a row of a small global batch; its loss must not
           count
    texts  the values of a column as written, from its name; read only when called, as only figures need them
    """

    columns: Mapping[str, Any]
    rows: tuple[int, ...]
    cost: int = field(default=0)
    idle: bool = False
    texts: Callable[[str], list[str]] | None = field(default=None, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def to(self, device: torch.device | str) -> Batch:
        columns = {
            name: moved(value, device) if isinstance(value, Tensor) else value.to(device)
            for name, value in self.columns.items()
        }
        return Batch(columns, self.rows, self.cost, self.idle, self.texts)


def select_rows(value: Any, rows: Tensor) -> Any:
    """Some rows, (B') int64, of a collated column."""
    return value.index_select(0, rows) if isinstance(value, Tensor) else value.select(rows)


def in_order(found: Iterable[tuple[Sequence[int], Sequence[Value]]]) -> list[Value]:
    """One value for each row, in the order of the rows, from batches of (rows, values)."""
    by_row: dict[int, Value] = {}
    for rows, values in found:
        by_row.update(zip(rows, values, strict=True))
    return [by_row[row] for row in sorted(by_row)]
