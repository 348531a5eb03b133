"""Readers: rows from files and the hub, with their locations. Each module defines and registers one format."""

from regard.data.readers.reader import Reader
from regard.data.readers.row import Row, RowSource
from regard.data.readers.rows import BadRows, FileRows, ManyRows, read_rows, values

__all__ = ["BadRows", "FileRows", "ManyRows", "Reader", "Row", "RowSource", "read_rows", "values"]
