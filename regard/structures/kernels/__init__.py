"""Fast paths: numba on the processor, Triton on CUDA, over one flat batch. Neither is imported before it is used."""

from regard.structures.kernels.availability import available
from regard.structures.kernels.chain import chain_log_partition, chain_marginals, chain_mode
from regard.structures.kernels.projective import (
    projective_log_partition,
    projective_marginals,
    projective_mode,
)
from regard.structures.kernels.segments import segment_marginals
from regard.structures.kernels.spanning import spanning_log_partition, spanning_marginals

__all__ = [
    "available",
    "chain_log_partition",
    "chain_marginals",
    "chain_mode",
    "projective_log_partition",
    "projective_marginals",
    "projective_mode",
    "segment_marginals",
    "spanning_log_partition",
    "spanning_marginals",
]
