"""Export a model: refuse what cannot be exported, write a new folder, and put it in its place if all went well."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from regard.errors import Message, Option, RegardError
from regard.export.exporter import Exporter
from regard.export.recipes import digest
from regard.parts import names, part
from regard.storage.files import naming
from regard.version import __version__

MANIFEST, README = "manifest.json", "README.md"
WHERE = "export"


def export(
    model: Any,
    folder: str | Path,
    *,
    to: str = "onnx",
    output: str | None = None,
    double: bool = False,
    overwrite: bool = False,
) -> Path:
    """Write a model for other programs, and return the folder.

    to          the format: a part of kind `exporter`
    output      the name of the output, if the model has several
    double      compute in double precision: for models whose large scores single precision rounds too much
    overwrite   replace a folder with an export that was changed since
    """
    exporter, target = found_exporter(to), Path(folder).expanduser()
    name = checked(model, to, output)
    if double and not exporter.records:
        raise RegardError(f"{to} has no double precision.", where=Option("double"), fix="Leave it out.")
    check_free(target, overwrite=overwrite)
    with naming(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        placed = tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent)
    with placed as temporary:
        new = Path(temporary) / "new"
        new.mkdir()
        try:
            with _doubled(model.to("cpu")) if double else nullcontext():
                lines = exporter.write(model, name, new)
        except RegardError:
            raise
        except Exception as error:  # torch's recorder fails in many ways
            raise RegardError(
                f"this model cannot be written as {to}: {reason_of(error)}. Nothing was written.", where=WHERE
            ) from error
        (new / README).write_text(_readme(model, to, lines), encoding="utf-8")
        written = sorted(path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file())
        listed = {"regard": __version__, "export": {one: _digest(new / one) for one in written}}
        (new / MANIFEST).write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
        if target.exists():
            os.rename(target, Path(temporary) / "old")
        os.rename(new, target)
    return target


@contextmanager
def _doubled(model: Any) -> Iterator[None]:
    """A model whose network computes in double precision meanwhile."""
    before = model.network
    model.network = copy.deepcopy(before).double()
    try:
        yield
    finally:
        model.network = before


def found_exporter(name: str) -> type[Exporter]:
    """The exporter of this name, whose packages are installed."""
    made: type[Exporter] | None = part("exporter", name)
    if made is None:
        raise RegardError(
            f"there is no format {name!r}.",
            where=Option("to"),
            fix=f"The formats are {', '.join(names('exporter'))}.",
        )
    if missing := [package for package in made.needs if find_spec(package) is None]:
        raise RegardError(
            f"export to {name} needs {missing[0]}, which is not installed.",
            where=WHERE,
            fix=f"Run: pip install 'regard[{made.extra}]'",
        )
    return made


def output_of(model: Any, output: str | None) -> str:
    """The name of the output to export."""
    name: str = next(iter(model.spec.outputs)) if model.continues else model.output_name(output)
    return name


def checked(model: Any, to: str, output: str | None = None) -> str:
    """The name of the output, or an error if the model cannot be exported in a format."""
    name = output_of(model, output)
    if reason := found_exporter(to).refused(model, name):
        raise RegardError(
            f"this model cannot be exported to {to}: {reason}",
            where=WHERE,
            fix=Message("To see which formats can hold it: ", Option("check"), "."),
        )
    return name


def check_free(folder: Path, *, overwrite: bool = False) -> None:
    """Raise an error if a folder holds anything that an export did not write."""
    if not folder.exists() and not folder.is_symlink():
        return
    if folder.is_symlink() or not folder.is_dir():
        raise RegardError("this is not a folder.", where=str(folder), fix="Choose another name.")
    present = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if not path.is_dir()}
    if not present:
        return
    known: dict[str, str] = {}
    if MANIFEST in present:
        try:
            known = dict(json.loads(present[MANIFEST].read_text(encoding="utf-8"))["export"])
        except (OSError, ValueError, KeyError, TypeError):
            known = {}
    for name, path in sorted(present.items()):
        if name == MANIFEST and known:
            continue
        if name not in known or path.is_symlink():
            raise RegardError(
                "this file was not written by an export.",
                where=str(path),
                fix="Choose another folder.",
            )
        if not overwrite and _digest(path) != known[name]:
            raise RegardError(
                "this file was changed since it was exported.",
                where=str(path),
                fix=Message("Choose another folder, or pass `", Option("overwrite"), "`."),
            )


def _readme(model: Any, to: str, lines: list[str]) -> str:
    name = model.spec.name or (model.folder.name if model.folder else "model")
    return "\n".join(
        [
            f"# {name}",
            "",
            f"A model that regard {__version__} trained, written as {to}.",
            "",
            *lines,
            "",
            f"- the model: sha256 {digest(model.folder) or 'unknown'} of its spec, vocabularies and weights",
            "- license: that of the model and its data; what is written of regard itself is under its license",
            "",
        ]
    )


def reason_of(error: Exception) -> str:
    """An error of another package in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300].rstrip(".")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
