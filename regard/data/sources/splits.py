"""The data of a spec: the rows of each split, encoded, and the record of their files.

Rows come from files, a generated world, or a data package."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from regard.data import Dataset, Row, read_rows
from regard.data.filtered import FilteredRows
from regard.data.readers import FileRows, ManyRows, Reader
from regard.data.readers.files import kind
from regard.data.readers.reader import joined
from regard.data.readers.row import sources_of
from regard.data.readers.rows import reader_of
from regard.data.sources.folds import fold_rows
from regard.data.sources.hold_out import hold_out
from regard.data.sources.stream_split import parted
from regard.errors import FILE, RegardError, Setting
from regard.parts import is_stream, names, part
from regard.spec import Spec
from regard.spec.sections import SPLITS
from regard.storage.files import cache_folder, is_remote

Splits = dict[str, Iterable[Row]]
"""The rows of each split, by its name."""
RECOGNIZED = frozenset(
    (
        "conversation",
        "conv",
        "dialog",
        "dialogue",
        "session",
        "thread",
        "document",
        "doc",
        "article",
        "story",
        "group",
    )
)
"""Names of fields, without `id` at their end, whose rows belong together."""
FEWEST = 3
"""Fewest groups of which one is held out without being told."""
_NUMBERING = re.compile(r"[ ._-]?(id|no|nr|number|key)$", re.IGNORECASE)
HUB = "hf:"


def provided(provider: Any) -> Splits:
    """The splits of a world or a package, refused if they are not rows with its fields."""
    found, who = provider.splits(), f"the {provider.kind} {provider.type}"
    if not isinstance(found, Mapping) or "train" not in found:
        received = list(found) if isinstance(found, Mapping) else type(found).__name__
        raise RegardError(f"{who}: splits returned {received}, expected a mapping with the split train.")
    for split, rows in found.items():
        for row in islice(rows, 1):
            if not isinstance(row, Row):
                told = f"rows of the class {type(row).__name__} in {split}, expected regard.data.Row"
                raise RegardError(f"{who}: splits returned {told}.", fix="Use regard.data.numbered.")
            if not set(row) & set(provider.fields):
                fields = ", ".join(provider.fields)
                raise RegardError(f"{who}: splits returned a row of {split} without its fields, {fields}.")
    return dict(found)


def open_splits(spec: Spec) -> Splits:
    """`train` and, if they exist, `dev`, `test` and others; each can be iterated repeatedly."""
    data = spec.data
    if data.provider:
        given = provided(data.provider)
        return given if data.fold is None else _folded(given, spec)
    if not data.train:
        raise RegardError("no data to train on.", where="data.train", fix=Setting("data.train", FILE))
    cut = data.fold is not None or not data.dev
    group = [data.group] if data.group not in (None, "none") and cut else []
    splits: Splits = {"train": open_split(spec, "train", data.train, extra=[str(one) for one in group])}
    for name, files in (("dev", data.dev), ("test", data.test)):
        if files and not (name == "test" and data.fold):
            splits[name] = open_split(spec, name, files)
    if data.fold is not None:
        splits = _folded(splits, spec)
    if is_stream(spec):
        return {**splits, **parted(splits["train"], spec)}
    if "dev" not in splits:
        splits["train"], splits["dev"] = hold_out(splits["train"], spec)
    return splits


def _folded(splits: Splits, spec: Spec) -> Splits:
    """The splits, with one fold of the training rows as test."""
    rest, fold = fold_rows(splits["train"], spec)
    return {**splits, "train": rest, "test": fold}


def open_split(spec: Spec, split: str, files: Sequence[str], *, extra: Sequence[str] = ()) -> Iterable[Row]:
    """The rows of a split: all rows of its files, or those that `data.where` selects."""
    wanted = spec.data.where.get(split)
    if not wanted:
        return open_files(spec, files, extra=extra, split=split)
    return FilteredRows(open_files(spec, files, extra=[*wanted, *extra], split=split), wanted)


def open_files(
    spec: Spec,
    files: Sequence[str],
    *,
    extra: Sequence[str] = (),
    split: str | None = None,
    optional: Sequence[str] = (),
) -> Iterable[Row]:
    """The rows of some files, with the fields of this spec and `extra` ones; images are those of the split.

    optional   fields that are left out where the format of a file has none of the name
    """
    data, fields = spec.data, list(dict.fromkeys([*file_fields(spec), *extra]))
    formats: list[str | Reader | None]
    if is_stream(spec):
        formats = [_stream_reader(files, fields)] * len(files)
    else:
        formats = [format_for(spec, file) for file in files]

    def there(file: str, format: str | Reader | None) -> list[str]:
        known = reader_of(file, format, fields).fields if optional else ()
        return [field for field in fields if field not in optional or not known or field in known]

    opened = [
        read_rows(
            file,
            fields=there(file, format),
            format=format,
            bad_rows=data.bad_rows,
            images=data.images_of(split),
        )
        for file, format in zip(files, formats, strict=True)
    ]
    return ManyRows([rows for rows in opened if isinstance(rows, FileRows)])


def format_for(spec: Spec, file: str) -> str | Reader | None:
    """The format of a file: that of the spec's data, unless the extension is none of theirs and belongs to another."""
    data = spec.data
    known = {kind(name) for split in SPLITS for name in getattr(data, split)}
    if data.format is None or not known or kind(file) in known or len(joined(file)) > 1:
        return data.format
    claimed = any(kind(file) in part("reader", name).suffixes for name in names("reader"))
    return None if claimed and kind(file) else data.format


def has_test(spec: Spec) -> bool:
    """Whether the data have a test split."""
    data = spec.data
    if data.fold is not None:
        return True
    if data.provider is None:
        return bool(data.test) or (is_stream(spec) and not data.dev)
    return bool(data.provider.has_test())


def _stream_reader(files: Sequence[str], fields: Sequence[str]) -> str:
    for file in files:
        reader = reader_of(file, None, fields)
        if not reader.plain:
            raise RegardError(
                f"a stream needs a text file; the reader {reader.type} reads this one.",
                where=file,
                fix="Write all its texts into one text file.",
            )
    return "stream"


def file_fields(spec: Spec) -> list[str]:
    """The fields in the order of the cells of a file without a header."""
    if spec.data.fields:
        return list(spec.data.fields)
    parts = {**spec.inputs, **spec.outputs, **spec.truth}
    return list(dict.fromkeys(part.field or name for name, part in parts.items()))


def with_group(spec: Spec) -> Spec:
    """The spec, with `data.group` set to a field of the data whose rows belong together, if there is one.

    It is written into the spec, so that a later evaluation of the run splits the data in the same way.
    """
    data = spec.data
    if (
        data.group is not None
        or data.provider
        or (data.dev and not data.fold)
        or not data.train
        or is_stream(spec)
    ):
        return spec
    for field in _candidates(spec):
        if _keeps_together(open_split(spec, "train", data.train, extra=[field]), field):
            return spec.changed(Setting("data.group", field))
    return spec


def _candidates(spec: Spec) -> list[str]:
    """Fields with a recognized name that no input or output reads."""
    used = {part.field or name for part_of in (spec.inputs, spec.outputs) for name, part in part_of.items()}
    sources = sources_of(open_split(spec, "train", spec.data.train))
    found = {*file_fields(spec), *(field.name for source in sources for field in source.found())}
    return sorted(field for field in found - used if _NUMBERING.sub("", field).lower() in RECOGNIZED)


def _keeps_together(rows: Iterable[Row], field: str) -> bool:
    """Whether the rows form groups by this field: every row has a value, and values repeat."""
    groups: set[str] = set()
    count = 0
    for row in rows:
        value = row.get(field, "").strip()
        if not value:
            return False
        groups.add(value)
        count += 1
    return FEWEST <= len(groups) < count


def build_dataset(
    rows: Iterable[Row], spec: Spec, columns: Sequence[Any], *, gather: bool, rejected: Path | None
) -> Dataset:
    """Encode the rows, or load their encodings from the cache."""
    # Repeated sentences with tags or trees are separate rows, not alternative references.
    alternatives = not any(getattr(output, "of", None) for output in spec.outputs.values())
    gathered = gather and spec.data.references and alternatives and spec.inputs
    outputs = list(spec.outputs) if gathered else []
    return Dataset.build(
        rows,
        columns,
        cache=cache_folder(),
        on_bad=spec.data.bad_rows,
        rejected=rejected if spec.data.bad_rows == "skip" else None,
        references=outputs,
    )


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
    if not isinstance(value, str) or value.startswith(HUB) or is_remote(value):
        return value
    parts = [os.path.abspath(Path(one).expanduser()) for one in joined(value)]
    if len(parts) > 1 and any("+" in part for part in parts):
        return value  # with a plus in a folder's name, the paths would be ambiguous
    return "+".join(parts)


def digests(spec: Spec, splits: Sequence[str] = SPLITS) -> dict[str, dict[str, str]]:
    """{split: {file: hash of its content}} for the files that the data of a spec name."""
    return {
        split: {
            name: _opened(spec, name).digest()
            for name in getattr(spec.data, split)
            if is_remote(name) or not name.startswith(HUB)
        }
        for split in splits
        if getattr(spec.data, split)
    }


def _opened(spec: Spec, name: str) -> FileRows:
    opened = read_rows(name, fields=["source"], format=spec.data.format)
    assert isinstance(opened, FileRows)
    return opened


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
                same = _opened(spec, name).is_as(str(before))
            except RegardError:
                continue  # the reader will report that it is missing
            if not same:
                told.append(f"{name} has changed since the model was trained.")
    return list(dict.fromkeys(told))
