"""What a job reads: files in their order, and the share of one shard."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from regard.data.remote import matching, url_of
from regard.data.remote.copies import size_of
from regard.errors import Option, RegardError
from regard.storage.files import is_remote

_PATTERN = re.compile(r"[*?\[]")
MANY = 8
"""Files for each shard from which a shard takes whole files. With fewer it takes every n-th part of each."""


class ShardSource(NamedTuple):
    """A file, or a folder of images: its name, and its size in bytes."""

    name: str
    size: int


@dataclass(frozen=True)
class Shard:
    """Shard `number` of `count`, from 0."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """ "2/8" → the second of eight."""
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise RegardError(
                f"expected NUMBER/COUNT, as in 2/8, received {text!r}.",
                where=Option("shard"),
                fix="The first of eight shards is 1/8, the last one 8/8.",
            )
        return cls(int(found[1]) - 1, int(found[2]))

    def takes_file(self, file: int, files: int) -> bool:
        """Whether it reads a file at all."""
        return files < MANY * self.count or file % self.count == self.number

    def takes(self, file: int, part: int, files: int) -> bool:
        """Whether a part of a file belongs to it."""
        if files >= MANY * self.count:
            return file % self.count == self.number
        return (file + part) % self.count == self.number


def is_pattern(name: str) -> bool:
    return _PATTERN.search(name) is not None and not os.path.exists(name)


def sources(names: Sequence[str]) -> list[ShardSource]:
    """The files that names and patterns stand for: patterns in the order of the names, each file once."""
    found: dict[str, ShardSource] = {}
    for name in names:
        some = _matched(name) if is_pattern(name) else [_single(name)]
        if not some:
            raise RegardError(
                "no file matches.", where=name, fix="Correct the pattern, and put it in quotes."
            )
        for one in some:
            if one.name in found:
                raise RegardError("this file is named twice.", where=one.name, fix="Name each file once.")
            found[one.name] = one
    return list(found.values())


def _matched(pattern: str) -> list[ShardSource]:
    if is_remote(pattern):
        return [ShardSource(name, size) for name, size in matching(pattern).items()]
    names = sorted(glob.glob(os.path.expanduser(pattern), recursive=True))
    return [ShardSource(name, os.path.getsize(name)) for name in names if os.path.isfile(name)]


def _single(name: str) -> ShardSource:
    if is_remote(name):
        return ShardSource(url_of(name), size_of(name))
    path = Path(name).expanduser()
    if not path.exists():
        from regard.data.readers.files import find

        find(path)  # says what is wrong
    return ShardSource(str(path), path.stat().st_size if path.is_file() else 0)
