"""Compiled code: numba kernels on the CPU (`cpu`), Triton kernels on CUDA (`cuda`), loaded at first use.

This folder contains the structures over one flat batch. The kernels of networks are in `regard.fast`.
"""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use
from regard.structures.kernels.cpu import parallel as _parallel  # noqa: F401  registers a fork handler

if TYPE_CHECKING:
    from regard.private import eager
    from regard.structures.kernels.availability import available, plainly
    from regard.structures.kernels.chain import chain_log_partition, chain_marginals, chain_mode
    from regard.structures.kernels.projective import (
        projective_log_partition,
        projective_marginals,
        projective_mode,
    )
    from regard.structures.kernels.segments import segment_marginals
    from regard.structures.kernels.spanning import spanning_log_partition, spanning_marginals
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "available",
    "chain_log_partition",
    "chain_marginals",
    "chain_mode",
    "eager",
    "plainly",
    "projective_log_partition",
    "projective_marginals",
    "projective_mode",
    "segment_marginals",
    "spanning_log_partition",
    "spanning_marginals",
]
