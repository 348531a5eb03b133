"""A folder of skeleton files (MSR-Action3D), named aAA_sSS_eEE_skeleton.txt: a row for each.

`series` is the file in that folder; `action`, `subject` and `episode` are the numbers in its name, without leading
zeros: with
`data.where: {train: {subject: [1, 3, 5, 7, 9]}, test: {subject: [2, 4, 6, 8, 10]}}` no person is in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.data.readers.known import refuse_strangers
from regard.data.readers.row import Row
from regard.data.skeletons import SkeletonName
from regard.errors import RegardError

FIELDS = ("series", "action", "subject", "episode")


def read_skeletons(path: Path, fields: Sequence[str]) -> Iterator[Row]:
    refuse_strangers("a folder of skeleton files", FIELDS, fields, path)
    if not path.is_dir():
        raise RegardError(
            "expected a folder of skeleton files, received a file.",
            where=str(path),
            fix="Unpack it first: tar xf",
        )
    named = [(name, file) for file in path.iterdir() if (name := SkeletonName.of(file.name)) is not None]
    if not named:
        raise RegardError(
            "the folder has no skeleton files.",
            where=str(path),
            fix="They are named aAA_sSS_eEE_skeleton.txt: name the folder in which they lie.",
        )
    for name, file in sorted(named, key=lambda pair: pair[1].name):
        values = {
            "series": file.name,
            "action": str(name.action),
            "subject": str(name.subject),
            "episode": str(name.episode),
        }
        yield Row(values, file=str(file), folder=str(path))
