"""The record of a run's data: the paths of the files, and hashes of their content."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.data import read_rows
from regard.data.readers import FileRows
from regard.data.readers.reader import joined
from regard.errors import RegardError
from regard.spec import Spec
from regard.spec.data import SPLITS

REMOTE = "hf:"


def with_absolute_paths(spec: Spec) -> Spec:
    """The spec with absolute paths, so that files are found from any folder."""
    written = spec.written()
    data = written.get("data")
    if not isinstance(data, Mapping):
        return spec
    changed = {key: _absolute(data[key]) for key in (*SPLITS, "images") if data.get(key)}
    if all(data[key] == value for key, value in changed.items()):
        return spec
    return Spec.parse({**written, "data": {**data, **changed}})


def _absolute(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _absolute(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_absolute(one) for one in value]
    if not isinstance(value, str) or value.startswith(REMOTE):
        return value
    parts = [os.path.abspath(Path(one).expanduser()) for one in joined(value)]
    if len(parts) > 1 and any("+" in part for part in parts):
        return value  # with a plus in a folder's name, the paths would be ambiguous
    return "+".join(parts)


def digests(spec: Spec, splits: Sequence[str] = SPLITS) -> dict[str, dict[str, str]]:
    """{split: {file: hash of its content}} for the files that the data of a spec name."""
    return {
        split: {
            name: _digest(spec, name) for name in getattr(spec.data, split) if not name.startswith(REMOTE)
        }
        for split in splits
        if getattr(spec.data, split)
    }


def _digest(spec: Spec, name: str) -> str:
    opened = read_rows(name, fields=["source"], format=spec.data.format)
    assert isinstance(opened, FileRows)
    return opened.digest()


def changes(spec: Spec, remembered: Mapping[str, Any], splits: Sequence[str] = SPLITS) -> list[str]:
    """The files that have changed since the model was trained, one sentence each."""
    told = []
    for split in splits:
        known = remembered.get(split)
        for name in getattr(spec.data, split, ()) if isinstance(known, Mapping) else ():
            before = known.get(name) if isinstance(known, Mapping) else None
            if before is None:
                continue
            try:
                now = _digest(spec, name)
            except RegardError:
                continue  # the reader will report that it is missing
            if now != before:
                told.append(f"{name} has changed since the model was trained.")
    return list(dict.fromkeys(told))
