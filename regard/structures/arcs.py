"""Base class of both dependency trees: scores of arcs between N words and the root symbol at position 0."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.structures.base import Backend, Structure
from regard.structures.potentials import (
    Lengths,
    Mask,
    Scores,
    apply_mask,
    as_floats,
    as_lengths,
    check_axes,
    expand_batch,
    joint_batch,
    shape_of,
)
from regard.structures.semirings import NEGATIVE_INFINITY

_LABELS = " If the last axis is labels, pass labeled=True."


class DependencyTree(Structure):
    """A head for every word, without cycles. Subclasses define the set of trees.

    arcs[..., h, m]      scores h as the head of word m; (..., N+1, N+1), column 0 and the diagonal ignored
    arcs[..., h, m, c]   the same with a label c on the arc; (..., N+1, N+1, C)
    """

    def __init__(
        self,
        arcs: Scores,
        single_root: bool = True,
        *,
        labeled: bool = False,
        lengths: Lengths = None,
        mask: Mask | None = None,
        backend: Backend = "auto",
    ) -> None:
        arcs, own, self.lengths = _prepare(arcs, labeled, lengths, mask)
        self.single_root, self.labeled = single_root, labeled
        batch = joint_batch(arcs=arcs.shape[: arcs.dim() - own], lengths=shape_of(self.lengths))
        super().__init__(
            [expand_batch(arcs, batch, own)],
            batch,
            (own,),
            lengths=(self.lengths,),
            options=(single_root, labeled),
            backend=backend,
        )

    @property
    def potentials(self) -> tuple[Tensor, ...]:
        return (_possible(self._given[0], self.labeled),)

    def heads(self, value: Tensor) -> Tensor:
        """The head of each of the N words of a value (..., N): 0 is the root symbol, −1 beyond the length."""
        tree = self._as_parts("value", value)
        words = (tree.any(-1) if self.labeled else tree)[..., :, 1:]  # (..., N+1, N)
        return torch.where(words.any(-2), words.to(torch.uint8).argmax(-2), -1)


def _prepare(
    arcs: Scores, labeled: bool, lengths: Lengths, mask: Mask | None
) -> tuple[Tensor, int, Tensor | None]:
    """The masked arcs in one precision, their number of own axes, and the lengths."""
    (arcs,) = as_floats(arcs=arcs)
    own = 3 if labeled else 2
    size = arcs.shape[-own] if arcs.dim() >= own else None
    check_axes("arcs", arcs, ["N+1", "N+1", "C"][:own], [size, size, None][:own], _LABELS)
    if size == 0:
        raise ValueError(
            "arcs must have a row and a column for the root symbol: (N+1, N+1), at least (1, 1)."
        )
    arcs = apply_mask(arcs, mask, own)
    return arcs, own, as_lengths(lengths, arcs.shape[-own] - 1, arcs.device)


def _possible(arcs: Tensor, labeled: bool) -> Tensor:
    """The arcs with −inf for impossible ones: into the root symbol and from a word to itself."""
    positions = torch.arange(arcs.shape[-2 - labeled], device=arcs.device)
    possible = (positions.unsqueeze(-1) != positions) & (positions > 0)
    return torch.where(possible.unsqueeze(-1) if labeled else possible, arcs, NEGATIVE_INFINITY)
