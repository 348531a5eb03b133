"""The data that a spec names: the rows of each split, raw and encoded.

splits         files, a generated world or a data package → the rows of train, dev, test, and their datasets; the
               record of the files: absolute paths and hashes
hold_out       hold out some inputs of train if no dev is named
stream_split   hold out the end of a continuous text
inputs         files of inputs for a trained model
"""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.data.readers.row import remarks_of
    from regard.data.sources.inputs import InputFile, open_inputs
    from regard.data.sources.repeated import repeated_inputs
    from regard.data.sources.splits import (
        Splits,
        build_dataset,
        changes,
        digests,
        file_fields,
        has_test,
        open_files,
        open_splits,
        with_absolute_paths,
        with_group,
    )
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "InputFile",
    "Splits",
    "build_dataset",
    "changes",
    "digests",
    "file_fields",
    "has_test",
    "open_files",
    "open_inputs",
    "open_splits",
    "remarks_of",
    "repeated_inputs",
    "with_absolute_paths",
    "with_group",
]
