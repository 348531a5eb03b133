"""Readers: rows from files and the hub, with the place of each."""

from regard.data.readers.row import Row
from regard.data.readers.rows import BadRows, Format, ManyRows, Rows, read_rows, values

__all__ = ["BadRows", "Format", "ManyRows", "Row", "Rows", "read_rows", "values"]
