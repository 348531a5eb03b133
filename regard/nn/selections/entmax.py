"""Between softmax and sparsemax: α-entmax (Peters, Niculae, Martins 2019).

    α_t = argmax_p  p·e + H_a(p),    H_a(p) = Σ_s (p_s − p_s^a) / (a (a − 1))    Tsallis' entropy

    α_ts = max((a − 1) e_ts − τ, 0)^{1/(a − 1)}   with τ such that Σ_s α_ts = 1

a → 1 is softmax, a = 2 is sparsemax. In between, scores far below the best get exactly zero, more of them the
larger a is. With w_s = α_s^{2−a} on the support, the gradient of g·α is  w ⊙ (g − Σ w g / Σ w).
"""

from __future__ import annotations

from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor

from regard.nn.selections.selection import NOTHING, Given, Selection, by_query
from regard.nn.symbols import LookSymbols
from regard.parts import register

HALVINGS = {torch.float64: 60}
"""Number of halvings of the interval that contains τ; 40 are enough for single precision."""


@register("selection", "entmax")
class Entmax(Selection):
    """The distribution with the highest p·e + H_a(p), with exact zeros."""

    class Options(Selection.Options):
        """Between softmax and sparsemax, with exact zeros."""

        alpha: Annotated[float, Field(gt=1.0, le=4.0)] = 1.5
        """The parameter a: near 1 almost a softmax, 2 is sparsemax; larger is sparser."""

    def __init__(self, *, alpha: float = 1.5) -> None:
        super().__init__()
        self.alpha = alpha

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        power, factor = 1 / (options.alpha - 1), f"{options.alpha - 1:.12g}"
        what = f"max({factor} {look.energy} − τ, 0)^{power:g}, τ such that the sum is 1"
        return [f"{look.weights} = entmax_{look.below}({look.energy}, {options.alpha:.12g})     — {what}"]

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        return entmax(scores, by_query(mask), self.alpha)


def entmax(scores: Tensor, mask: Tensor, alpha: float) -> Tensor:
    """Over the last dimension, where the mask is True; all zero if it is nowhere True."""
    weights: Tensor = _Entmax.apply(scores, mask.expand_as(scores), alpha)  # type: ignore[no-untyped-call]
    return weights


class _Entmax(torch.autograd.Function):
    """Find τ by bisection: it lies between the best scaled score minus 1 and that score."""

    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor, mask: Tensor, alpha: float) -> Tensor:
        scaled = (scores * (alpha - 1)).masked_fill(~mask, -torch.inf)
        best = scaled.amax(-1, keepdim=True)
        high = torch.where(best.isfinite(), best, 0.0)
        low, power = high - 1, 1 / (alpha - 1)
        for _ in range(HALVINGS.get(scores.dtype, 40)):
            middle = (low + high) / 2
            enough = (scaled - middle).clamp(min=0).pow(power).sum(-1, keepdim=True) >= 1
            low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)
        weights = (scaled - low).clamp(min=0).pow(power)
        total = weights.sum(-1, keepdim=True)
        # the total is 0 only if the mask is nowhere True; with a score of NaN or +inf it is NaN
        return torch.where((best == -torch.inf), 0.0, weights / total)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)
        ctx.alpha = inputs[2]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (weights,) = ctx.saved_tensors
        return _slope(weights, ctx.alpha, gradient), None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: Any) -> Tensor:
        (weights,) = ctx.saved_tensors
        return _slope(weights, ctx.alpha, tangent)  # the Jacobian is symmetric


def _slope(weights: Tensor, alpha: float, gradient: Tensor) -> Tensor:
    """The product of the Jacobian at these weights and a gradient."""
    support = weights > 0
    slopes = torch.where(support, weights, 1.0).pow(2 - alpha) * support
    mean = (slopes * gradient).sum(-1, keepdim=True) / slopes.sum(-1, keepdim=True).clamp(min=1e-30)
    return slopes * (gradient - mean)
