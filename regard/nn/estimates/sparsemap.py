"""SparseMAP: a mean of a few structures (Niculae, Martins, Blondel and Cardie 2018).

    μ = argmax_{μ = E_q[z]}  E_q[score(z)] − ½ ‖μ‖²

As sparsemax is to softmax. With scores of parts alone it is the point of the marginal polytope nearest to the scores.
Wolfe's active-set method (1976) needs nothing but the best structure:

    1. q on the active structures: the linear system of the problem without q ≥ 0
    2. if q has a negative entry: go towards it until an entry is 0, and drop that structure; back to 1
    3. add the best structure of the scores minus μ, if it gains more than the active ones; else done

On the active structures q is linear in their scores, so that the gradient is exact, also in scores of pairs.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.nn.estimates.estimate import Latent, StructureEstimate
from regard.parts import Count, register

STEPS = 20
"""Structures to ask for at most: where all scores are about equal, the answer is a mean of very many structures, and
one of fewer is near. The authors limit them too."""
GAIN = 1e-6
"""A structure that gains less is not added."""
RIDGE = 1e-10


@register("estimate", "sparsemap")
class SparseMAP(StructureEstimate):
    """A mean of a few structures."""

    class Options(StructureEstimate.Options):
        """A mean of a few structures."""

        steps: Count = STEPS
        """Number of structures to ask for at most; with fewer, the answer is the best mean of those that were found."""

    found = "mean"
    note = "the mean under the q with the highest E_q[score] − ½ ‖mean‖²"

    def __init__(self, warmup: int = 0, steps: int = STEPS) -> None:
        super().__init__(warmup)
        self.steps = steps

    def weights(self, latent: Latent, scores: Tensor) -> Tensor:
        return solve_sparsemap(latent, scores, steps=self.steps)[0]


def solve_sparsemap(latent: Latent, scores: Tensor, *, steps: int = STEPS) -> tuple[Tensor, Tensor, Tensor]:
    """μ (B, T, S), the active structures (K, B, T, S), and their shares q (K, …), zero for those not active.

    If `steps` do not suffice, μ is the best mean of the structures found so far.
    """
    event = scores.shape[scores.ndim - latent.dims :]
    with torch.no_grad():
        sound = torch.nan_to_num(scores.detach().double(), nan=0.0, posinf=torch.inf, neginf=-torch.inf)
        chosen, active = _active_set(latent, sound, event.numel(), steps)  # (n, K, D), (n, K)
    structures = chosen.movedim(1, 0).reshape(-1, *scores.shape)
    worth = latent.score(scores.double(), structures).flatten(1).mT  # (n, K)
    shares = _shares(chosen, worth, active)[0]  # (n, K)
    mean = (shares.unsqueeze(-1) * chosen).sum(1).view(scores.shape)
    batch = scores.shape[: scores.ndim - latent.dims]
    mean = mean.to(scores.dtype) + latent.spoiled(scores.detach())
    return mean, structures, shares.mT.reshape(-1, *batch)


def _active_set(latent: Latent, scores: Tensor, size: int, steps: int) -> tuple[Tensor, Tensor]:
    def best(shift: Tensor) -> Tensor:
        found = latent.weights(latent.structure(scores - shift.view(scores.shape)).mode)
        return found.double().reshape(-1, size)

    def worth(structures: Tensor) -> Tensor:
        return latent.score(scores, structures.view(scores.shape)).flatten()

    first = best(torch.zeros_like(scores))  # (n, D)
    count = len(first)
    chosen, gains = first.unsqueeze(1), worth(first).unsqueeze(1)  # (n, K, D), (n, K)
    active = torch.ones(count, 1, dtype=torch.bool, device=scores.device)
    shares = active.double()
    done = torch.zeros(count, dtype=torch.bool, device=scores.device)
    calls = 0
    for _ in range(4 * steps):
        if done.all():
            break
        target, level = _shares(chosen, gains, active)
        negative = active & (target < -1e-12)
        inner = negative.any(1) & ~done
        # towards the target, until a share is 0
        reach = (
            torch.where(negative, shares / (shares - target).clamp(min=1e-300), torch.inf)
            .amin(1)
            .clamp(max=1)
        )
        moved = torch.where(inner.unsqueeze(1), shares + reach.unsqueeze(1) * (target - shares), target)
        shares = torch.where(done.unsqueeze(1), shares, moved)
        dropped = inner.unsqueeze(1) & active & (shares < 1e-12)
        active, shares = active & ~dropped, torch.where(dropped, 0.0, shares)
        outer = ~inner & ~done
        if calls == steps:
            done = done | outer
        if not outer.any() or calls == steps:
            continue
        calls += 1
        mean = (shares.unsqueeze(-1) * chosen).sum(1)  # (n, D)
        new = best(mean)
        value = worth(new)
        better = outer & (value - (mean * new).sum(1) - level > GAIN * (1 + value.abs()))
        done = done | (outer & ~better)
        chosen = torch.cat([chosen, new.unsqueeze(1)], 1)
        gains = torch.cat([gains, value.unsqueeze(1)], 1)
        active = torch.cat([active, better.unsqueeze(1)], 1)
        shares = torch.cat([shares, torch.zeros_like(shares[:, :1])], 1)
        kept = active.any(0)
        chosen, gains, active, shares = chosen[:, kept], gains[:, kept], active[:, kept], shares[:, kept]
    # What has not settled keeps its largest share alone, which is a structure.
    largest = torch.zeros_like(active).scatter_(1, shares.argmax(1, keepdim=True), True)
    return chosen, torch.where(done.unsqueeze(1), active, largest)


def _shares(chosen: Tensor, worth: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
    """q (n, K) with Σ q = 1 where score(z) − μ · z is the same for all active structures, and that number (n)."""
    on = active.to(chosen.dtype)
    gram = chosen @ chosen.mT * on.unsqueeze(1) * on.unsqueeze(2)
    gram = gram + torch.diag_embed((1 - on) + RIDGE)
    system = torch.cat(
        [
            torch.cat([gram, on.unsqueeze(2)], 2),
            torch.cat([on, torch.zeros_like(on[:, :1])], 1).unsqueeze(1),
        ],
        1,
    )
    wanted = torch.cat([torch.where(active, worth, 0.0), torch.ones_like(on[:, :1])], 1)
    found = torch.linalg.solve(system, wanted)
    return found[:, :-1] * on, found[:, -1]
