"""The data a spec names, opened: the rows of each split, and the rows encoded.

splits      files, a generated world or a data package → the rows of train, dev, test
holding     where no dev is named, some inputs of train set aside
stretches   the same of a text that runs on: its last stretches
memory      what a run remembers of its files: absolute paths, and a hash of each
datasets    rows → a Dataset, from the cache where they were encoded before
"""

from regard.sources.datasets import build_dataset
from regard.sources.memory import changes, digests, with_absolute_paths
from regard.sources.splits import Splits, file_fields, has_test, is_stream, open_files, open_splits, remarks

__all__ = [
    "Splits",
    "build_dataset",
    "changes",
    "digests",
    "file_fields",
    "has_test",
    "is_stream",
    "open_files",
    "open_splits",
    "remarks",
    "with_absolute_paths",
]
