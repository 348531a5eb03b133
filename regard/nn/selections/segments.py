"""Segmental attention: the selected positions form segments (Kim, Denton, Hoang, Rush 2017).

    p(z | e) ∝ exp( Σ_s e_s z_s + Σ_s b[z_s, z_{s+1}] ),  z_s ∈ {0, 1};  weights p(z_s = 1)

A binary chain over the positions. The score of being inside a segment is e_s, that of being outside is 0, and
the four numbers b00 b01 b10 b11 are learned. With b = 0 this is the sigmoid selection. If b11 and b00 are
larger than b01 and b10, neighbors tend to agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.estimates.estimate import Latent, estimate_options, make_estimate
from regard.nn.letters import Letters
from regard.nn.path import Replaces
from regard.nn.portable import portable
from regard.nn.precision import at_least_single
from regard.nn.selections.estimated import EstimatedOptions, estimate_lines
from regard.nn.selections.rescaled import Rescaled
from regard.nn.selections.selection import NOTHING, Given, by_query
from regard.nn.symbols import LookSymbols
from regard.parts import NotNegative, register
from regard.private import scanned
from regard.structures import Segmentation, kernels
from regard.trace import Potentials, Segments, Trace


@register("selection", "segments")
class Segmental(Rescaled):
    """Marginals of a binary chain; the context is rescaled as in `Rescaled`.

    transitions   (2, 2) b[i, j] scores label i followed by label j; initially zero
    decay         weight of the penalty decay · ‖b‖²
    """

    class Options(Rescaled.Options, EstimatedOptions):
        """Segments of neighboring positions: the marginals of a binary chain."""

        decay: NotNegative = 0.005
        """Weight of the L2 penalty on the four pairwise scores."""

    unguided = "a segment that covers every position minimizes the guided-attention loss"

    structured = True
    ruled = True

    @classmethod
    def build(cls, options: Any, query_size: int) -> Segmental:
        if options.estimate.part.plain:
            return cls(normalize=options.normalize, decay=options.decay)
        return EstimatedSegments(**dict(options))

    def __init__(
        self,
        *,
        normalize: float = 2.0,
        decay: float = 0.005,
        estimate: Any = "marginals",
        warmup: int = 0,
    ) -> None:
        super().__init__(normalize=normalize)
        if not estimate_options(estimate).part.plain and type(self) is Segmental:
            raise RegardError(
                f"Segmental computes marginals; received estimate={estimate!r}.",
                fix="Use  make_selection  with the options, or EstimatedSegments.",
            )
        if decay < 0:
            raise RegardError(f"decay must be at least 0; received {decay}.")
        self.decay = decay
        self.transitions = nn.Parameter(torch.zeros(2, 2))

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        j, length, score = look.index, look.memory.length, look.sub("ψ", look.step)
        z = f"z{look.prime}"
        pairs = f"Σ_{{{j}<{length}}} b_{look.mark}[{z}_{j}, {z}_{{{j}+1}}]"
        inside = f"Σ_{{{z}: {z}_{j} = 1}} exp({score}({z}))"
        lines = [
            f"{z} ∈ {{0, 1}}^{length}     — {z}_{j}: whether position {j} is inside a segment",
            f"{score}({z}) = Σ_{j} {look.energy} {z}_{j} + {pairs}",
        ]
        if not options.estimate.part.plain:
            return [*lines, *estimate_lines(options, look, z, score)]
        return [
            *lines,
            f"{look.weight} = {inside} / Σ_{z} exp({score}({z}))     — by forward-backward",
        ]

    @classmethod
    def read_equations(cls, options: Any, look: LookSymbols) -> list[str]:
        lines = super().read_equations(options, look)
        if options.estimate.part.plain or not options.normalize:
            return lines
        total, inside = lines[1].split(" = ")[0], f"Σ_{look.index} {look.weight}"
        return [lines[0], f"{total} = max({inside}, 1) / {options.normalize:g}     — there may be no segment"]

    @classmethod
    def letters(cls, options: Any, look: LookSymbols) -> Letters:
        return {"transitions": f"b_{look.mark}"}

    @classmethod
    def loss_lines(cls, options: Any, look: LookSymbols, *, lasting: bool) -> list[str]:
        squares = " + ".join(f"b_{look.mark}[{one}, {other}]²" for one in (0, 1) for other in (0, 1))
        penalty = f"penalty{look.prime} = {options.decay:g} ({squares})     — added at every update"
        return [penalty] if options.decay else []

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        B, T, S = scores.shape
        scores = at_least_single(scores)
        if torch.compiler.is_compiling() and portable():
            return self._by_scan(scores, mask)
        if S < 2 or not STRUCTURES(self) or not kernels.available("segments", scores):
            return self.structure(scores, mask).marginals
        inside = torch.where(by_query(mask), scores, -torch.inf)  # (B, T, S)
        return kernels.segment_marginals(
            inside.reshape(B * T, S),
            self.transitions.to(scores.dtype).expand(B * T, 2, 2),
            _extents(mask).expand(B, T).reshape(B * T),
        ).view(B, T, S)

    def _by_scan(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The marginals by forward-backward over the positions, in operations that other programs know; in double
        precision, because differences of long sums lose digits."""
        mask = by_query(mask).expand(scores.shape).flatten(0, 1)
        inside = torch.where(mask, scores.flatten(0, 1).double(), -torch.inf)
        nodes = torch.stack([torch.zeros_like(inside), inside], -1).transpose(0, 1)  # (S, B·T, 2)
        places = torch.arange(scores.shape[-1], device=scores.device)
        extents = (mask * (places + 1)).amax(-1)  # (B·T)
        real = (places[:, None] < extents).unsqueeze(-1)  # (S, B·T, 1)
        links = torch.where((places > 0)[:, None, None], self.transitions.double(), 0.0)  # (S, 2, 2)

        def forward(state: Tensor, given: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
            node, there, link = given
            state = torch.where(there, _log_sums(state, link.transpose(0, 1)) + node, state)
            return state, state.clone()

        def backward(state: Tensor, given: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
            node, there, link = given
            return torch.where(there, _log_sums(state + node, link), state), state.clone()

        nothing = torch.zeros_like(nodes[0])
        begin = torch.cat([nothing[..., :1], torch.full_like(nothing[..., 1:], -torch.inf)], -1)
        last, before = scanned(forward, begin, (nodes, real, links))
        _, after = scanned(backward, nothing, (nodes, real, links), reverse=True)
        marginals = torch.exp(before[..., 1] + after[..., 1] - _log_sum(last[..., 0], last[..., 1]))
        marginals = torch.where(real.squeeze(-1), marginals, 0.0)
        return marginals.transpose(0, 1).reshape(scores.shape).to(scores.dtype)

    def structure(self, scores: Tensor, mask: Tensor) -> Segmentation:
        """The distribution over segmentations, (B, T) chains, for its mode, samples and entropy."""
        return Segmentation(
            scores,
            self.transitions.to(scores.dtype),
            lengths=_extents(mask).expand(scores.shape[:2]),
            mask=by_query(mask),
        )

    def under_rules(
        self, weights: Tensor, scores: Tensor, mask: Tensor, rules: Tensor, step: int | None
    ) -> Tensor:
        from regard.nn.selections.segment_rules import ruled, rules_at

        allowed, found = by_query(mask).expand(scores.shape), weights.clone()
        for row in range(scores.shape[0]):
            for query in range(scores.shape[1]):
                if known := rules_at(rules, row, query if step is None else step):
                    found[row, query] = ruled(
                        scores[row, query], self.transitions, allowed[row, query], known
                    ).to(found.dtype)
        return found

    def traced(self, trace: Trace, name: str, best: Any, samples: Any) -> Segments:
        weights, truth = trace.attention[name], trace.truth.get(name)
        height, width = weights.shape
        return Segments(
            weights,
            best=best[:height, :width],
            truth=None if truth is None else (truth > 0).astype("int64"),
            samples=None if samples is None else samples[:, :height, :width],
        )

    def potentials(self, scores: Tensor, mask: Tensor) -> Potentials:
        inside = torch.where(mask, scores, -torch.inf)[:, mask].float()
        nodes = torch.stack([torch.zeros_like(inside), inside], -1).cpu().numpy()  # (T, S, 2)
        pairs = self.transitions.detach().float().cpu().numpy()
        return Potentials("chains", nodes, pairs, ("outside", "inside"))

    def penalty(self) -> Tensor:
        return self.decay * self.transitions.square().sum()


class EstimatedSegments(Segmental):
    """A class of its own: kernels compute the marginals, and leave a selection with another `forward` alone."""

    def __init__(
        self, *, estimate: Any, warmup: int = 0, normalize: float = 2.0, decay: float = 0.005
    ) -> None:
        super().__init__(normalize=normalize, decay=decay)
        self.estimate = make_estimate(estimate, warmup)

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        scores = at_least_single(scores)
        if self.estimate is None:
            return self.structure(scores, mask).marginals
        latent = Latent(
            structure=lambda scores: self.structure(scores, mask),
            weights=lambda value: value,
            score=lambda scores, segments: self.structure(scores, mask).score(segments),
            dims=1,
            parameters=(self.transitions,),
        )
        found: Tensor = self.estimate(latent, scores)
        return found

    def reading(self, weights: Tensor) -> Tensor:
        """w / γ with γ = max(Σ w, 1) / λ: a segmentation may have no position inside, and then reads nothing."""
        if not self.normalize:
            return weights
        return weights / (weights.sum(-1, keepdim=True).clamp(min=1.0) / self.normalize)


STRUCTURES = Replaces(Segmental, methods=("structure",))
"""The method that the kernel replaces."""


def _log_sums(scores: Tensor, transitions: Tensor) -> Tensor:
    """log Σ_j exp(transitions[i, j] + scores[j]) of each i, (…, 2)."""
    found = scores.unsqueeze(-2) + transitions  # (…, i, j)
    return _log_sum(found[..., 0], found[..., 1])


def _log_sum(one: Tensor, other: Tensor) -> Tensor:
    """log(exp(one) + exp(other)), of which one is finite."""
    return torch.maximum(one, other) + torch.log1p(torch.exp(-(one - other).abs()))


def _extents(mask: Tensor) -> Tensor:
    """(B, 1 or T) the index of the last real position plus one;
    masked positions before it are outside all segments."""
    return (by_query(mask) * torch.arange(1, mask.shape[-1] + 1, device=mask.device)).amax(-1)
