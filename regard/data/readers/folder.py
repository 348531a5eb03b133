"""Images in folders: the top-level folder of an image is its class.

    pictures/cat/1.png      image cat/1.png, label cat
    pictures/dog/a/7.jpg    image dog/a/7.jpg, label dog

`image` is the path within the folder, `label` the class; an image in no subfolder has no label. The folder may be a
zip archive. Hidden files and files with other extensions are skipped.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from regard.data.readers.reader import Reader, Sides
from regard.data.readers.row import Row
from regard.errors import RegardError
from regard.parts import register

ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm", ".pgm")


@register("reader", "folder")
class FolderReader(Reader):
    """Images in one folder per class; the whole may be a zip archive."""

    about: ClassVar[str] = "a folder of images"
    fields: ClassVar[tuple[str, ...]] = ("image", "label")
    folder: ClassVar[bool] = True
    recognized_in: ClassVar[tuple[str, ...] | None] = ("folder",)

    @classmethod
    def recognizes(cls, path: Path) -> bool:
        """Whether images lie in at least two folders of a folder, or of an archive."""
        return has_classes(path, ENDINGS)

    def sides(self, files: Sequence[Path]) -> Sides | None:
        return Sides("image", "label", {"image": {"type": "image"}, "label": {"type": "label"}})

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        names = picture_names(path)
        if not names:
            raise RegardError(
                f"there are no images here ({', '.join(ENDINGS)}).",
                where=str(path),
                fix="Put them into one folder for each class.",
            )
        for name in names:
            folder, slash, _ = name.partition("/")
            values = {"image": name} | ({"label": folder} if slash else {})
            yield Row({field: values[field] for field in fields if field in values}, file=str(path / name))

    def images_in(self, files: Sequence[Path]) -> str:
        return str(files[0])

    def listed(self, folder: Path) -> list[str]:
        return picture_names(folder)


def picture_names(path: Path) -> list[str]:
    """Paths of the images in a folder or an archive, sorted, with / as the separator."""
    return names_below(path, ENDINGS)


def names_below(path: Path, endings: tuple[str, ...]) -> list[str]:
    """Paths of the files with such extensions in a folder or an archive, sorted, with / as the separator."""
    every = _below(path) if path.is_dir() else _packed(path)
    return sorted(name for name in every if name.lower().endswith(endings) and not _hidden(name))


def has_classes(path: Path, endings: tuple[str, ...]) -> bool:
    """Whether files with such extensions lie in at least two folders of a folder or a zip archive."""
    if not path.is_dir() and not (path.is_file() and zipfile.is_zipfile(path)):
        return False
    return len({name.partition("/")[0] for name in names_below(path, endings) if "/" in name}) > 1


def _below(path: Path) -> list[str]:
    return [
        (Path(folder) / name).relative_to(path).as_posix()
        for folder, _, names in os.walk(path)
        for name in names
    ]


def _packed(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (OSError, zipfile.BadZipFile) as error:
        raise RegardError(
            f"this is neither a folder nor a zip archive ({error}).", where=str(path)
        ) from error


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))
