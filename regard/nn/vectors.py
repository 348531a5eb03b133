"""Pretrained word vectors from a text file."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from regard.data.columns import TextColumn
from regard.data.readers.files import find, opened
from regard.errors import RegardError


def read_vectors(path: str, column: TextColumn, size: int) -> Tensor:
    """(V, size): the file's vectors for the units it knows, small random ones for the others.

    Each line holds a unit and its numbers, separated by spaces (GloVe). A first line of two numbers
    (word2vec) is skipped.
    """
    vectors: Tensor = torch.randn(column.size, size) * size**-0.5
    ids = {column.vocabulary.piece(number): number for number in range(4, column.size)}
    found = 0
    with opened(find(path)) as lines:
        for number, line in enumerate(lines, 1):
            unit, _, rest = line.decode("utf-8", errors="replace").rstrip("\n").partition(" ")
            if number == 1 and len(rest.split()) == 1:
                continue
            if unit not in ids:
                continue
            vectors[ids[unit]] = _numbers(rest, size, f"{path}:{number}")
            found += 1
    if not found:
        raise RegardError(
            f"none of the {column.size - 4:,} units of {column.name} has a vector here.",
            where=path,
            fix="Check that the file is for this language, and that case and unit agree.",
        )
    return vectors


def _numbers(text: str, size: int, where: str) -> Tensor:
    cells = text.split()
    if len(cells) != size:
        raise RegardError(
            f"expected {size} numbers after the unit, received {len(cells)}.",
            where=where,
            fix=f"Set embedding: {len(cells)}." if cells else "",
        )
    try:
        values = [float(cell) for cell in cells]
    except ValueError:
        raise RegardError("not all cells after the unit are numbers.", where=where) from None
    if not all(math.isfinite(value) for value in values):
        raise RegardError("a number is infinite or not a number.", where=where)
    return torch.tensor(values)
