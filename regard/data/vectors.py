"""Vectors in time: numbers in the row itself, or files with NumPy arrays, text with a vector per line, or skeletons.

a list           [0.5, -1, 2] or [[1, 2], [3, 4]], as JSON; in a flat list, each number is a vector. Without brackets,
                 as a row holds lists of numbers: 0.5 -1 2, or 1 2; 3 4
an array         .npy, .npz or a data URI: numbers (T, D), or (T, points, coordinates)
a skeleton file  named aAA_sSS_eEE_skeleton.txt (`regard.data.skeletons`)
other text       a vector per line, numbers separated by spaces, tabs, commas or semicolons; a first line without
                 numbers is a header and is skipped
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import numpy as np

from regard.data.arrays import array_from_bytes, array_from_uri, is_array, is_array_uri
from regard.data.contents import Contents, Unreadable, shown
from regard.data.ragged import Array
from regard.data.skeletons import SkeletonName, joints_of

BETWEEN = re.compile(r"[\s,;]+")
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBERS = re.compile(rf"\s*{_NUMBER}(?:(?:\s+|\s*;\s*){_NUMBER})*\s*")


def vectors_of(value: str, contents: Contents) -> Array:
    """(T, D) float64, finite, with T and D at least 1; raises `Unreadable` otherwise."""
    if is_list(value):
        return _of_list(value)
    name = shown(value)
    if is_array_uri(value):
        return _of_array(array_from_uri(value), name)
    content = contents.read(value)
    if is_array(content):
        return _of_array(array_from_bytes(content, name), name)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable(f"{name}, which is neither a numpy array nor a text of numbers") from None
    return joints_of(text, name) if SkeletonName.of(value) else _of_lines(text.splitlines(), name)


def is_list(value: str) -> bool:
    """Whether the value is a list of numbers, not a path."""
    return value.lstrip().startswith("[") or _NUMBERS.fullmatch(value) is not None


def _of_list(value: str) -> Array:
    name = f"is the list {value[:40]!r}"
    try:
        array = np.array(json.loads(value) if value.lstrip().startswith("[") else _bare(value))
    except ValueError:  # not JSON, or vectors of different lengths
        raise Unreadable(
            f"{name}, expected numbers, or lists of equally many numbers: [1, 2] or [[1, 2], [3, 4]]"
        ) from None
    return _of_array(array[:, None] if array.ndim == 1 else array, name)


def _bare(value: str) -> list[float] | list[list[float]]:
    """The numbers of a list without brackets."""
    vectors = [[float(number) for number in vector.split()] for vector in value.split(";")]
    return vectors if len(vectors) > 1 else vectors[0]


def _of_array(array: Array, shown: str) -> Array:
    if not np.issubdtype(array.dtype, np.number) or np.iscomplexobj(array) or array.ndim not in (2, 3):
        raise Unreadable(
            f"{shown}, an array of {array.dtype} with shape {array.shape}, expected numbers (vectors, features)"
        )
    if not array.size:
        raise Unreadable(f"{shown}, a series without vectors: its array has shape {array.shape}")
    return _finite(array.reshape(len(array), -1).astype(np.float64), shown)


def _of_lines(lines: Sequence[str], shown: str) -> Array:
    vectors: list[list[float]] = []
    for number, line in enumerate(lines, start=1):
        cells = BETWEEN.split(line.strip(" \t,;"))
        if cells == [""]:
            continue
        try:
            vector = [float(cell) for cell in cells]
        except ValueError:
            if not vectors and not any(_is_number(cell) for cell in cells):
                continue
            raise Unreadable(
                f"{shown}, whose line {number} is not a vector of numbers: {line[:40]!r}"
            ) from None
        if vectors and len(vector) != len(vectors[0]):
            raise Unreadable(
                f"{shown}, whose line {number} has {len(vector)} numbers, expected {len(vectors[0])} as before"
            )
        vectors.append(vector)
    if not vectors:
        raise Unreadable(f"{shown}, a text without vectors")
    return _finite(np.array(vectors), shown)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _finite(vectors: Array, shown: str) -> Array:
    if not np.isfinite(vectors).all():
        place = int(np.nonzero(~np.isfinite(vectors).all(1))[0][0])
        raise Unreadable(f"{shown}, whose vector {place} (from 0) holds a number that is not finite")
    return vectors
