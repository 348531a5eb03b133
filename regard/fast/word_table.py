"""What each word of a vocabulary adds to the gates of a cell: W e(y) + b of every word y, as a table.

It replaces a product for every word that is read. It is made when as many words were read as the vocabulary has: from
then on it has saved more than it took.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from regard.fast.changes import RememberedWeights

LARGEST = 2**25
"""Numbers of a table: 128 MB."""
SOME = 4
"""If so many times as many words as are read are fewer than the vocabulary, their vectors are compared, not all."""


class WordTable:
    """The table of one embedding and one layer. Whoever keeps it makes another one when the layer's weights change."""

    def __init__(self) -> None:
        self._read, self._vectors, self._table = 0, torch.empty(0), torch.empty(0)
        self._seen: RememberedWeights | None = None

    def of(
        self,
        embedding: Tensor,
        width: int,
        make: Callable[[], Tensor],
        count: int,
        words: Tensor | None = None,
    ) -> Tensor | None:
        """The table (V, width), of which `count` rows will be read; None while it is not worth its price.

        embedding   (V, E)   make: computes the table   words: the rows that will be read, if they are known
        """
        self._read += count
        if self._read < len(embedding) or len(embedding) * width > LARGEST:
            return None
        if not self._still(embedding, words):
            with torch.inference_mode():
                self._table = make()
                self._vectors = embedding.detach().clone()
            self._seen = RememberedWeights([embedding])
        return self._table

    def _still(self, embedding: Tensor, words: Tensor | None) -> bool:
        """Whether the table holds what the words add now."""
        if self._seen is None:
            return False
        if words is None or SOME * len(words) > len(embedding):
            return self._seen.still([embedding])
        if self._vectors.shape != embedding.shape or self._vectors.dtype != embedding.dtype:
            return False
        now, then = (
            one.index_select(0, words).view(torch.int32) for one in (embedding.detach(), self._vectors)
        )
        return torch.equal(now, then)
