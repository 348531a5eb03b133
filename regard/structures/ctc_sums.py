"""The sum over all alignments of frames with symbols, and its gradient, without a graph of its steps.

`CTCAlignment._inside` is the reference. Here each step is a few operations on whole batches, forward and backward;
their product is the marginals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from regard.structures.semirings import NEGATIVE_INFINITY

Reference = Callable[..., Tensor]


def summed(
    symbols: Tensor, blank: Tensor, direct: Tensor, frames: Tensor, count: Tensor, reference: Reference
) -> Tensor:
    """log Σ exp score, (B,): symbols (B, N, T), blank (B, N), direct (B, T), numbers of frames and symbols (B,).

    reference   the same function of the five tensors, for a second derivative
    """
    found: Tensor = CTCSum.apply(symbols, blank, direct, frames, count, reference)
    return found


class CTCSum(torch.autograd.Function):
    """`summed`. A second derivative runs the reference."""

    @staticmethod
    def forward(
        ctx: Any,
        symbols: Tensor,
        blank: Tensor,
        direct: Tensor,
        frames: Tensor,
        count: Tensor,
        reference: Reference,
    ) -> Tensor:
        ctx.reference = reference
        silent, said = _forward(symbols, blank, direct)
        rows = torch.arange(len(symbols), device=symbols.device)
        total = torch.logaddexp(silent, said)[frames, rows, count]
        ctx.save_for_backward(symbols, blank, direct, frames, count, silent, said, total)
        return total

    @staticmethod
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor | None, ...]:
        symbols, blank, direct, frames, count, silent, said, total = ctx.saved_tensors
        if torch.is_grad_enabled():
            return _by_reference(ctx, given)
        some = total != NEGATIVE_INFINITY
        weight = torch.where(some, given, torch.zeros_like(given))
        base = torch.where(total.isfinite(), total, torch.zeros_like(total))
        d_symbols, d_blank, d_direct = _backward(symbols, blank, direct, frames, count, silent, said, base)
        return (
            weight[:, None, None] * d_symbols,
            weight[:, None] * d_blank,
            weight[:, None] * d_direct,
            None,
            None,
            None,
        )


def _by_reference(ctx: Any, given: Tensor) -> tuple[Tensor | None, ...]:
    """The gradient with a graph, for its own gradient."""
    symbols, blank, direct, frames, count, *_ = ctx.saved_tensors
    again = ctx.reference(symbols, blank, direct, frames, count)
    wanted = [
        one for one, asked in zip((symbols, blank, direct), ctx.needs_input_grad, strict=False) if asked
    ]
    found = iter(torch.autograd.grad(again, wanted, given, create_graph=True, allow_unused=True))
    return *(next(found) if asked else None for asked in ctx.needs_input_grad[:3]), None, None, None


def _forward(symbols: Tensor, blank: Tensor, direct: Tensor) -> tuple[Tensor, Tensor]:
    """(N+1, B, T+1) each: after n frames t symbols were said, the last frame blank, or saying the last symbol."""
    rows, frames, count = symbols.shape
    silent = symbols.new_full((frames + 1, rows, count + 1), NEGATIVE_INFINITY)
    said = silent.clone()
    silent[0, :, 0] = 0.0
    for n in range(frames):
        goes_on = torch.logaddexp(said[n, :, 1:], silent[n, :, :-1])
        goes_on = torch.logaddexp(goes_on, said[n, :, :-1] + direct)
        said[n + 1, :, 1:] = goes_on + symbols[:, n]
        silent[n + 1] = torch.logaddexp(silent[n], said[n]) + blank[:, n, None]
    return silent, said


def _backward(
    symbols: Tensor,
    blank: Tensor,
    direct: Tensor,
    frames: Tensor,
    count: Tensor,
    silent: Tensor,
    said: Tensor,
    total: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """The marginals of the parts: the weight before a part, times the part, times the weight after it."""
    rows, steps, width = symbols.shape
    places = torch.arange(width + 1, device=symbols.device)
    end = torch.where(places == count[:, None], 0.0, NEGATIVE_INFINITY).to(symbols.dtype)  # (B, T+1)
    d_symbols, d_blank, d_direct = (torch.zeros_like(one) for one in (symbols, blank, direct))
    # the weight of all that follows n frames, by whether the last frame is blank or says a symbol
    after_silent = torch.where((frames == steps)[:, None], end, NEGATIVE_INFINITY)
    after_said = after_silent.clone()
    for n in range(steps - 1, -1, -1):
        here = after_said[:, 1:] + symbols[:, n]  # (B, T): frame n says symbol t, and what follows
        d_symbols[:, n] = (said[n + 1, :, 1:] + after_said[:, 1:] - total[:, None]).exp()
        d_blank[:, n] = (silent[n + 1] + after_silent - total[:, None]).exp().sum(-1)
        d_direct += (said[n, :, :-1] + direct + here - total[:, None]).exp()
        quiet = after_silent + blank[:, n, None]
        speaks = torch.cat([here, here.new_full((rows, 1), NEGATIVE_INFINITY)], 1)
        before_silent = torch.logaddexp(quiet, speaks)
        follows = torch.cat([direct + here, here.new_full((rows, 1), NEGATIVE_INFINITY)], 1)
        stays = torch.cat([here.new_full((rows, 1), NEGATIVE_INFINITY), here], 1)
        before_said = torch.logaddexp(torch.logaddexp(quiet, follows), stays)
        ends = (frames == n)[:, None]
        after_silent = torch.where(ends, end, before_silent)
        after_said = torch.where(ends, end, before_said)
    return d_symbols, d_blank, d_direct
