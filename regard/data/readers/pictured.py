"""Formats whose rows name pictures: how each is read, and which files beside those named it is read from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from regard.data.readers.coco import read_coco
from regard.data.readers.flickr8k import read_flickr8k, split_files
from regard.data.readers.folder import read_folder
from regard.data.readers.idx import read_idx
from regard.data.readers.im2latex import formulas_of, read_im2latex
from regard.data.readers.nlvr import read_nlvr
from regard.data.readers.opening import find
from regard.data.readers.row import Row
from regard.errors import RegardError

Pictured = Literal["flickr8k", "coco", "nlvr", "im2latex", "folder", "idx"]
PICTURED = ("flickr8k", "coco", "nlvr", "im2latex", "folder", "idx")
SEVERAL = {"im2latex": "LIST+FORMULAS", "idx": "PICTURES+LABELS"}
"""Formats of two files joined with +."""


def pictured_files(path: str, format: str) -> list[Path]:
    """The files of a format that names pictures; a folder for `folder`."""
    if format == "folder":
        return [Path(path)] if Path(path).is_dir() else [find(path)]
    parts = path.split("+") if format in SEVERAL and not Path(path).exists() else [path]
    if format == "im2latex" and len(parts) == 1:
        return [find(path), formulas_of(Path(path))]
    if format in SEVERAL and len(parts) != 2:
        raise RegardError(
            f"format: {format} takes two files, received {len(parts)}.",
            where=path,
            fix=f"Join them with +: {SEVERAL[format]}",
        )
    return [find(part) for part in parts]


def read_pictured(
    format: str, files: Sequence[Path], fields: Sequence[str], images: str | None
) -> Iterator[Row]:
    """The rows; `images` is where their pictures lie, if that was said."""
    if format == "flickr8k":
        return read_flickr8k(files[0], fields)
    if format == "coco":
        return read_coco(files[0], fields)
    if format == "nlvr":
        return read_nlvr(files[0], fields, images)
    if format == "im2latex":
        return read_im2latex(files[0], files[1], fields)
    if format == "idx":
        return read_idx(files[0], files[1], fields)
    return read_folder(files[0], fields)


def pictures_in(format: str | None, files: Sequence[Path], images: str | None) -> str:
    """The folder the rows' pictures are looked for in first; "" where nothing was said: beside the files."""
    return images or (str(files[0]) if format == "folder" else "")


def beside(format: str | None, files: Sequence[Path]) -> list[Path]:
    """Files that are read though nobody named them."""
    return [file for file in split_files(files[0]) if file.is_file()] if format == "flickr8k" else []
