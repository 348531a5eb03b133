"""The data a spec names, opened: the rows of each split, and the rows encoded.

splits      files, a generated world or a data package → the rows of train, dev, test
holding     where no dev is named, some inputs of train set aside
datasets    rows → a Dataset, from the cache where they were encoded before
"""

from regard.sources.datasets import build_dataset
from regard.sources.splits import Splits, file_fields, open_files, open_splits

__all__ = ["Splits", "build_dataset", "file_fields", "open_files", "open_splits"]
