"""What each word of a vocabulary adds to the gates of a cell: W e(y) + b of every word y, as a table.

It replaces a product for every word that is read. It is made when as many words were read as the vocabulary has: from
then on it has saved more than it took.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

LARGEST = 2**25
"""Numbers of a table: 128 MB."""


class WordTable:
    """The table of one embedding and one layer. Whoever keeps it makes another one when the layer's weights change."""

    def __init__(self) -> None:
        self._read, self._digest, self._table = 0, None, torch.empty(0)

    def of(self, embedding: Tensor, width: int, make: Callable[[], Tensor], count: int) -> Tensor | None:
        """The table (V, width), of which `count` rows will be read; None while it is not worth its price.

        embedding   (V, E)   make: computes the table
        """
        from regard.fast.cpu.layout import digest

        self._read += count
        if self._read < len(embedding) or len(embedding) * width > LARGEST:
            return None
        now: Any = digest([embedding])
        if self._digest != now:
            with torch.inference_mode():
                self._table = make()
            self._digest = now
        return self._table
