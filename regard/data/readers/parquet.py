"""Parquet files, a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from regard.data.readers.json_values import fields_of, row_of
from regard.data.readers.reader import Field, Reader
from regard.data.readers.row import Row
from regard.errors import MissingExtra, RegardError
from regard.parts import register
from regard.storage.files import reading_remedy

SAMPLE = 100
"""Number of rows that are searched for field names."""


@register("reader", "parquet")
class ParquetReader(Reader):
    """Parquet files, of which only the required columns are read. Row numbers from 1 replace line numbers."""

    suffixes: ClassVar[tuple[str, ...]] = (".parquet",)

    def found(self, files: Sequence[Path]) -> list[Field]:
        with open_parquet(files[0]) as file:
            batch = next(file.iter_batches(batch_size=SAMPLE), None)
            records = batch.to_pylist() if batch is not None else []
            return fields_of(records or [dict.fromkeys(file.schema_arrow.names)])

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        with open_parquet(path) as file:
            names = file.schema_arrow.names
            heads = {field: field if field in names else field.partition(".")[0] for field in fields}
            lacking = [field for field, head in heads.items() if head not in names]
            if lacking:
                raise RegardError(
                    f"the file has the columns {', '.join(names)}, but no {' and no '.join(lacking)}.",
                    where=str(path),
                )
            number = 0
            for batch in file.iter_batches(columns=sorted(set(heads.values())), batch_size=4096):
                for record in batch.to_pylist():
                    number += 1
                    yield row_of(record, fields, file=str(path), line=number)


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """The open file. Damage raises an error wherever it occurs."""
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", f"Reading {path}") from None
    try:
        with ParquetFile(path) as file:
            yield file
    except (pyarrow.ArrowException, OSError) as error:
        raise RegardError(
            f"this is not a readable Parquet file ({str(error).rstrip('.')}).",
            where=str(path),
            fix=reading_remedy(error, path, "Download it or write it again."),
        ) from error
