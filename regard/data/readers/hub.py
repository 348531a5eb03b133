"""Data sets of the Hugging Face Hub: `hf:name:split` or `hf:name:config:split`, streamed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from regard.data.readers.json_values import row_of
from regard.data.readers.reader import Reader
from regard.data.readers.row import Row
from regard.errors import MissingExtra, RegardError
from regard.parts import register

PREFIX = "hf:"


def parts_of(name: str) -> tuple[str, str | None, str]:
    """Data set, configuration, split."""
    parts = name.removeprefix(PREFIX).split(":")
    if len(parts) not in (2, 3) or not all(parts):
        raise RegardError(
            "a data set of the hub is named hf:name:split or hf:name:config:split.",
            where=name,
            fix=f"For example {PREFIX}{parts[0] or 'name'}:train.",
        )
    return parts[0], parts[1] if len(parts) == 3 else None, parts[-1]


def load(name: str) -> Any:
    dataset, config, split = parts_of(name)
    try:
        from datasets import load_dataset
    except ImportError:
        raise MissingExtra("datasets", "hub", f"Reading {name}") from None
    try:
        return load_dataset(dataset, config, split=split, streaming=True)
    except Exception as error:
        raise RegardError(
            f"could not load the data set from the Hugging Face Hub: {error}.", where=name
        ) from error


@register("reader", "hub")
class HubReader(Reader):
    """Data sets of the Hugging Face Hub. Class numbers become names; "translation.en" is a field within a field. Row
    numbers from 1 replace line numbers."""

    prefix: ClassVar[str] = PREFIX

    def files(self, path: str) -> list[Path]:
        return [Path(path)]

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        name = str(files[0])
        dataset = load(name)
        features = dataset.features or {}
        classes = {field: features[field].names for field in fields if hasattr(features.get(field), "names")}
        for number, record in enumerate(dataset, start=1):
            if number == 1:
                lacking = [
                    field for field in fields if field.partition(".")[0] not in record and field not in record
                ]
                if lacking:
                    raise RegardError(
                        f"it has the fields {', '.join(record)}, but no {' and no '.join(lacking)}.",
                        where=name,
                    )
            for field, names in classes.items():
                record[field] = (
                    names[record[field]] if record[field] is not None and record[field] >= 0 else None
                )
            yield row_of(record, fields, file=name, line=number)

    def content(self, files: Sequence[Path], fields: Sequence[str]) -> Iterator[bytes]:
        for row in self.read(files, fields):
            yield repr((sorted(row.items()), row.problem)).encode()
