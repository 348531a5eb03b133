"""Kernels and recordings that only speed up what other folders compute plainly; without this folder, all else works.

The paths are in `paths`, their kernels in `cpu` and `cuda`, and the recordings of calls as CUDA graphs in `recording`.
"""

import regard.nn  # noqa: F401  the paths are loaded at its end, and know its classes
