"""Spanning trees by the matrix-tree theorem: log-partition and marginals over a flat batch, on any device.

    score(tree) = Σ_m arcs[head(m), m]

arcs, lengths and single_root are those of `projective`; arcs may cross. With W = exp(arcs − the best of each
column), which moves log Z by what was taken and no probability, Z is the determinant of a matrix L over the words,
linear in W (Tutte; Koo et al. 2007, Structured prediction models via the matrix-tree theorem):

    any roots     L[m, m] = Σ_{h ≥ 0} W[h, m],   L[h, m] = −W[h, m]
    single root   L[m, m] = Σ_{h ≥ 1} W[h, m],   L[h, m] = −W[h, m],   then the first row is W[0, ·]

    M[h, m] = W[h, m] · Σ_ij L⁻¹[j, i] ∂L[i, j] / ∂W[h, m]

so the marginals, and through dL⁻¹ = −L⁻¹ dL L⁻¹ their backward pass, come from one inverse, in double precision.
Where the best heads form cycles the inverse is large and its differences lose digits: such sentences are recognised
by its size and done without any subtraction (see `cpu/absorption`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.structures.kernels.batching import join_batch, signed

# The largest entry of the inverse at which 53 bits still leave the digits that the caller's type can hold.
_TRUSTED = {torch.float32: 1e6, torch.float64: 1e4}


def spanning_log_partition(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """log Σ_tree exp score(tree), (B,); −inf where no tree is possible. Differentiable twice."""
    value: Tensor = _LogPartition.apply(arcs, lengths, single_root)
    return value


def spanning_marginals(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """p(h is the head of m), (B, N+1, N+1); zeros where no tree is possible."""
    value: Tensor = _Marginals.apply(arcs, lengths, single_root)[0]
    return value


def weigh(arcs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """W (B, N+1, N) in double precision, zero beyond the length, and what was taken from the columns (B,)."""
    size = arcs.shape[-1]
    position = torch.arange(size, device=arcs.device)
    word = position <= lengths[:, None]  # (B, N+1)
    allowed = word[:, :, None] & word[:, None, 1:] & (position[:, None] != position[1:])
    scores = torch.where(allowed, arcs[:, :, 1:].double(), -torch.inf)
    best = scores.detach().amax(1, keepdim=True)
    best = torch.where(best > -torch.inf, best, 0.0)
    return (scores - best).exp(), best.sum((1, 2))


def laplacian(W: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
    """L (B, N, N), linear in W; where lengths are given, with ones on the diagonal beyond them."""
    words = W[:, 1:]
    degree = words.sum(1) if single_root else W.sum(1)
    if lengths is not None:
        beyond = torch.arange(1, W.shape[-1] + 1, device=W.device) > lengths[:, None]
        degree = degree + beyond
    L = torch.diag_embed(degree) - words
    if single_root:
        first = W[:, :1]
        if lengths is not None:
            # A sentence without words has no first row to replace.
            first = torch.where(lengths[:, None, None] > 0, first, L[:, :1])
        L = torch.cat([first, L[:, 1:]], 1)
    return L


def slopes(inverse: Tensor, single_root: bool) -> Tensor:
    """∂ log Z / ∂W (B, N+1, N) from L⁻¹; linear, so it also takes dL⁻¹."""
    turned = inverse.transpose(1, 2)  # [h, m] = L⁻¹[m, h]
    own = turned.diagonal(dim1=1, dim2=2).unsqueeze(1)  # L⁻¹[m, m]
    if not single_root:
        return torch.cat([own, own - turned], 1)
    N = inverse.shape[-1]
    later = (torch.arange(N, device=inverse.device) > 0).to(inverse.dtype)
    return torch.cat([turned[:, :1], own * later - turned * later[:, None]], 1)


def invert(W: Tensor, lengths: Tensor, single_root: bool, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """L⁻¹, and which of the batch it cannot be trusted for: too large for an answer of this type."""
    inverse = torch.linalg.inv_ex(laplacian(W, lengths, single_root))[0]
    size = inverse.abs().flatten(1).amax(1) if inverse.numel() else inverse.new_zeros(len(inverse))
    return inverse, ~(size < _TRUSTED[dtype])


def _carefully(
    name: str, arcs: Tensor, lengths: Tensor, single_root: bool, doubtful: Tensor, *more: Tensor
) -> Tensor:
    """The same question for the doubtful part of the batch, answered on the processor without subtraction."""
    from regard.structures.kernels.cpu import absorption

    chosen = (part[doubtful].cpu() for part in (arcs, lengths, *more))
    answer: Tensor = getattr(absorption, name)(*chosen, single_root)
    return answer.to(arcs.device, arcs.dtype)


def _covariance(
    arcs: Tensor, lengths: Tensor, single_root: bool, inverse: Tensor, doubtful: Tensor, gradient: Tensor
) -> Tensor:
    """The derivative of the marginals along the gradient: W ⊙ (slopes(L⁻¹) ⊙ G − slopes(L⁻¹ dL L⁻¹))."""
    W, _ = weigh(arcs, lengths)
    if torch.is_grad_enabled():
        # A gradient of this gradient is wanted: the inverse again, as a function of the arcs.
        L = laplacian(W, lengths, single_root)
        one = torch.eye(L.shape[-1], dtype=L.dtype, device=L.device)
        inverse = torch.linalg.inv_ex(torch.where(doubtful[:, None, None], one, L))[0]
    gain = torch.where(W > 0, gradient[:, :, 1:].double(), 0.0)
    change = laplacian(W * gain, None, single_root)
    slope = slopes(inverse, single_root) * gain - slopes(inverse @ change @ inverse, single_root)
    return torch.nn.functional.pad(W * slope, (1, 0)).to(arcs.dtype)


def _on_processor() -> Any:
    from regard.structures.kernels.cpu import matrix_tree

    return matrix_tree


class _LogPartition(torch.autograd.Function):
    @staticmethod
    @signed
    def forward(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
        value: Tensor
        if arcs.is_cuda:
            W, shift = weigh(arcs, lengths)
            _, doubtful = invert(W, lengths, single_root, arcs.dtype)
            value = (torch.linalg.slogdet(laplacian(W, lengths, single_root))[1] + shift).to(arcs.dtype)
        else:
            value, largest = _on_processor().log_partition(arcs, lengths, single_root)
            doubtful = ~(largest < _TRUSTED[arcs.dtype])
        if doubtful.any():
            value[doubtful] = _carefully("log_partition", arcs, lengths, single_root, doubtful)
        return value

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        arcs, lengths, ctx.single_root = inputs
        ctx.save_for_backward(arcs, lengths)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        arcs, lengths = ctx.saved_tensors
        return gradient[:, None, None] * _Marginals.apply(arcs, lengths, ctx.single_root)[0], None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Any, Any]:
        return join_batch(_LogPartition.apply, info.batch_size, in_dims, arguments)


class _Marginals(torch.autograd.Function):
    """The marginals, and L⁻¹ and the doubtful ones for the backward pass."""

    @staticmethod
    @signed
    def forward(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor, Tensor]:
        if arcs.is_cuda:
            W, _ = weigh(arcs, lengths)
            inverse, doubtful = invert(W, lengths, single_root, arcs.dtype)
            marginals = torch.nn.functional.pad(W * slopes(inverse, single_root), (1, 0)).to(arcs.dtype)
        else:
            marginals, inverse, largest = _on_processor().marginals(arcs, lengths, single_root)
            doubtful = ~(largest < _TRUSTED[arcs.dtype])
        if doubtful.any():
            marginals[doubtful] = _carefully("marginals", arcs, lengths, single_root, doubtful)
            inverse = torch.where(doubtful[:, None, None], 0.0, inverse)
        return marginals, inverse, doubtful

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        arcs, lengths, ctx.single_root = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(arcs, lengths, *output[1:])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None, *_: Any) -> tuple[Tensor | None, None, None]:
        if gradient is None:
            return None, None, None
        arcs, lengths, inverse, doubtful = ctx.saved_tensors
        if torch.is_grad_enabled() or arcs.is_cuda:
            result = _covariance(arcs, lengths, ctx.single_root, inverse, doubtful, gradient)
        else:
            result = _on_processor().covariance(arcs, lengths, ctx.single_root, inverse, gradient)
        if doubtful.any():
            careful = torch.zeros_like(arcs)
            careful[doubtful] = _carefully("covariance", arcs, lengths, ctx.single_root, doubtful, gradient)
            result = torch.where(doubtful[:, None, None], careful, result)
        return result, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Any, Any]:
        return join_batch(_Marginals.apply, info.batch_size, in_dims, arguments)
