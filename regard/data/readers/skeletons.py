"""A folder of skeleton files (MSR-Action3D) named aAA_sSS_eEE_skeleton.txt, a row each.

`series` is the name of the file; `action`, `subject` and `episode` are the numbers in its name, without leading zeros.
`data.where: {train: {subject: [1, 3, 5, 7, 9]}, test: {subject: [2, 4, 6, 8, 10]}}` splits the rows so that no person
is in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from regard.data.readers.reader import Reader
from regard.data.readers.row import Row
from regard.data.skeletons import SkeletonName
from regard.errors import RegardError
from regard.parts import register


@register("reader", "skeletons")
class SkeletonsReader(Reader):
    """A folder of skeleton files of MSR-Action3D, a row each."""

    about: ClassVar[str] = "a folder of skeleton files"
    fields: ClassVar[tuple[str, ...]] = ("series", "action", "subject", "episode")
    folder: ClassVar[bool] = True

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
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
                fix="They are named aAA_sSS_eEE_skeleton.txt. Name the folder that contains them.",
            )
        for name, file in sorted(named, key=lambda pair: pair[1].name):
            values = {
                "series": file.name,
                "action": str(name.action),
                "subject": str(name.subject),
                "episode": str(name.episode),
            }
            yield Row(values, file=str(file), folder=str(path))
