"""IDX files of images and labels, as for MNIST and Fashion-MNIST: "images-idx3-ubyte.gz+labels-idx1-ubyte.gz".

A file starts with two zeros, the type of its numbers (8: unsigned bytes), the number of dimensions, and the size of
each as a big-endian 32-bit number. The numbers follow, the last dimension fastest. A row is an image, as a data URI of
a portable graymap (`image`), with its class number (`label`). Row numbers from 1 replace line numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar

from regard.data.contents import data_uri
from regard.data.readers.files import opened
from regard.data.readers.reader import Reader
from regard.data.readers.row import Row
from regard.errors import RegardError
from regard.parts import register

UNSIGNED_BYTE = 8
GRAYMAP = "image/x-portable-graymap"


@register("reader", "idx")
class IdxReader(Reader):
    """Images and labels in IDX files, as for MNIST and Fashion-MNIST."""

    about: ClassVar[str] = "a pair of IDX files"
    fields: ClassVar[tuple[str, ...]] = ("image", "label")
    several: ClassVar[str] = "IMAGES+LABELS"

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        pictures, labels = files
        with opened(pictures) as image_stream, opened(labels) as label_stream:
            count, height, width = _dimensions(image_stream, 3, pictures)
            (named,) = _dimensions(label_stream, 1, labels)
            if count != named:
                raise RegardError(
                    f"there are {count:,} images, but {named:,} labels in {labels}.", where=str(pictures)
                )
            header = b"P5 %d %d 255\n" % (width, height)
            for number in range(1, count + 1):
                pixels, label = (
                    _exactly(image_stream, height * width, pictures),
                    _exactly(label_stream, 1, labels),
                )
                values = {"image": data_uri(header + pixels, GRAYMAP), "label": str(label[0])}
                yield Row({field: values[field] for field in fields}, file=str(pictures), line=number)


def _dimensions(stream: IO[bytes] | Any, count: int, path: Path) -> tuple[int, ...]:
    start = _exactly(stream, 4, path)
    if start != bytes((0, 0, UNSIGNED_BYTE, count)):
        raise RegardError(
            f"the file begins with {start.hex(' ')}, expected 00 00 08 {count:02x}: bytes in {count} dimensions.",
            where=str(path),
            fix="Name the images first, then the labels: images-idx3-ubyte.gz+labels-idx1-ubyte.gz",
        )
    return struct.unpack(f">{count}I", _exactly(stream, 4 * count, path))


def _exactly(stream: IO[bytes] | Any, count: int, path: Path) -> bytes:
    content: bytes = stream.read(count)
    if len(content) < count:
        raise RegardError("the file is cut short.", where=str(path), fix="Download it again.")
    return content
