"""Compiled code: numba on the CPU (`cpu`), Triton on CUDA (`cuda`). Neither is imported before it is used.

Of structures, over one flat batch, here; of recurrences in `cpu`: a recurrence (`recurrence`), one with attention
(`attentive`), one step of a search (`step`, `best`) and the cross-entropy of a large vocabulary (`cost`). In
`cuda.recurrence` recurrences with attention as graphs, in `cuda.best` and `cuda.beams` the choices of a search.
`replay` and `replayed_gradient` record what has no kernel of its own; `buckets` rounds sizes, so that recordings are
shared.
"""

from regard.kernels.availability import available, plainly
from regard.kernels.chain import chain_log_partition, chain_marginals, chain_mode
from regard.kernels.cpu import parallel as _parallel  # noqa: F401  what is to be done after a fork
from regard.kernels.projective import (
    projective_log_partition,
    projective_marginals,
    projective_mode,
)
from regard.kernels.segments import segment_marginals
from regard.kernels.spanning import spanning_log_partition, spanning_marginals

__all__ = [
    "available",
    "chain_log_partition",
    "chain_marginals",
    "chain_mode",
    "plainly",
    "projective_log_partition",
    "projective_marginals",
    "projective_mode",
    "segment_marginals",
    "spanning_log_partition",
    "spanning_marginals",
]
