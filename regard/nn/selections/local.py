"""One position near a center (Luong et al. 2015)."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.letters import Letters
from regard.nn.selections.selection import NOTHING, Given, Selection, by_query, masked_softmax
from regard.nn.symbols import LookSymbols
from regard.parts import Count, register

Center = Literal["predicted", "monotonic"]


@register("selection", "local")
class Local(Selection):
    """Softmax within a window of D positions on both sides of a center p.

    predicted    p = n · σ(v · tanh(W q)), n the length of the input; weights times exp(−(s − p)² / 2(D/2)²)
                 (local-p)
    monotonic    p = t, the output position, at most the last input position; no Gaussian (local-m)
    """

    class Options(Selection.Options):
        """Softmax within a window around a center."""

        window: Count = 10
        """Number of positions on either side of the center."""
        center: Center = "predicted"
        """Center of the window. predicted: computed from the state; monotonic: the number of the step."""

        moved = {"centre": "center"}

    needs = frozenset({"query", "step"})

    def __init__(
        self, query_size: int | None = None, *, window: int = 10, center: Center = "predicted"
    ) -> None:
        super().__init__()
        if window < 1:
            raise RegardError(f"A local window must be at least 1; received {window}.")
        self.window, self.monotonic = window, center == "monotonic"
        if not self.monotonic:
            if query_size is None:
                raise RegardError(
                    "Local selection predicts its center from the query.", fix="Give query_size."
                )
            self.hidden = nn.Linear(query_size, query_size, bias=False)
            self.center = nn.Linear(query_size, 1, bias=False)

    @classmethod
    def build(cls, options: Any, query_size: int) -> Local:
        return cls(query_size, window=options.window, center=options.center)

    @classmethod
    def sums_to_one(cls, options: Any) -> bool:
        return bool(options.center == "monotonic")

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        j, center, mark, D = look.index, look.sub("p", look.step), look.mark, options.window
        near = f"softmax_{{{j}: |{j} − {center}| ≤ {D}}}({look.energy})"
        if options.center == "monotonic":
            return [
                f"{center} = min({look.step}, {look.memory.length})",
                f"{look.weights} = {near}",
            ]
        inside = look.sub("β", look.step)
        return [
            f"{center} = 1 + {look.memory.length} σ(r_{mark}·tanh(C_{mark} {look.query}))",
            f"{inside} = {near}",
            f"{look.weight} = {look.sub('β', look.step, j)} exp(−2 (({j} − {center}) / {D})²)",
        ]

    @classmethod
    def letters(cls, options: Any, look: LookSymbols) -> Letters:
        return {"hidden.weight": f"C_{look.mark}", "center.weight": f"r_{look.mark}"}

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        mask = by_query(mask)  # (B, 1 or T, S)
        lengths = mask.sum(-1, keepdim=True)
        if self.monotonic:
            first = torch.arange(scores.shape[1], device=scores.device) if given.step is None else given.step
            centers = torch.as_tensor(first, device=scores.device).reshape(1, -1, 1)
            centers = torch.minimum(centers, lengths - 1).expand(-1, scores.shape[1], 1)
        elif given.query is None:
            raise RegardError(
                "Local selection predicts its center from the query.", fix="Pass Given(query=…)."
            )
        else:
            centers = lengths * torch.sigmoid(self.center(torch.tanh(self.hidden(given.query))))  # (B, T, 1)
        distance = torch.arange(scores.shape[2], device=scores.device) - centers  # (B, T, S)
        near = (distance.abs() <= self.window) & mask
        weights = masked_softmax(scores, near)
        if self.monotonic:
            return weights
        return weights * torch.exp(-(distance**2) / (2 * (self.window / 2) ** 2))
