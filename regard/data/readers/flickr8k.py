"""Captions in the format of Flickr8k (Hodosh et al. 2013) and Flickr30k: five per image, one per line.

    1000268201_693b08cb0e.jpg#0 <tab> A child in a pink dress is climbing up a set of stairs .

A tab or @ separates name and caption. A row is a caption: the name of the image (`image`), the text (`caption`), the
number of the caption (`number`), and the split of the image (`split`). Splits are read from files beside the captions:
available_images.tsv (name, tab, split), or the lists Flickr_8k.trainImages.txt, .devImages.txt and .testImages.txt.
An image in none of these has no split.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from regard.data.readers.files import read_lines, without_last_blank_lines
from regard.data.readers.reader import Reader
from regard.data.readers.row import Row
from regard.errors import RegardError
from regard.parts import register

TABLE = "available_images.tsv"
LISTS = {part: f"Flickr_8k.{part}Images.txt" for part in ("train", "dev", "test")}

_LINE = re.compile(r"(?P<image>[^\t]+?)#(?P<number>\d+)[\t@](?P<caption>.*)")


@register("reader", "flickr8k")
class Flickr8kReader(Reader):
    """Image captions in the format of Flickr8k and Flickr30k."""

    about: ClassVar[str] = "a Flickr8k caption file"
    fields: ClassVar[tuple[str, ...]] = ("image", "caption", "split", "number")

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        splits = read_splits(path) if "split" in fields else {}
        for line in without_last_blank_lines(read_lines(path)):
            found = _LINE.fullmatch(line.text)
            if line.problem or found is None:
                problem = line.problem or "is not a caption such as  picture.jpg#0 <tab> A dog runs ."
                yield Row(file=str(path), line=line.number, problem=problem, source=line.text)
                continue
            values = found.groupdict()
            if values["image"] in splits:
                values["split"] = splits[values["image"]]
            yield Row(
                {field: values[field] for field in fields if field in values},
                file=str(path),
                line=line.number,
            )

    def beside(self, files: Sequence[Path]) -> list[Path]:
        return [file for file in split_files(files[0]) if file.is_file()]


def split_files(path: Path) -> list[Path]:
    """The files beside the captions that assign images to splits."""
    table = path.parent / TABLE
    return [table] if table.is_file() else [path.parent / name for name in LISTS.values()]


def read_splits(path: Path) -> dict[str, str]:
    """Image → its split."""
    files = split_files(path)
    if not all(file.is_file() for file in files):
        missing = next(file for file in files if not file.is_file())
        raise RegardError(
            f"the column split needs the splits of the images, but neither {TABLE} nor {missing.name} exists.",
            where=str(path.parent),
            fix=f"Write {TABLE} (image, tab, split) beside the captions, or do not read split.",
        )
    if len(files) == 1:
        pairs = (line.text.partition("\t") for line in read_lines(files[0]))
        return {image.strip(): part.strip() for image, _, part in pairs}
    return {
        line.text.strip(): part
        for part, file in zip(LISTS, files, strict=True)
        for line in read_lines(file)
        if line.text.strip()
    }
