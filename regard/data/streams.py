"""Batches of continuous text: parallel streams, read span by span."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from regard.data.batch import BEGIN, Batch
from regard.data.batches import idle
from regard.data.cache import released
from regard.data.columns.stream import span as as_span
from regard.data.dataset import Dataset
from regard.errors import RegardError

KEPT = 1024
"""Number of spans to keep in memory if the text is memory-mapped."""


class StreamBatches:
    """The spans of an epoch; every epoch has the same.

    The text of n tokens is cut into `rows` parallel streams of ⌊n / rows⌋ tokens, which are read `span` tokens at a
    time. Every token is predicted from the preceding one, and the very first from BEGIN. The remainder of fewer than
    `rows` tokens at the end is dropped; with one row nothing is dropped.

    carry        whether a span continues the previous one; False: each span starts anew
    world_size   number of processes that share the rows: rank r takes rows r, r + world_size, …
    """

    def __init__(
        self, dataset: Dataset, *, rows: int, span: int, carry: bool = True, world_size: int = 1
    ) -> None:
        (self.name,) = dataset.columns
        self.tokens = dataset.stream(self.name)
        self.dataset, self.rows, self.span = dataset, rows, span
        self.carry, self.world_size = carry, world_size
        self.length = len(self.tokens) // rows
        if not self.length:
            raise RegardError(
                f"the text has {len(self.tokens):,} tokens, fewer than the {rows:,} rows of a batch.",
                where=dataset.where(0),
                fix="Use a longer text, or a smaller training.batch_rows.",
            )

    def refuse_short(self) -> None:
        """Refuse a training text that is shorter than one batch."""
        needed = self.rows * self.span
        if len(self.tokens) < needed:
            raise RegardError(
                f"the text has {len(self.tokens):,} tokens; {self.rows} rows of {self.span} tokens need {needed:,}.",
                where=self.dataset.where(0),
                fix="Use a longer text, or a smaller training.batch_rows or training.span.",
            )

    def __len__(self) -> int:
        return -(-self.length // self.span)

    def __iter__(self) -> Iterator[Batch]:
        return self.epoch(0)

    def epoch(self, epoch: int, start: int = 0, *, rank: int = 0) -> Iterator[Batch]:
        """The spans from number `start` on."""
        mine = np.arange(rank, self.rows, self.world_size)
        unused = not len(mine)
        firsts = (mine if len(mine) else np.zeros(1, np.int64)) * self.length
        for number in range(start, len(self)):
            low = number * self.span
            width = min(self.span, self.length - low)
            places = firsts + low  # (B,)
            ids = np.stack([self.tokens[place : place + width] for place in places.tolist()])
            before = np.where(places > 0, self.tokens[np.maximum(places - 1, 0)], BEGIN)
            fresh = number == 0 or not self.carry
            one = as_span(ids.astype(np.int64), before.astype(np.int64), fresh=fresh)
            batch = Batch({self.name: one}, self.dataset.rows_of(self.name, places), ids.size)
            if number % KEPT == KEPT - 1:
                released(self.tokens)
            yield idle(batch) if unused else batch
