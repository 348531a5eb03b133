"""The best tokens that the limits of a search allow, at a step that only the device knows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from regard.nn.constraints.table import ConstraintTable
from regard.nn.path import Replaces
from regard.nn.search.banks import with_missing
from regard.nn.search.constrained import Constrained
from regard.nn.search.stepper import Bounds, Stepper, top
from regard.structures.kernels.availability import triton_takes

CONSTRAINED = Replaces(Constrained)
"""Steps that obey a constraint, as the paths obey it."""


def unconstrained(stepper: Stepper) -> Stepper:
    """The steps without their constraint."""
    found: Stepper = stepper.inner if CONSTRAINED.kind(stepper) is not None else stepper  # type: ignore[attr-defined]
    return found


def constraint_lacks(stepper: Stepper) -> str:
    """Why a path cannot obey the constraint of some steps; empty if it can, or if there is none."""
    if CONSTRAINED.kind(stepper) is None:
        return ""
    bound = cast(Constrained, stepper)
    if bound.table.after is None or bound.copies is not None:
        return "The table of the constraint is too large, or words are copied."
    return ""


@dataclass(frozen=True)
class Obeyed:
    """The constraint of a search, and the states (B, K) of its hypotheses."""

    table: ConstraintTable
    states: Tensor

    @staticmethod
    def of(stepper: Stepper, words: Tensor) -> Obeyed | None:
        """The constraint of some steps before the first word; None if there is none."""
        if CONSTRAINED.kind(stepper) is None:
            return None
        return Obeyed(cast(Constrained, stepper).table, torch.zeros_like(words))

    def address(self) -> Hashable:
        """What identifies the table in a recording."""
        parts = (self.table.after, self.table.needed, self.table.missing)
        return (self.table.size, *(None if part is None else part.data_ptr() for part in parts))

    def forbid(self, logits: Tensor, left: Tensor) -> None:
        """Set the tokens that do not obey to −inf, in place; left (B): the tokens that may follow the next one."""
        assert self.table.after is not None
        needed = self.table.needed[self.table.after[self.states]]
        logits.masked_fill_(needed > left[:, None, None], -torch.inf)

    def at_first(self) -> int:
        """The tokens that the banks need before the first word."""
        missing = self.table.on_host().missing
        return 0 if missing is None else int(missing[0])

    def tensors(self) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
        """`after`, `needed` and `missing` of the table, and the states."""
        assert self.table.after is not None
        return self.table.after, self.table.needed, self.table.missing, self.states

    def missing(self) -> tuple[Tensor, Tensor]:
        """As in `Step`."""
        assert self.table.missing is not None and self.table.after is not None
        return self.table.missing[self.states], self.table.missing[self.table.after[self.states]]


def allowed_top(
    logits: Tensor,
    bounds: Bounds,
    at: Tensor,
    count: int,
    *,
    late: bool,
    obeyed: Obeyed | None = None,
    nearer: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Normalizers (B, K), and the `count` highest logits that the limits allow at step `at` (), as in `top`.

    late     whether an output may have to end at this step
    obeyed   the constraint
    nearer   if the constraint has banks: number of further tokens, which lead to a bank nearer to the end, and the
             banks (B, K, count + nearer) of all; otherwise None
    """
    nearer = 0 if obeyed is None or obeyed.table.missing is None else min(nearer, logits.shape[-1])
    if triton_takes(logits):
        from regard.fast.cuda import best

        if best.serves(logits, count, bounds.forbidden):
            end, minimum, forbidden = bounds.end, bounds.minimum, bounds.forbidden
            return best.best(
                logits,
                bounds.last,
                at,
                count,
                end=end,
                minimum=minimum,
                forbidden=forbidden,
                table=None if obeyed is None else obeyed.tensors(),
                nearer=nearer,
            )
    normalizers = logits.logsumexp(-1)
    found = top(allow(bounds, logits, at, late=late, obeyed=obeyed), count)
    if nearer and obeyed is not None:
        return normalizers, *with_missing(logits, *found, obeyed.missing(), nearer)
    return normalizers, *found, None


def allow(
    bounds: Bounds, logits: Tensor, step: Tensor, *, late: bool, obeyed: Obeyed | None = None
) -> Tensor:
    """`Bounds.apply` at a step () that only the device knows, without a prefix.

    late   whether an output may have to end at this step
    """
    if obeyed is not None:
        obeyed.forbid(logits, bounds.last - step - 1)
    for token in bounds.forbidden:
        if 0 <= token < logits.shape[-1]:
            logits[..., token] = -torch.inf
    if bounds.minimum:
        logits[..., bounds.end].masked_fill_(step < bounds.minimum, -torch.inf)
    if late:
        end = logits[..., bounds.end].clone()
        logits.masked_fill_(bounds.ended(step)[:, None, None], -torch.inf)
        logits[..., bounds.end] = end
    return logits
