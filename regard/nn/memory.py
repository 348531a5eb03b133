"""Memory: the output of an encoder, which a decoder attends to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from regard.data.batch import Sentences
from regard.nn.heads import HeadMarginals
from regard.nn.imposed import Imposed
from regard.private import tensor_node

Layout = Literal["line", "grid", "frames", "sentences", "tree", "points", "table", "graph"]
"""The arrangement of the S positions, for figures."""


@tensor_node()
@dataclass(frozen=True)
class Parts:
    """The words of a memory whose positions are sentences, stored without padding to the longest document.

    `memory` lays them out as a memory of words.

    sentences   the sentences of the batch, in buckets
    found       (N_k, L_k, D) vectors of the words of each bucket; `keys`: their keys, if these differ
    weights     (N_k, L_k) attention weight of each word within its sentence; None if no attention pools the
                words
    rows        (B') the selected rows of the batch, in this order; default: all
    """

    sentences: Sentences
    found: Sequence[Tensor]
    keys: Sequence[Tensor] | None = None
    weights: Sequence[Tensor] | None = None
    rows: Tensor | None = None

    def select(self, rows: Tensor) -> Parts:
        return replace(self, rows=rows if self.rows is None else self.rows.index_select(0, rows))

    def memory(self, parent: Memory) -> Memory:
        """A memory (B, W, D) with one position per word. Its `parent` is the memory of sentences, and its
        `parent_index` gives the sentence of each word."""
        places, owners, mask = self._places()
        values = _laid(self.found, places, mask)
        keys = None if self.keys is None else _laid(self.keys, places, mask)
        return Memory(values, mask, parent.summary, keys=keys, parent=parent, parent_index=owners)

    def weights_of_words(self) -> Tensor | None:
        """(B, W) the attention weight of each word of a document within its sentence."""
        if self.weights is None:
            return None
        places, _, mask = self._places()
        return _laid([one.unsqueeze(-1) for one in self.weights], places, mask).squeeze(-1)

    def _places(self) -> tuple[Tensor, Tensor, Tensor]:
        """(B, W) each word's index among the positions of all buckets, its sentence, whether it exists."""
        given = self.sentences
        words, where = given.words, given.places
        steps = [
            torch.arange(len(bucket.ids), device=where.device) * bucket.ids.shape[1]
            for bucket in given.buckets
        ]
        begins, first = [], 0
        for bucket, step in zip(given.buckets, steps, strict=True):
            begins.append(step + first)
            first += bucket.ids.numel()
        starts = torch.cat(begins)[where]  # (N) the first word of each sentence
        document = torch.repeat_interleave(
            torch.arange(len(given.lengths), device=where.device), given.lengths
        )
        counts = words.new_zeros(len(given.lengths)).index_add(0, document, words)  # (B) words
        mask = torch.arange(int(counts.max()), device=where.device) < counts[:, None]
        own = torch.arange(int(words.sum()), device=where.device) - torch.repeat_interleave(
            words.cumsum(0) - words, words
        )
        inside = (
            torch.arange(len(words), device=where.device)
            - (given.lengths.cumsum(0) - given.lengths)[document]
        )
        flat = torch.repeat_interleave(starts, words) + own
        places = torch.zeros_like(mask, dtype=torch.int64).masked_scatter(mask, flat)
        owners = torch.zeros_like(places).masked_scatter(mask, torch.repeat_interleave(inside, words))
        if self.rows is None:
            return places, owners, mask
        return places[self.rows], owners[self.rows], mask[self.rows]


def _laid(found: Sequence[Tensor], places: Tensor, mask: Tensor) -> Tensor:
    """Gather vectors of the buckets, (N_k, L_k, D), at places (B, W): (B, W, D)."""
    flat = torch.cat([one.flatten(0, 1) for one in found])
    return flat[places] * mask.unsqueeze(-1)


@tensor_node()
@dataclass(frozen=True)
class Memory:
    """values (B, S, D), mask (B, S), summary (B, D').

    values    the vectors that attention averages
    mask      True where a position exists
    summary   the whole input in one vector: the last states of a recurrent encoder, the mean of a
              convolutional one
    keys      (B, S, D'') vectors to compare with the query, if they differ from the values
    layout    the arrangement of the positions; `shape` gives rows and columns of a grid
    parent    the coarser memory of these positions (words → sentences); `parent_index` (B, S) is each one's
              place in it
    parts     the finer units of these positions, if any (sentences → words): `parts.memory(self)` is the
              memory of the words, whose parent is this one
    above     (B, S) if the positions are the nodes of a tree in post-order, the index of each one's parent;
              −1: the root
    heads     the head of each position, if the encoder computed soft parents
    points    (B, S, k) float64, the coordinates of positions that are points
    last      (B, state) last state of each layer, if a recurrent encoder passes them on: the output, then
              what the cell carries beside it
    verbatim  (B, S) the key of the word at each position (`regard.data.batch.Verbatim`), if words can be
              copied
    arcs      (B, S, S+1) bool, the heads that each position may have, if arcs are forced or forbidden; 0 is the
              root symbol
    override  what is imposed on the attention weights, by output position
    """

    values: Tensor
    mask: Tensor
    summary: Tensor
    keys: Tensor | None = None
    layout: Layout = "line"
    shape: tuple[int, ...] | None = None
    parent: Memory | None = None
    parent_index: Tensor | None = None
    parts: Parts | None = None
    above: Tensor | None = None
    heads: HeadMarginals | None = None
    arcs: Tensor | None = None
    override: Imposed | None = None
    points: Tensor | None = None
    verbatim: Tensor | None = None
    last: tuple[Tensor, ...] | None = None

    def select(self, rows: Tensor) -> Memory:
        """The memory of some rows of the batch, (B') int64."""

        def pick(value: Tensor | None) -> Tensor | None:
            return None if value is None else value.index_select(0, rows)

        return replace(
            self,
            values=self.values.index_select(0, rows),
            mask=self.mask.index_select(0, rows),
            summary=self.summary.index_select(0, rows),
            keys=pick(self.keys),
            parent=None if self.parent is None else self.parent.select(rows),
            parent_index=pick(self.parent_index),
            parts=None if self.parts is None else self.parts.select(rows),
            above=pick(self.above),
            heads=None if self.heads is None else self.heads.select(rows),
            arcs=pick(self.arcs),
            override=None if self.override is None else self.override.select(rows),
            points=pick(self.points),
            verbatim=pick(self.verbatim),
            last=None if self.last is None else tuple(one.index_select(0, rows) for one in self.last),
        )
