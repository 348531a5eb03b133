"""The files that a command writes: -o, --json, --plot, --predictions.

An existing file is replaced if regard wrote it and it has not changed since. Any other file is kept, unless --overwrite
is given. The files that regard wrote are recorded in the user's cache folder, by size, modification time and inode
number.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from regard.errors import RegardError
from regard.reporting.terminal import TerminalText
from regard.storage.files import check_apart, read_json, replacing, write_text

if TYPE_CHECKING:
    from regard.model import Model

STANDARD = Path("-")
"""Stands for standard output or standard input in place of a file."""
RECORD = "written.json"
MOST = 4096
"""Maximum number of recorded files; older ones need --overwrite."""

Stamp = list[int]
"""Size, modification time and inode number of a file."""


@contextmanager
def outputs(
    files: Mapping[str, Path | None], *, read: Iterable[str | Path | None] = (), overwrite: bool
) -> Iterator[None]:
    """Check in advance that files may be written, and afterwards record those that were.

    files   {option: the file it names}
    read    files that the command reads, which no option may overwrite
    """
    check_apart(files, read)
    paths = {path: option for option, path in files.items() if path is not None and path != STANDARD}
    if len({os.path.realpath(path) for path in paths}) < sum(path in paths for path in files.values()):
        options = " and ".join(option for option, path in files.items() if path in paths)
        raise RegardError(
            "both options name the same file.", where=options, fix="Choose another name for one."
        )
    before = {path: _stamp(path) for path in paths}
    known = {} if overwrite or not any(before.values()) else _recorded()
    for path, there in before.items():
        if there is not None and not overwrite and known.get(_key(path)) != there:
            raise RegardError(
                "there is a file of this name that regard did not write, or that was changed since.",
                where=f"{paths[path]} {path}",
                fix="Choose another name, or pass `--overwrite` to replace it.",
            )
    try:
        yield
    finally:
        after = {path: _stamp(path) for path in paths}
        made = {_key(path): now for path, now in after.items() if now is not None and now != before[path]}
        if made:
            _record(made)


@contextmanager
def written(path: Path | None) -> Iterator[IO[str]]:
    """Standard output (None or `-`), or a file that is written atomically."""
    if path is None or path == STANDARD:
        yield cast(IO[str], TerminalText(sys.stdout))
        return
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        yield stream


def write_output(path: Path, text: str) -> None:
    """Write a text to a file, or to standard output for `-`."""
    with written(path) as stream:
        stream.write(text)


def refuse_output_as_file(model: Model, file: Path | None) -> None:
    """--output names a file; of a model with several outputs, the name of one of them was meant for --of."""
    if len(model.spec.outputs) > 1 and str(file) in model.spec.outputs:
        raise RegardError(
            f"this is the file to write, and {str(file)!r} is an output of the model.",
            where=f"--output {file}",
            fix=f"Use --of {file}, or give the file another name, such as {file}.txt",
        )


def file_of(output: Path, name: str, names: Sequence[str]) -> Path:
    """The file for one of several outputs of a model: `figure-NAME.svg`."""
    return output if len(names) == 1 else output.with_stem(f"{output.stem}-{name}")


def _stamp(path: Path) -> Stamp | None:
    """The stamp by which a change of the file is noticed; None if the file does not exist or is not a regular file."""
    try:
        found = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISLNK(found.st_mode):
        return None  # a folder or a device is refused on writing
    return [found.st_size, found.st_mtime_ns, found.st_ino]


def _key(path: Path) -> str:
    """A digest of the path: file names are private."""
    return hashlib.blake2b(os.path.abspath(path).encode(errors="surrogateescape"), digest_size=16).hexdigest()


def _file() -> Path:
    from regard.storage.files import cache_folder

    return cache_folder() / RECORD


def _recorded() -> dict[str, Stamp]:
    with suppress(OSError, ValueError):
        found = read_json(_file())
        if isinstance(found, dict):
            return found
    return {}


def _record(made: dict[str, Stamp]) -> None:
    kept = {key: stamp for key, stamp in _recorded().items() if key not in made} | made
    with suppress(OSError, RegardError):  # without a cache folder, --overwrite is needed the next time
        write_text(_file(), json.dumps(dict(list(kept.items())[-MOST:])))
