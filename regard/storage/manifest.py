"""The files that regard has written to a folder, listed in manifest.json. No other file is ever changed.

    {"regard": "0.1.0", "files": ["spec.yaml", …, "state/kept/step-[0-9]*.safetensors"], "folders": ["state", …]}

A name is listed before its file is first written, so that a killed process leaves no unlisted file. The names
are a closed set, to which each logger adds the names of its files: other entries, for example in a folder from
elsewhere, are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from regard.errors import RegardError
from regard.parts import names, part
from regard.storage.files import read_json, sweep, write_text
from regard.version import __version__

MANIFEST = "manifest.json"
MODEL_FILES = ("spec.yaml", "columns.json", "model.safetensors", "metrics.json", "card.md", "parts.json")
STATE_FILE = "state/training.safetensors"
FIXED_FILE = "state/fixed.safetensors"
RUN_FILES = (
    *MODEL_FILES,
    "log.csv",
    "rejected.tsv",
    "rejected-*.tsv",
    "state/kept/step-[0-9]*.safetensors",
    FIXED_FILE,
    STATE_FILE,
)
REPORT_FILE = "report.html"
"""Claimed when it is written, at the end of a training: a page of this name may be the user's own."""
DATA_FILES = tuple(f"{name}{number}.jsonl" for name in ("pairs", "dev", "test") for number in ("", "-[0-9]*"))
FOLDERS = ("state/kept", "state")


def logger_files() -> tuple[str, ...]:
    """The files that the registered loggers declare."""
    return tuple(entry for name in names("logger") for entry in getattr(part("logger", name), "files", ()))


def folders() -> tuple[str, ...]:
    """The subfolders that regard may create in the folder of a run, the innermost first."""
    inside = [str(above) for entry in logger_files() for above in PurePosixPath(entry).parents if above.name]
    return tuple(dict.fromkeys((*FOLDERS, *inside)))


@dataclass(frozen=True)
class Manifest:
    """The files that regard owns in a folder.

    files     names, or patterns of names
    folders   subfolders that regard created
    moving    names of a new run that is being moved into this folder; see `regard.runs.run`
    """

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    moving: tuple[str, ...] = ()

    def owns(self, name: str) -> bool:
        return any(_matches(name, entry) for entry in self.files)

    def present(self, folder: Path) -> list[str]:
        """The names of its files that exist."""
        return present(folder, self.files)


def read(folder: Path) -> Manifest:
    """The folder's manifest; for runs and models of older versions without manifests, their known names."""
    path = folder / MANIFEST
    if not path.is_file():
        if not _is_columns(folder / "columns.json"):
            return Manifest()
        old_run = (folder / STATE_FILE).is_file()
        return Manifest((*RUN_FILES, *logger_files()), folders()) if old_run else Manifest(MODEL_FILES)
    try:
        content = read_json(path)
        if "regard" not in content:
            raise RegardError(
                "this file exists and regard did not write it.",
                where=str(path),
                fix="Choose another folder, or move the file.",
            )
        files, made, moving = (list(content.get(key, ())) for key in ("files", "folders", "moving"))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        if isinstance(error, RegardError):
            raise
        raise RegardError(
            f"the list of the run's files cannot be read: {error}.",
            where=str(path),
            fix="Choose another folder.",
        ) from None
    known, possible = (*RUN_FILES, REPORT_FILE, *DATA_FILES, *logger_files()), folders()
    return Manifest(
        tuple(entry for entry in files if _is_among(entry, known)),
        tuple(name for name in made if name in possible),
        tuple(name for name in moving if _is_among(name, known)),
    )


def write(folder: Path, manifest: Manifest) -> None:
    content = {"regard": __version__, "files": manifest.files, "folders": manifest.folders}
    if manifest.moving:
        content["moving"] = manifest.moving
    write_text(folder / MANIFEST, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def check_free(folder: Path, entries: Iterable[str]) -> None:
    """Raise an error if a file with one of these names exists and regard did not write it."""
    manifest = read(folder)
    for name in present(folder, entries):
        if not manifest.owns(name) or (folder / name).is_dir():
            raise RegardError(
                "this file exists and regard did not write it.",
                where=str(folder / name),
                fix="Choose another folder, or move the file.",
            )


def claim(folder: Path, entries: Iterable[str]) -> None:
    """List these names in the manifest, after `check_free`; removes leftover temporary files."""
    entries = tuple(entries)
    check_free(folder, entries)
    manifest = read(folder)
    new = tuple(entry for entry in entries if entry not in manifest.files)
    if new or not (folder / MANIFEST).is_file():
        made = tuple(name for name in folders() if name in manifest.folders or not (folder / name).exists())
        write(folder, Manifest((*manifest.files, *new), made, manifest.moving))
    for name in ("", *folders()):
        if not (folder / name).is_symlink():
            sweep(folder / name)


def present(folder: Path, entries: Iterable[str]) -> list[str]:
    """The names in a folder that match the entries, in their order. Links are not followed."""
    found: dict[str, None] = {}
    for entry in entries:
        where, pattern = PurePosixPath(entry).parent, PurePosixPath(entry).name
        inside = [folder / part for part in (where, *where.parents) if part.name]
        if not (folder / where).is_dir() or any(part.is_symlink() for part in inside):
            continue
        names = sorted(path.name for path in (folder / where).iterdir() if fnmatchcase(path.name, pattern))
        found.update(dict.fromkeys(str(where / name) for name in names))
    return list(found)


def remove(folder: Path, manifest: Manifest, names: Iterable[str]) -> None:
    """Remove these files of the manifest, and folders created by regard that are now empty."""
    for name in names:
        if manifest.owns(name) and not ((folder / name).is_dir() and not (folder / name).is_symlink()):
            (folder / name).unlink(missing_ok=True)
    for name in manifest.folders:
        path = folder / name
        if path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
            path.rmdir()


def refuse_links(folder: Path, more: Iterable[str] = ()) -> None:
    """Raise an error if a folder in which regard removes files is a link."""
    for name in (*folders(), *more):
        if (folder / name).is_symlink():
            raise RegardError(
                "this is a symbolic link; regard removes old files here and needs a folder of its own.",
                where=str(folder / name),
                fix="Remove the link. To use another disk, link the folder of the run instead.",
            )


def is_interrupted(folder: Path) -> bool:
    """Whether a process was killed while it moved a new run into this folder."""
    try:
        return bool(read(folder).moving)
    except RegardError:
        return False


def is_data(name: str) -> bool:
    """Whether this is a name for rows given in Python in the folder of a run."""
    return any(fnmatchcase(name, entry) for entry in DATA_FILES)


def _is_among(name: object, known: Iterable[str]) -> bool:
    return isinstance(name, str) and any(name == entry or _matches(name, entry) for entry in known)


def _matches(name: str, entry: str) -> bool:
    parts, patterns = name.split("/"), entry.split("/")
    return (
        len(parts) == len(patterns)
        and ".." not in parts
        and all(fnmatchcase(part, pattern) for part, pattern in zip(parts, patterns, strict=True))
    )


def _is_columns(path: Path) -> bool:
    """Whether this is regard's columns.json, which identifies a model without a manifest."""
    try:
        content = read_json(path)
        return isinstance(content, dict) and {"format", "columns"} <= content.keys()
    except (OSError, ValueError):
        return False
