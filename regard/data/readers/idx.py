"""IDX files of pictures and their labels, as MNIST and Fashion-MNIST come: "images-idx3-ubyte.gz+labels-idx1-ubyte.gz".

A file begins with two zeros, the type of its numbers (8: unsigned bytes), how many dimensions there are, and each
of them as a big-endian 32-bit number; the numbers follow, the last dimension fastest. A row is a picture, as a data
URI of a portable graymap (`image`), with its class as a number (`label`); rows are numbered from 1 in place of
lines.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from regard.data.contents import data_uri
from regard.data.readers.known import refuse_strangers
from regard.data.readers.opening import opened
from regard.data.readers.row import Row
from regard.errors import RegardError

FIELDS = ("image", "label")
UNSIGNED_BYTE = 8
GRAYMAP = "image/x-portable-graymap"


def read_idx(images: Path, labels: Path, fields: Sequence[str]) -> Iterator[Row]:
    refuse_strangers("a pair of IDX files", FIELDS, fields, images)
    with opened(images) as pictures, opened(labels) as classes:
        count, height, width = _dimensions(pictures, 3, images)
        (named,) = _dimensions(classes, 1, labels)
        if count != named:
            raise RegardError(
                f"there are {count:,} pictures, but {named:,} labels in {labels}.", where=str(images)
            )
        header = b"P5 %d %d 255\n" % (width, height)
        for number in range(1, count + 1):
            pixels, label = _exactly(pictures, height * width, images), _exactly(classes, 1, labels)
            values = {"image": data_uri(header + pixels, GRAYMAP), "label": str(label[0])}
            yield Row({field: values[field] for field in fields}, file=str(images), line=number)


def _dimensions(stream: IO[bytes] | Any, count: int, path: Path) -> tuple[int, ...]:
    start = _exactly(stream, 4, path)
    if start != bytes((0, 0, UNSIGNED_BYTE, count)):
        raise RegardError(
            f"the file begins with {start.hex(' ')}, expected 00 00 08 {count:02x}: bytes in {count} dimensions.",
            where=str(path),
            fix="Name the pictures first, then the labels: images-idx3-ubyte.gz+labels-idx1-ubyte.gz",
        )
    return struct.unpack(f">{count}I", _exactly(stream, 4 * count, path))


def _exactly(stream: IO[bytes] | Any, count: int, path: Path) -> bytes:
    content: bytes = stream.read(count)
    if len(content) < count:
        raise RegardError("the file is cut short.", where=str(path), fix="Fetch it again.")
    return content
