"""NLVR (Suhr et al. 2017): statements about drawn images, true or false, one JSON object per line.

    {"sentence": "There is a tower with four blocks.", "label": "true", "identifier": "3125-1", "directory": "2", …}

The images of an example are DIRECTORY/SPLIT-IDENTIFIER-K.png for K = 0 … 5, its six arrangements. SPLIT is the start
of the file name (dev.json: dev). Each arrangement whose image exists becomes a row (`image`, `sentence`, `label`,
`identifier`, `directory`, `arrangement`). If no image exists, one row names the first, so that it is reported as
missing. Rows of one `directory` belong in the same split.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from regard.data.contents import Contents
from regard.data.readers.files import read_lines, without_last_blank_lines
from regard.data.readers.json_values import row_of
from regard.data.readers.jsonl import parse
from regard.data.readers.reader import Reader
from regard.data.readers.row import Row
from regard.parts import register

WRITTEN = ("sentence", "label", "identifier", "directory")
ARRANGEMENTS = 6


@register("reader", "nlvr")
class NlvrReader(Reader):
    """Statements about images, true or false, in the JSON lines of NLVR."""

    about: ClassVar[str] = "an NLVR file"
    fields: ClassVar[tuple[str, ...]] = (
        "image",
        "sentence",
        "label",
        "identifier",
        "directory",
        "arrangement",
    )

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        split, contents = path.name.partition(".")[0], Contents()
        folder = images or str(path.parent)
        for line in without_last_blank_lines(read_lines(path)):
            problem, record = (line.problem, None) if line.problem else parse(line.text)
            lacking = [name for name in WRITTEN if record is not None and name not in record]
            if record is None or lacking:
                problem = problem or f"has no {lacking[0]}"
                yield Row(file=str(path), line=line.number, problem=problem, source=line.text)
                continue
            row = row_of(record, WRITTEN, file=str(path), line=line.number, source=line.text)
            if row.problem:
                yield row
                continue
            for arrangement, image in _images(contents, folder, split, row):
                values = {**row, "image": image, "arrangement": str(arrangement)}
                yield Row({field: values[field] for field in fields}, file=str(path), line=line.number)


def _images(contents: Contents, folder: str, split: str, row: Row) -> list[tuple[int, str]]:
    """The arrangements whose images exist, or the first."""
    names = [
        (arrangement, f"{row['directory']}/{split}-{row['identifier']}-{arrangement}.png")
        for arrangement in range(ARRANGEMENTS)
    ]
    for above in ("", "images/"):
        found = [(number, above + name) for number, name in names if contents.has(f"{folder}/{above}{name}")]
        if found:
            return found
    return names[:1]
