"""Count the values of a field in blocks, or their words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from regard.data.blocks.block import RowBlock
from regard.data.blocks.remembered import Remembered


def counted(
    blocks: Iterable[RowBlock], fields: Sequence[str], *, by_words: bool
) -> Iterator[tuple[str, int]]:
    """The values of some fields with how often they occur; by words, words and the spaces between them.

    What does not fit into memory comes in several parts, so a value may come more than once.
    """
    seen, spaces = Remembered(by_words=by_words), 0
    for block in blocks:
        for _, row in block.odd:
            yield from ((row[field], 1) for field in fields if field in row)
        for field in fields:
            starts, ends = (np.ascontiguousarray(side) for side in block.cells(field))
            done = 0
            while done < len(block):
                before = len(seen)
                found, _, stop = seen.find(block.text, starts, ends, done, stops=True)
                spaces += int(np.count_nonzero(found < 0))
                if stop < len(block):
                    yield from seen.counted()
                    seen.clear()
                if stop == done and not before:  # a single value that is larger than all there is room for
                    yield block.row(done)[field], 1
                    stop += 1
                done = stop
    yield from seen.counted()
    if spaces:
        yield " ", spaces
