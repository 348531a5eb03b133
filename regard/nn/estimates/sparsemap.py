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
    shares = _shares(chosen @ chosen.mT, worth, active)[0]  # (n, K)
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
    found = _Found(first, worth(first), steps + 1)
    count = len(first)
    active = torch.ones(count, 1, dtype=torch.bool, device=scores.device)
    shares = active.double()
    done = torch.zeros(count, dtype=torch.bool, device=scores.device)
    for _ in range(4 * steps):
        target, level = _shares(found.products, found.gains, active)
        negative = active & (target < -1e-12)
        inner = negative.any(1) & ~done
        if inner.any():
            # towards the target, until a share is 0
            ways = torch.where(negative, shares / (shares - target).clamp(min=1e-300), torch.inf)
            reach = ways.amin(1, keepdim=True).clamp(max=1)
            target = torch.where(inner.unsqueeze(1), shares + reach * (target - shares), target)
            dropped = inner.unsqueeze(1) & active & (target < 1e-12)
            active, target = active & ~dropped, target.masked_fill(dropped, 0.0)
        shares = torch.where(done.unsqueeze(1), shares, target)
        outer = ~(inner | done)
        if found.count > steps:
            done = done | outer
        elif outer.any():
            mean = (shares.unsqueeze(1) @ found.structures).squeeze(1)  # (n, D)
            new = best(mean)
            value = worth(new)
            better = outer & (value - (mean * new).sum(1) - level > GAIN * (1 + value.abs()))
            done = done | (outer & ~better)
            found.add(new, value)
            active = torch.cat([active, better.unsqueeze(1)], 1)
            shares = torch.nn.functional.pad(shares, (0, 1))
        if done.all():
            break
    # What has not settled keeps its largest share alone, which is a structure.
    largest = torch.zeros_like(active).scatter_(1, shares.argmax(1, keepdim=True), True)
    active = torch.where(done.unsqueeze(1), active, largest)
    kept = active.any(0)
    return found.structures[:, kept], active[:, kept]


class _Found:
    """The structures that were found so far, in room for all of them.

    structures   (n, K, D)   products (n, K, K) of each two   gains (n, K) their scores
    """

    def __init__(self, first: Tensor, gains: Tensor, most: int) -> None:
        self._structures = first.new_zeros(len(first), most, first.shape[1])
        self._products, self._gains = (
            first.new_zeros(len(first), most, most),
            first.new_zeros(len(first), most),
        )
        self.count = 0
        self.add(first, gains)

    def add(self, new: Tensor, gains: Tensor) -> None:
        last, self.count = self.count, self.count + 1
        self._structures[:, last], self._gains[:, last] = new, gains
        products = (self.structures @ new.unsqueeze(2)).squeeze(2)
        self._products[:, last, : self.count] = products
        self._products[:, : self.count, last] = products

    @property
    def structures(self) -> Tensor:
        return self._structures[:, : self.count]

    @property
    def products(self) -> Tensor:
        return self._products[:, : self.count, : self.count]

    @property
    def gains(self) -> Tensor:
        return self._gains[:, : self.count]


def _shares(products: Tensor, worth: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
    """q (n, K) with Σ q = 1 where score(z) − μ · z is the same for all active structures, and that number (n)."""
    on = active.to(products.dtype)
    count = on.shape[1]
    system = products.new_zeros(len(on), count + 1, count + 1)
    system[:, :count, :count] = products * (on.unsqueeze(1) * on.unsqueeze(2))
    system[:, :count, count] = on
    system[:, count, :count] = on
    system.diagonal(dim1=1, dim2=2)[:, :count] += (1 + RIDGE) - on
    wanted = torch.nn.functional.pad(torch.where(active, worth, 0.0), (0, 1), value=1.0)
    found = torch.linalg.solve(system, wanted)
    return found[:, :-1] * on, found[:, -1]
