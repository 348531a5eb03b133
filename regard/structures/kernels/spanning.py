"""Spanning trees by the matrix-tree theorem: log-partition and marginals over a flat batch, on any device.

    score(tree) = Σ_m arcs[head(m), m]

arcs, lengths and single_root are as in `projective`; arcs may cross. Let W = exp(arcs − maximum of each
column). The shift changes log Z by the sum of the maxima and leaves all probabilities unchanged. Z is then
the determinant of a matrix L over the words, linear in W (Tutte; Koo et al. 2007, Structured prediction
models via the matrix-tree theorem):

    any roots     L[m, m] = Σ_{h ≥ 0} W[h, m],   L[h, m] = −W[h, m]
    single root   L[m, m] = Σ_{h ≥ 1} W[h, m],   L[h, m] = −W[h, m],   then the first row is W[0, ·]

    M[h, m] = W[h, m] · Σ_ij L⁻¹[j, i] ∂L[i, j] / ∂W[h, m]

so the marginals, and through dL⁻¹ = −L⁻¹ dL L⁻¹ their backward pass, need a single inverse, in double
precision. If the best heads form cycles, the inverse is large and differences of its entries lose digits.
Such sentences are recognized by the size of the inverse and computed without subtraction (see
`cpu/absorption`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.private import apply, traced, triton_works
from regard.structures.kernels.batched_inverse import full_lengths, laplacian, tangent, weigh
from regard.structures.kernels.batching import join_batch, signed
from regard.structures.kernels.operators import differentiable, seen_whole

# Largest entry of the inverse for which double precision leaves enough digits for the caller's dtype.
_TRUSTED = {torch.float32: 1e6, torch.float64: 1e4}
_LARGEST_ON_CUDA = 129  # positions: a matrix of 128 words in double precision must fit into registers


def spanning_log_partition(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
    """log Σ_tree exp score(tree), (B,); −inf where no tree is possible. Differentiable twice."""
    value: Tensor = _log_partition(arcs, lengths, single_root)
    return value


def spanning_marginals(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
    """p(h is the head of m), (B, N+1, N+1); zeros where no tree is possible."""
    if torch.compiler.is_compiling() or traced():
        value: Tensor = _marginals(arcs, lengths, single_root)
    else:
        value = apply(_Marginals, arcs, lengths, single_root)[0]
    return value


def doubts(largest: Tensor, dtype: torch.dtype) -> Tensor:
    """Which inverses are too large for a result of this dtype."""
    return ~(largest < _TRUSTED[dtype])


def _carefully(
    name: str, arcs: Tensor, lengths: Tensor | None, single_root: bool, doubtful: Tensor, *more: Tensor
) -> Tensor:
    """Compute function `name` of `absorption` for the doubtful part of the batch, on the CPU."""
    from regard.structures.kernels.cpu import absorption

    chosen = (part[doubtful].cpu() for part in (arcs, full_lengths(arcs, lengths), *more))
    answer: Tensor = getattr(absorption, name)(*chosen, single_root)
    return answer.to(arcs.device, arcs.dtype)


def _covariance(
    arcs: Tensor, lengths: Tensor | None, single_root: bool, doubtful: Tensor | None, gradient: Tensor
) -> Tensor:
    """Backward pass of the marginals in differentiable operations on the arcs, for second derivatives."""
    known = full_lengths(arcs, lengths)
    W, _ = weigh(arcs, known)
    L = laplacian(W, known, single_root)
    if doubtful is not None:
        one = torch.eye(L.shape[-1], dtype=L.dtype, device=L.device)
        L = torch.where(doubtful[:, None, None], one, L)
    return tangent(W, torch.linalg.inv_ex(L)[0], single_root, gradient)


def _backend(arcs: Tensor) -> Any:
    if not arcs.is_cuda:
        from regard.structures.kernels.cpu import matrix_tree

        return matrix_tree
    if arcs.shape[-1] <= _LARGEST_ON_CUDA and triton_works():
        from regard.structures.kernels.cuda import spanning as on_cuda

        return on_cuda
    from regard.structures.kernels import batched_inverse

    return batched_inverse


def _any_doubts(largest: Tensor, dtype: torch.dtype) -> Tensor | None:
    """Which sentences need `absorption`; None, the usual case, if none. Copies one number from the device."""
    doubtful = doubts(largest, dtype)
    return doubtful if doubtful.any() else None


_GIVEN = "(Tensor arcs, Tensor? lengths, bool single_root)"


class _LogPartition(torch.autograd.Function):
    @staticmethod
    @signed
    def forward(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
        value: Tensor
        value, largest = _backend(arcs).log_partition(arcs, lengths, single_root)
        doubtful = _any_doubts(largest, arcs.dtype)
        if doubtful is not None:
            value[doubtful] = _carefully("log_partition", arcs, lengths, single_root, doubtful)
        return value

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        arcs, lengths, ctx.single_root = inputs
        ctx.save_for_backward(arcs, lengths)
        ctx.save_for_forward(arcs, lengths)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        arcs, lengths = ctx.saved_tensors
        return gradient[:, None, None] * spanning_marginals(arcs, lengths, ctx.single_root), None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: Any) -> Tensor:
        arcs, lengths = ctx.saved_tensors
        marginals = spanning_marginals(arcs, lengths, ctx.single_root)
        return torch.where(marginals > 0, marginals * tangent, 0.0).sum((1, 2))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Any, Any]:
        return join_batch(_LogPartition.apply, info.batch_size, in_dims, arguments)


class _Marginals(torch.autograd.Function):
    """The marginals and, for the backward pass, the inverses as the kernel keeps them and the doubts."""

    @staticmethod
    @signed
    def forward(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> tuple[Tensor, Tensor, Tensor]:
        marginals, inverse, largest = _backend(arcs).marginals(arcs, lengths, single_root)
        doubtful = _any_doubts(largest, arcs.dtype)
        if doubtful is None:
            return marginals, inverse, largest.new_empty(arcs.shape[0], 0, dtype=torch.bool)
        marginals[doubtful] = _carefully("marginals", arcs, lengths, single_root, doubtful)
        return marginals, torch.where(doubtful[:, None, None], 0.0, inverse), doubtful.unsqueeze(1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        arcs, lengths, ctx.single_root = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(arcs, lengths, *output[1:])
        ctx.save_for_forward(arcs, lengths, *output[1:])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None, *_: Any) -> tuple[Tensor | None, None, None]:
        if gradient is None:
            return None, None, None
        arcs, lengths, inverse, flags = ctx.saved_tensors
        return _pulled_back(arcs, lengths, ctx.single_root, inverse, flags, gradient), None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: Any) -> tuple[Tensor, None, None]:
        # The matrix of second derivatives of log Z is symmetric, so the same product goes both ways.
        arcs, lengths, inverse, flags = ctx.saved_tensors
        return _pulled_back(arcs, lengths, ctx.single_root, inverse, flags, tangent), None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Any, Any]:
        return join_batch(_Marginals.apply, info.batch_size, in_dims, arguments)


def _pulled_back(
    arcs: Tensor, lengths: Tensor | None, single_root: bool, inverse: Tensor, flags: Tensor, gradient: Tensor
) -> Tensor:
    """The gradient of the arcs, from what the forward pass of the marginals kept."""
    doubtful = flags[:, 0] if flags.shape[1] else None
    if torch.is_grad_enabled():
        result = _covariance(arcs, lengths, single_root, doubtful, gradient)
    else:
        result = _backend(arcs).covariance(arcs, lengths, single_root, inverse, gradient)
    if doubtful is not None:
        careful = torch.zeros_like(arcs)
        careful[doubtful] = _carefully("covariance", arcs, lengths, single_root, doubtful, gradient)
        result = torch.where(doubtful[:, None, None], careful, result)
    return result


@seen_whole(
    "spanning_covariance",
    "(Tensor arcs, Tensor? lengths, bool single_root, Tensor gradient) -> Tensor",
    lambda arcs, *_: arcs.new_empty(arcs.shape),
)
def _covariance_anew(arcs: Tensor, lengths: Tensor | None, single_root: bool, gradient: Tensor) -> Tensor:
    _, inverse, flags = _Marginals.forward(arcs, lengths, single_root)
    with torch.no_grad():
        return _pulled_back(arcs, lengths, single_root, inverse, flags, gradient)


class _MarginalsAlone(torch.autograd.Function):
    """The marginals alone. A compiler must know the shapes of all results, and those of the doubts depend on
    the numbers; so the backward pass inverts again."""

    @staticmethod
    def forward(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
        value: Tensor = _Marginals.forward(arcs, lengths, single_root)[0]
        return value

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        arcs, lengths, ctx.single_root = inputs
        ctx.save_for_backward(arcs, lengths)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        arcs, lengths = ctx.saved_tensors
        return _covariance_anew(arcs, lengths, ctx.single_root, gradient), None, None


_log_partition = differentiable(
    "spanning_log_partition",
    f"{_GIVEN} -> Tensor",
    _LogPartition,
    lambda arcs, lengths, single_root: arcs.new_empty(arcs.shape[0]),
)
_marginals = differentiable(
    "spanning_marginals",
    f"{_GIVEN} -> Tensor",
    _MarginalsAlone,
    lambda arcs, lengths, single_root: arcs.new_empty(arcs.shape),
)
