"""The vector of every position of a text in a batch, exchanged or followed by a gradient, whatever reads it.

A position gets an id of its own, beyond the vocabulary; where the network looks it up, it finds the vector of its word,
or a changed one. So a position is known after any packing, and wherever else the same embedding is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.data import Batch
from regard.data.batch import Sentences, Tokens
from regard.nn.embedding import Embedding
from regard.nn.path import without_fast_paths

Change = Callable[[Tensor], Tensor]
"""(N, E) the vectors of the units of a batch → those that are read instead."""


@dataclass(frozen=True)
class Units:
    """The N units of an input of a batch.

    ids        (N,) their ids
    rows       (N,) the row of the batch of each
    positions  (N,) the attention position of each in its row
    marked     the collated input, in which unit n has the id `first` + n
    first      beyond every vocabulary
    """

    ids: Tensor
    rows: Tensor
    positions: Tensor
    marked: Any
    first: int


def units_of(collated: Any, *, words: bool) -> Units | None:
    """The units of a collated text or document; None for anything else. words: positions are words, not sentences."""
    if isinstance(collated, Tokens):
        mask = collated.mask
        rows, positions = mask.nonzero(as_tuple=True)
        first = int(collated.ids.max()) + 1_000_000
        ids = collated.ids.clone()
        ids[mask] = first + torch.arange(len(rows), device=ids.device)
        return Units(collated.ids[mask], rows, positions, replace(collated, ids=ids), first)
    if isinstance(collated, Sentences):
        return _of_sentences(collated, words=words)
    return None


def _of_sentences(collated: Sentences, *, words: bool) -> Units:
    first = 1_000_000 + max((int(bucket.ids.max()) for bucket in collated.buckets), default=0)
    buckets, ids, sentences, begin, number = [], [], [], 0, 0
    for bucket in collated.buckets:
        mask = bucket.mask
        count = int(mask.sum())
        marked = bucket.ids.clone()
        marked[mask] = first + begin + torch.arange(count, device=marked.device)
        buckets.append(replace(bucket, ids=marked))
        ids.append(bucket.ids[mask])
        sentences.append(mask.nonzero(as_tuple=True)[0] + number)
        begin, number = begin + count, number + len(bucket.ids)
    place = torch.argsort(collated.places)  # bucket order → document order
    sentence = place[torch.cat(sentences)]  # (N,) the sentence of each unit, counted over the batch
    documents = torch.repeat_interleave(torch.arange(len(collated.lengths)), collated.lengths.cpu())
    starts = collated.lengths.cpu().cumsum(0) - collated.lengths.cpu()
    rows = documents[sentence.cpu()]
    positions = sentence.cpu() - starts[rows]
    if words:
        order = np.lexsort((np.arange(len(rows)), sentence.cpu().numpy()))
        flat = torch.empty(len(rows), dtype=torch.int64)
        flat[torch.from_numpy(order)] = torch.arange(len(rows))
        counts = torch.bincount(rows, minlength=len(collated.lengths))
        positions = flat - (counts.cumsum(0) - counts)[rows]
    return Units(torch.cat(ids), rows, positions, replace(collated, buckets=tuple(buckets)), first)


@contextmanager
def exchanged(reader: nn.Module, units: Units, change: Change) -> Iterator[list[Tensor]]:
    """The embeddings of a reader find changed vectors for the marked units; yields the vectors, one table for each
    embedding that was asked. Fast paths are off meanwhile: they read the weights themselves."""
    tables: dict[nn.Module, Tensor] = {}
    found: list[Tensor] = []
    asked: dict[nn.Module, Tensor] = {}

    def before(module: Any, given: tuple[Tensor]) -> tuple[Tensor]:
        (ids,) = given
        asked[module] = ids
        marked = ids >= units.first
        own = units.ids[(ids - units.first).clamp(min=0, max=max(len(units.ids) - 1, 0))]
        return (torch.where(marked, own, ids),)

    def after(module: Any, given: tuple[Tensor], vectors: Tensor) -> Tensor:
        ids = asked.pop(module)
        marked = ids >= units.first
        if not bool(marked.any()):
            return vectors
        if module not in tables:
            tables[module] = change(module.weight[units.ids].detach())
            found.append(tables[module])
        read = tables[module][(ids - units.first).clamp(min=0)]
        return torch.where(marked.unsqueeze(-1), read, vectors)

    hooks = []
    for module in reader.modules():
        if isinstance(module, Embedding):
            hooks += [module.register_forward_pre_hook(before), module.register_forward_hook(after)]
    try:
        with without_fast_paths():
            yield found
    finally:
        for hook in hooks:
            hook.remove()


def with_marked(batch: Batch, name: str, units: Units) -> Batch:
    """The batch, with the marked units in one input."""
    return Batch({**batch.columns, name: units.marked}, batch.rows, batch.cost)
