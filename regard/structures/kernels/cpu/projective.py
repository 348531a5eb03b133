"""Projective trees on the CPU: plain numbers for groups of sentences, wide numbers for sentences beyond their range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.structures.kernels.cpu import (
    projective_mode,
    scaled_projective,
    scaled_projective_tangents,
    wide_projective,
    wide_projective_tangents,
)
from regard.structures.kernels.cpu.arguments import arrays, full_lengths
from regard.structures.kernels.cpu.parallel import over_batch

_LONGEST_ROW = 400
"""Positions times sentences of a group, at most: its charts should fit into the cache."""
_LARGEST_GROUP = 8


def log_partition(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
    result = arcs.new_empty(arcs.shape[0])
    _in_groups(
        scaled_projective.log_partition, wide_projective.log_partition, arcs, lengths, single_root, result
    )
    return result


def marginals(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
    result = arcs.new_zeros(arcs.shape)
    _in_groups(scaled_projective.marginals, wide_projective.marginals, arcs, lengths, single_root, result)
    return result


def covariance(arcs: Tensor, lengths: Tensor | None, single_root: bool, gradient: Tensor) -> Tensor:
    result = arcs.new_zeros(arcs.shape)
    scaled, wide = scaled_projective_tangents.covariance, wide_projective_tangents.covariance
    _in_groups(scaled, wide, arcs, lengths, single_root, gradient, result)
    return result


def _in_groups(
    scaled: Callable[..., Any],
    wide: Callable[..., Any],
    arcs: Tensor,
    lengths: Tensor | None,
    single_root: bool,
    *others: Tensor,
) -> None:
    """Call the kernel `scaled`, then `wide` for the sentences that need it. The last tensor is the result."""
    a, *more = arrays(arcs, *others)
    B, size = a.shape[:2]
    n = full_lengths(lengths, B, size - 1)
    order = np.arange(B) if lengths is None else _by_length(n)
    doubtful = np.empty(B, np.bool_)
    group = min(_LARGEST_GROUP, 1 << max(0, (_LONGEST_ROW // size).bit_length() - 1))
    over_batch(scaled, B, size**3, a, n, order, single_root, min(B, group), *more, doubtful)
    if doubtful.any():
        (rest,) = doubtful.nonzero()
        chosen = [part[rest] for part in (a, *more)]
        chosen[-1][...] = 0.0
        over_batch(wide, len(rest), size**3, chosen[0], n[rest], single_root, *chosen[1:])
        more[-1][rest] = chosen[-1]


def _by_length(lengths: Any) -> Any:
    """The sentences in an order in which those of a group have similar lengths, and threads have similar work."""
    threads, order = torch.get_num_threads(), np.argsort(lengths)
    return np.concatenate([order[thread::threads] for thread in range(threads)])


def mode(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> tuple[Tensor, Tensor]:
    scores = torch.empty(arcs.shape[0], dtype=arcs.dtype)
    heads = torch.full(arcs.shape[:2], -1, dtype=torch.int64)
    a, z, h = arrays(arcs, scores, heads)
    n = full_lengths(lengths, arcs.shape[0], arcs.shape[1] - 1)
    over_batch(projective_mode.mode, arcs.shape[0], arcs.shape[1] ** 3, a, n, single_root, z, h)
    return scores, heads
