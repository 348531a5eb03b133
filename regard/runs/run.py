"""The folder of a run: locked during training, and replaced only when the new run has a checkpoint.

A run that overwrites another one is written to RUN/.regard-next. After its first checkpoint it moves into RUN
and continues there. Until then the old run stays as it was, and a new run that fails or is killed leaves it
untouched. The move can be interrupted at any point: RUN/manifest.json lists the files that are moving, and
the next start or resumption completes it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from regard.errors import OPEN, Message, Option, Placeholder, RegardError, Setting, ShellCommand, Together
from regard.spec.spec import nearest_run
from regard.storage import manifest
from regard.storage.files import Lock, naming, sweep, write_text
from regard.storage.manifest import MANIFEST, RUN_FILES, STATE_FILE, Manifest
from regard.training.machine import process_rank

LOCK, NEXT = ".regard.lock", ".regard-next"
LONGEST_WAIT = 60.0
MOST_NAMED = 3
WEIGHTS = "model.safetensors"
SIGNS = ("spec.yaml", WEIGHTS, STATE_FILE)
"""Any of these files makes a folder the folder of a run."""
ANEW, ELSEWHERE = Option("overwrite", True), Option("run", OPEN)
"""Remedies for a folder that already contains a run."""


class RunFolder:
    """The folder of a run, and the folder to which it is written until its first checkpoint.

    path   the folder that the user named
    work   the folder that contains the files of this run now: `path`, or a subfolder until the run replaces
           an older one

    If several processes train together, only the first holds the lock and writes.
    """

    def __init__(self, path: Path, *, work: Path | None = None) -> None:
        self.path, self.work = path, work or path
        self._lock: Lock | None = None
        self._made: list[Path] = []
        self._before: tuple[Manifest, list[str]] | None = None

    @classmethod
    def start(cls, path: str | Path, *, overwrite: bool = False) -> RunFolder:
        """A folder for a new run: missing, empty, or written by regard. Raises an error instead of replacing
        a run without `overwrite`, or mixing a run with other files."""
        folder = cls(Path(path).expanduser())
        if process_rank() == 0:
            if not (folder.path / LOCK).exists():
                folder._check(overwrite=overwrite)  # before anything is written
            folder._take_lock(lambda: folder._check(overwrite=overwrite))
        if overwrite and contains_run(folder.path):
            folder.work = folder.path / NEXT
        return folder

    @classmethod
    def start_beside(cls, path: str | Path) -> RunFolder:
        """A folder for a new run: this one, or NAME-2, NAME-3, … if it already contains a run."""
        wanted = Path(path).expanduser()
        for number in count(1):
            folder = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
            if contains_run(folder):
                continue
            try:
                return cls.start(folder)
            except RegardError:
                if not contains_run(folder) and not (folder / LOCK).exists():
                    raise
        raise AssertionError("there is always a next number")

    @classmethod
    def resume(cls, path: str | Path) -> RunFolder:
        """The folder of a run that has a checkpoint."""
        folder = cls(Path(path).expanduser())
        if process_rank() == 0:
            if not (folder.path / LOCK).exists():
                folder._check_resumable()
            folder._take_lock(folder._check_resumable)
        else:
            _wait_for_recovery(folder.path)
        return folder

    def prepare(self, inputs: Iterable[str] = (), loggers: Iterable[Any] = ()) -> None:
        """Claim the names of the run's files before the first is written.

        inputs    its training files
        loggers   the options of its loggers, which declare further files
        """
        own = manifest.read(self.path).present(self.path)
        used = [name for name in own if manifest.is_data(name) and _among(self.path / name, inputs)]
        logged = [entry for one in loggers for entry in one.part.files]
        manifest.check_free(self.path, logged)  # a run that replaces another moves its files there
        manifest.claim(self.work, (*RUN_FILES, *logged, *used))

    def add_rows(self, text: str, name: str = "pairs") -> Path:
        """Write rows given in Python as JSON lines into the folder, so that the run can be resumed and
        evaluated again. Rows of other runs stay."""
        names = manifest.present(self.path, [f"{name}.jsonl", f"{name}-[0-9]*.jsonl"])
        for known in names:
            if manifest.read(self.path).owns(known) and _text_of(self.path / known) == text:
                return (self.path / known).absolute()
        number = next(n for n in range(1, len(names) + 2) if _rows_name(name, n) not in names)
        path = self.path / _rows_name(name, number)
        manifest.claim(self.path, [path.name])
        write_text(path, text)
        return path.absolute()

    def settle(self) -> Path:
        """Called after the first checkpoint: the run replaces the one that it overwrites."""
        if self.work != self.path and process_rank() == 0:
            _move_in(self.path)
        self.work = self.path
        return self.path

    def close(self) -> None:
        """Release the lock. A new run without a checkpoint leaves the folder as it was."""
        if self._lock is None:
            return
        with suppress(
            OSError, RegardError
        ):  # the cause of the failure, for example a full disk, must be reported instead
            if self.work != self.path and not _has_checkpoint(self.path):
                _discard(self.path / NEXT)
                self._withdraw()
            elif self.work == self.path and not _has_weights(self.path):
                self._withdraw()
        self._lock.release()
        self._lock = None
        self._remove_made()

    def _take_lock(self, check: Callable[[], None]) -> None:
        missing = [part for part in (self.path, *self.path.parents) if not part.exists()]
        with naming(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            self._made = missing
            try:
                self._lock = Lock(self.path, LOCK)
            except BaseException:
                self._remove_made()
                raise
        try:
            recover(self.path)
            listed = manifest.read(self.path)
            self._before = listed, listed.present(self.path)
            check()  # again, because another process may have changed the folder
        except BaseException:
            self.close()
            raise

    def _check(self, *, overwrite: bool) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise RegardError(
                "this is a file, expected a folder for the run.",
                where=str(self.path),
                fix=Message("Choose another folder with `", ELSEWHERE, "`."),
            )
        manifest.refuse_links(self.path, (NEXT,))
        if contains_run(self.path) and not overwrite:
            resume = ShellCommand("train", options={"resume": self.path})
            going_on = ("continue it with `", resume, "`, ") if _is_resumable(self.path) else ()
            raise RegardError(
                "this folder already contains a run.",
                where=str(self.path),
                fix=Message(
                    "Pass `", ANEW, "`, ", *going_on, "or choose another folder with `", ELSEWHERE, "`."
                ),
            )
        manifest.check_free(self.path, RUN_FILES)
        if others := _others(self.path):
            raise RegardError(
                f"this folder contains other files and no run: {others}.",
                where=str(self.path),
                fix=Message(
                    "Choose another folder with `", ELSEWHERE, f"`, a new or empty one: {self.path / 'run'}"
                ),
            )

    def _check_resumable(self) -> None:
        if not contains_run(self.path) or not (self.path / "spec.yaml").is_file():
            near = None if self.path.exists() else nearest_run(self.path)
            raise RegardError(
                "there is no run here: regard has written no spec.yaml into this folder.",
                where=str(self.path),
                fix="Name the folder of a run to resume." if near is None else f"Did you mean {near}?",
            )
        manifest.refuse_links(self.path, (NEXT,))
        if not _is_resumable(self.path):
            start = Setting("training.start_from", str(self.path)), Option("run", Placeholder("NEW"))
            weights = ("`, or start a new run from its weights: `", Together(*start))
            raise RegardError(
                f"this run cannot be resumed: {STATE_FILE} is missing.",
                where=str(self.path),
                fix=Message(
                    "Train it anew with `", ANEW, *(weights if _has_weights(self.path) else ()), "`."
                ),
            )

    def _withdraw(self) -> None:
        """Remove the files of a failed run, and restore the manifest that was there before it."""
        if self._before is None:
            return
        listed, (before, names) = manifest.read(self.path), self._before
        manifest.remove(self.path, listed, [name for name in listed.present(self.path) if name not in names])
        if not before.files:
            (self.path / MANIFEST).unlink(missing_ok=True)
        elif listed != before:
            manifest.write(self.path, before)

    def _remove_made(self) -> None:
        """Remove the folders that were created for a run that wrote nothing."""
        for folder in self._made:
            with suppress(OSError):  # not empty
                folder.rmdir()
        self._made = []


def contains_run(path: Path) -> bool:
    """Whether regard has written a run, or a model, into this folder."""
    listed = manifest.read(path)
    return any(listed.owns(name) and (path / name).is_file() for name in SIGNS)


def _others(path: Path) -> str:
    """The first names of foreign files in a folder; empty if regard has written there before. Hidden files do
    not count: systems and editors leave them in folders that look empty."""
    if not path.is_dir() or manifest.read(path).files:
        return ""
    names = sorted(entry.name for entry in path.iterdir() if not entry.name.startswith("."))
    return ", ".join([*names[:MOST_NAMED], *(["…"] if len(names) > MOST_NAMED else [])])


def recover(path: Path) -> None:
    """Complete the work of a killed process: move in a new run with a checkpoint, remove one without."""
    if _has_checkpoint(path):
        _move_in(path)
    elif (path / NEXT).is_dir():
        _discard(path / NEXT)


def _has_checkpoint(path: Path) -> bool:
    """Whether a new run in path/NEXT has a checkpoint: then it is kept, and may be partly moved."""
    return bool(manifest.read(path).moving) or (path / NEXT / STATE_FILE).is_file()


def _is_resumable(path: Path) -> bool:
    return _has_checkpoint(path) or (path / STATE_FILE).is_file()


def _has_weights(path: Path) -> bool:
    return any((path / name).is_file() for name in (WEIGHTS, STATE_FILE))


def _wait_for_recovery(path: Path) -> None:
    """Wait, in the other processes of a training, until the first has completed `recover`."""
    end = time.monotonic() + LONGEST_WAIT
    while _has_checkpoint(path) and time.monotonic() < end:
        time.sleep(0.05)


def _move_in(path: Path) -> None:
    """Replace the run in `path` by the one in path/NEXT. Every step can be repeated after a kill."""
    old, new = manifest.read(path), manifest.read(path / NEXT)
    if not old.moving:
        # the state comes last, because it makes the folder resumable
        moving = sorted(new.present(path / NEXT), key=lambda name: name == STATE_FILE)
        files = tuple(dict.fromkeys((*old.files, *new.files)))
        old = Manifest(files, tuple(dict.fromkeys((*old.folders, *new.folders))), tuple(moving))
        manifest.write(path, old)
    kept = {*old.moving, *(name for name in new.files if manifest.is_data(name))}
    manifest.remove(path, old, [name for name in old.present(path) if name not in kept])
    for name in old.moving:
        with naming(path / name):
            if (path / NEXT / name).is_file():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(path / NEXT / name, path / name)
    manifest.write(path, Manifest(new.files or old.files, old.folders))
    _discard(path / NEXT)


def _discard(folder: Path) -> None:
    """Remove a run without a checkpoint, or the empty folder of a run that was moved."""
    if not folder.is_dir():
        return
    listed = manifest.read(folder)
    for name in ("", *manifest.folders()):
        sweep(folder / name)
    manifest.remove(folder, listed, listed.present(folder))
    (folder / MANIFEST).unlink(missing_ok=True)
    with suppress(OSError):  # not empty: it contains other files
        folder.rmdir()


def _among(path: Path, inputs: Iterable[str]) -> bool:
    parts = [Path(part) for name in inputs for part in (name, *name.split("+"))]
    return any(part.exists() and part.samefile(path) for part in parts)


def _rows_name(name: str, number: int) -> str:
    return f"{name}.jsonl" if number == 1 else f"{name}-{number}.jsonl"


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
