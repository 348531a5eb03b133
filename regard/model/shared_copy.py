"""The files of a model as they are shared: without rows of the data and without local folders.

spec.yaml, columns.json   the names of local files without their folders
metrics.json, card.md     without the examples, which are rows of dev or test
model.safetensors         the same weights, with the digests of the files above
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import yaml

from regard.errors import RegardError
from regard.model.saving import CARD, COLUMNS, METRICS, PARTS, SPEC, WEIGHTS, file_digests
from regard.spec.document import parse_file
from regard.storage.files import read_json, replacing, write_text
from regard.storage.tensors import read_header, read_tensors, write_tensors

NAMING_FILES = ("data", "training")
"""Keys of a spec in which an absolute path is always the name of a local file."""
TEXTS = ("where", "fields", "group")
"""Keys of `data` with texts from the data, which name no files."""
EXAMPLES = "## Examples"


def copy_shared(run: Path, folder: Path) -> None:
    """Write the files of a model into a folder, each atomically."""
    _write_spec(run, folder)
    _write_json(run / COLUMNS, folder / COLUMNS, _columns)
    _write_json(run / METRICS, folder / METRICS, _without_rows)
    if (run / CARD).is_file():
        write_text(folder / CARD, without_examples((run / CARD).read_text(encoding="utf-8")))
    _copy(run / PARTS, folder / PARTS)
    _write_weights(run, folder)


def without_examples(card: str) -> str:
    """The text of a card without its table of rows."""
    kept, inside = [], False
    for line in card.splitlines():
        inside = line.strip() == EXAMPLES or (inside and not line.startswith("## "))
        if not inside:
            kept.append(line)
    return "\n".join(kept).rstrip("\n") + "\n"


def _write_spec(run: Path, folder: Path) -> None:
    written = parse_file(run / SPEC).data
    shared = {
        key: {name: one if name in TEXTS else _named(one) for name, one in value.items()}
        if key in NAMING_FILES and isinstance(value, Mapping)
        else _without_folders(value)
        for key, value in written.items()
    }
    if shared == written:
        _copy(run / SPEC, folder / SPEC)
    else:
        write_text(folder / SPEC, yaml.safe_dump(shared, sort_keys=False, allow_unicode=True))


def _write_json(source: Path, target: Path, change: Any) -> None:
    if not source.is_file():
        return
    try:
        content = read_json(source)
    except (OSError, ValueError) as error:
        raise RegardError(
            f"this file cannot be read: {error}.", where=str(source), fix="Copy the folder again."
        ) from None
    changed = change(content)
    if changed == content:
        _copy(source, target)
    else:
        write_text(target, json.dumps(changed, ensure_ascii=False, indent=1) + "\n")


def _columns(content: Any) -> Any:
    """Only options name files; what a column has learned is texts, some of which may look like paths."""
    columns = {
        name: {**column, "options": _without_folders(column["options"])}
        for name, column in content["columns"].items()
    }
    return {**content, "columns": columns}


def _without_rows(metrics: Any) -> Any:
    if not isinstance(metrics, dict):
        return {}
    kept = {key: value for key, value in metrics.items() if key not in ("examples", "data")}
    files = metrics.get("data", {})
    digests = {
        split: {_name(file): digest for file, digest in named.items()} for split, named in files.items()
    }
    return {"data": digests, **_named(kept)}


def _write_weights(run: Path, folder: Path) -> None:
    """The weights, with the digests of the shared spec and columns, against which loading checks them."""
    said, found = read_header(run / WEIGHTS, "the weights").metadata, file_digests(folder)
    changed = {name: digest for name, digest in found.items() if name in said and said[name] != digest}
    if not changed:
        _copy(run / WEIGHTS, folder / WEIGHTS)
        return
    tensors, metadata = read_tensors(run / WEIGHTS, "the weights")
    write_tensors(
        folder / WEIGHTS, tensors, {name: changed.get(name, metadata[name]) for name in said if name in found}
    )


def _copy(source: Path, target: Path) -> None:
    if source.is_file():
        with replacing(target) as temporary:
            shutil.copyfile(source, temporary)


def _named(value: Any) -> Any:
    """A value with every absolute path in it replaced by the name of the file."""
    if isinstance(value, Mapping):
        return {key: _named(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_named(one) for one in value]
    return _name(value) if isinstance(value, str) else value


def _without_folders(value: Any) -> Any:
    """The same for options that may also be texts: only a single text that is a file here, or lies in a folder of the
    user. A list, such as that of the classes, holds texts."""
    if isinstance(value, Mapping):
        return {
            key: (_name(one) if _is_local(one) else one) if isinstance(one, str) else _without_folders(one)
            for key, one in value.items()
        }
    return [_without_folders(one) for one in value] if isinstance(value, list | tuple) else value


def _name(text: str) -> str:
    """The name of a file or folder without the folders that lead to it; several paths are joined by a plus."""
    if not _is_path(text):
        return text
    return "+".join(
        re.split(r"[/\\]", part.rstrip("/\\"))[-1] for part in re.split(r"\+(?=[/~]|[A-Za-z]:)", text)
    )


def _is_path(text: str) -> bool:
    return text.startswith("~") or PurePosixPath(text).is_absolute() or PureWindowsPath(text).is_absolute()


def _is_local(text: str) -> bool:
    if not _is_path(text) or "\n" in text or "\0" in text:
        return False
    try:
        return (
            any(text.startswith(f"{folder}/") for folder in (Path.home(), Path.cwd())) or Path(text).is_file()
        )
    except (OSError, RuntimeError, ValueError):
        return False
