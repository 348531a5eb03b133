"""DataSpec → the rows of each split: files, a generated world, or a data package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from regard.data import Row, read_rows
from regard.data.filtered import FilteredRows
from regard.data.readers import FileRows, ManyRows, Reader
from regard.data.readers.opening import kind
from regard.data.readers.reader import joined
from regard.data.readers.rows import reader_of
from regard.data.sources.hold_out import hold_out
from regard.data.sources.stream_split import parted
from regard.errors import FILE, RegardError, Setting
from regard.parts import is_stream, names, part
from regard.spec import Spec
from regard.spec.data import SPLITS

Splits = dict[str, Iterable[Row]]


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
        return provided(data.provider)
    if not data.train:
        raise RegardError("no data to train on.", where="data.train", fix=Setting("data.train", FILE))
    group = [data.group] if data.group not in (None, "none") and not data.dev else []
    splits: Splits = {"train": open_split(spec, "train", data.train, extra=[str(one) for one in group])}
    for name, files in (("dev", data.dev), ("test", data.test)):
        if files:
            splits[name] = open_split(spec, name, files)
    if is_stream(spec):
        return {**splits, **parted(splits["train"], spec)}
    if "dev" not in splits:
        splits["train"], splits["dev"] = hold_out(splits["train"], spec)
    return splits


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
