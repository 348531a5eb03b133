"""What the columns of several rows become when they are put side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

PAD, UNKNOWN, BEGIN, END = 0, 1, 2, 3
"""The first four ids of every vocabulary of a text column, in this order."""
UNSEEN = -1
"""The number of a class (of a label, a tag, a relation) that training did not have: no answer of a model equals it."""
UNLABELLED, ADDED = -2, -3
"""Instead of the number of a label: of a node without one, and of a node that binarizing put in."""


def moved(tensor: Tensor, device: torch.device | str) -> Tensor:
    """The tensor on a device. A copy towards a device goes on while the CPU prepares the next, from memory that CUDA
    reads by itself; one towards the CPU is awaited, because it is read next."""
    kind = torch.device(device).type
    if kind == "cuda" and tensor.device.type == "cpu":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=kind != "cpu")


@dataclass(frozen=True)
class Spelling:
    """The words of a batch by their characters: each of U distinct words once.

    characters  (U, W) int64, BEGIN and END around each word, padded on the right with PAD
    lengths     (U,)   int64, the two marks counted
    words       (B, T) int64, which of the U words stands where; 0 beyond the length
    counts      the lengths on the CPU, where they are known there
    """

    characters: Tensor
    lengths: Tensor
    words: Tensor
    counts: Tensor | None = None

    def to(self, device: torch.device | str) -> Spelling:
        counts = self.lengths if self.lengths.device.type == "cpu" else self.counts
        parts = (self.characters, self.lengths, self.words)
        characters, lengths, words = (moved(part, device) for part in parts)
        return Spelling(characters, lengths, words, counts)


@dataclass(frozen=True)
class Verbatim:
    """The pieces of a batch as they stand in the texts, those outside the vocabulary too: what a decoder copies.

    keys     (B, T) int64, of each piece a number that equal pieces have in every column; 0 beyond the length
    pieces   those of each row
    """

    keys: Tensor
    pieces: tuple[tuple[str, ...], ...]

    def to(self, device: torch.device | str) -> Verbatim:
        return Verbatim(moved(self.keys, device), self.pieces)


@dataclass(frozen=True)
class Tokens:
    """A batch of sequences of ids, padded on the right with PAD.

    ids      (B, T) int64; the content alone: decoders add BEGIN and END themselves
    lengths  (B,)   int64
    counts   the lengths on the CPU, where they are known there, so that nobody waits for the device to ask it
    spelling the characters of the words, where the column spells them
    verbatim the pieces themselves, where a decoder may copy them
    """

    ids: Tensor
    lengths: Tensor
    counts: Tensor | None = None
    spelling: Spelling | None = None
    verbatim: Verbatim | None = None

    @property
    def mask(self) -> Tensor:
        """(B, T) bool, True where there is a token."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths[:, None]

    def to(self, device: torch.device | str) -> Tokens:
        counts = self.lengths if self.lengths.device.type == "cpu" else self.counts
        spelling = None if self.spelling is None else self.spelling.to(device)
        verbatim = None if self.verbatim is None else self.verbatim.to(device)
        ids, lengths = (moved(part, device) for part in (self.ids, self.lengths))
        return Tokens(ids, lengths, counts, spelling, verbatim)


@dataclass(frozen=True)
class Sentences:
    """A batch of documents or stories: the N sentences of all of them, side by side with others about as long.

    buckets  the sentences, each bucket padded to the longest of its own: Tokens (N_k, L_k)
    places   (N,) where a sentence stands among those of the buckets one after another; the sentences in the order of
             the documents
    lengths  (B,) sentences of each document
    counts   the lengths on the CPU, where they are known there
    verbatim the words themselves, (B, W) of the sentences one after another, where a decoder may copy them
    """

    buckets: tuple[Tokens, ...]
    places: Tensor
    lengths: Tensor
    counts: Tensor | None = None
    verbatim: Verbatim | None = None

    @classmethod
    def padded(cls, ids: Tensor, lengths: Tensor) -> Sentences:
        """One bucket of ids (B, S, L), where PAD stands behind the last word and in sentences that do not exist."""
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
        """(N,) the words of each sentence, in the order of the documents."""
        return torch.cat([bucket.lengths for bucket in self.buckets])[self.places]

    def gather(self, found: Sequence[Tensor]) -> Tensor:
        """What was found of the sentences of each bucket, (N_k, D) → of each document, (B, S, D), zero in padding."""
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


@dataclass(frozen=True)
class Evidence:
    """The words of documents that decide an answer, and with them the sentences.

    sentences   (B, 1, S) the share of each sentence among those that hold such words; zero where none is known
    words       of each row the pairs of a sentence and a word in it, counted from 0
    """

    sentences: Tensor
    words: tuple[tuple[tuple[int, int], ...], ...]

    def to(self, device: torch.device | str) -> Evidence:
        return Evidence(moved(self.sentences, device), self.words)


@dataclass(frozen=True)
class Trees:
    """A batch of dependency trees, padded on the right with 0.

    heads      (B, N) int64; words are counted from 1, and 0 is the root symbol
    relations  (B, N) int64; −1 where training had no such relation
    lengths    (B,)   int64
    """

    heads: Tensor
    relations: Tensor
    lengths: Tensor

    @property
    def mask(self) -> Tensor:
        """(B, N) bool, True where there is a word."""
        return torch.arange(self.heads.shape[1], device=self.heads.device) < self.lengths[:, None]

    def to(self, device: torch.device | str) -> Trees:
        return Trees(
            moved(self.heads, device),
            moved(self.relations, device),
            moved(self.lengths, device),
        )


@dataclass(frozen=True)
class Span:
    """A stretch of B texts that run on side by side.

    ids      (B, T) int64, the tokens
    before   (B, T) int64, the token before each; BEGIN before the first of a text
    fresh    whether the texts begin here; otherwise they go on where the span before ended
    """

    ids: Tensor
    before: Tensor
    fresh: bool = True

    def to(self, device: torch.device | str) -> Span:
        return Span(moved(self.ids, device), moved(self.before, device), self.fresh)


@dataclass(frozen=True)
class Forest:
    """A batch of trees in brackets: the nodes of each in post-order, children before parents, padded on the right.

    ids      (B, N) int64, the word of a leaf; PAD for a node with children
    parents  (B, N) int64, the place of the parent in its row; −1 for the root and for padding
    labels   (B, N) int64; UNSEEN where training had no such label, UNLABELLED where there is none, ADDED for a node
             that stands in no text: it was put in so that no node has more than two children
    heights  (B, N) int64, 0 for a leaf, else one more than that of the highest child
    lengths  (B,)   int64
    host     the same on the CPU, where it is known there: how to compute a tree is planned there
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

    def to(self, device: torch.device | str) -> Forest:
        host = self if self.lengths.device.type == "cpu" else self.host
        parts = (self.ids, self.parents, self.labels, self.heights, self.lengths)
        ids, parents, labels, heights, lengths = (moved(part, device) for part in parts)
        return Forest(ids, parents, labels, heights, lengths, host)


@dataclass(frozen=True)
class Batch:
    """Rows put side by side: one collated value per column, by the column's name.

    A text or tags column gives `Tokens`, a stream a `Span`, a document or story `Sentences`, a tree `Trees`, brackets a
    `Forest`, a label column a (B,) int64 tensor, an alignment a (B, T, S) float tensor whose rows sum to one, or to
    zero where a target word is unaligned.

    rows   (B,) the rows' places in their dataset, so that predictions can be put back in order
    cost   the padded cost of the batch, in the unit of its columns (tokens, pixels, frames)
    idle   a stand-in for a process that has no row of a small global batch: its loss must not count
    """

    columns: Mapping[str, Any]
    rows: tuple[int, ...]
    cost: int = field(default=0)
    idle: bool = False

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
        return Batch(columns, self.rows, self.cost, self.idle)
