"""The queries of every structure, derived from one dynamic program.

A structure is a distribution p(z) ∝ exp(Σ of the potentials of the parts in z) over combinatorial objects z.
Its value z is a 0/1 tensor of `event_shape`, the shape of its first potential (of its nodes for a linear
chain): 1 where the part is in z, 0 beyond the length. Results are float64 for float64 potentials and float32
for all others, also under autocast.

A subclass passes its potentials, prepared by `potentials.py`, to the constructor and implements `_inside`,
its program over a semiring. Everything else is here; a subclass overrides the queries that it can compute
faster.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.distributions import register_kl

from regard.structures.counting import combine_residues, primes_for
from regard.structures.paired_semirings import (
    ContainsSemiring,
    DivergenceSemiring,
    ExpectationSemiring,
    PartialSemiring,
    SignedLogSemiring,
)
from regard.structures.potentials import as_tensor, joint_batch
from regard.structures.program import Backend, Program, Shape
from regard.structures.recording import recorded
from regard.structures.semirings import (
    NEGATIVE_INFINITY,
    CountingSemiring,
    KBestSemiring,
    LogSemiring,
    MaxSemiring,
    SamplingSemiring,
)

__all__ = ["Backend", "Shape", "Structure", "gumbel_noise", "logistic_noise"]


class Structure(Program):
    """The queries of all structures; `Program` documents the constructor."""

    has_rsample = True
    has_enumerate_support = True

    def _fast_log_partition(self) -> Tensor | None:
        """The log-partition from a kernel, or None if there is none for this device, dtype and size."""
        return None

    def _fast_marginals(self) -> Tensor | None:
        """The marginals from a kernel, or None."""
        return None

    def _fast_mode(self) -> Tensor | None:
        """The mode from a kernel, or None."""
        return None

    @property
    def log_partition(self) -> Tensor:
        """log Σ_z exp score(z), shape `batch_shape`; −inf on an empty support, 0 at length 0."""
        fast = self._fast_log_partition() if self.backend == "auto" else None
        return self._run(LogSemiring()) if fast is None else fast

    @property
    def marginals(self) -> Tensor:
        """p(part ∈ z) in the shape of the first potential; differentiable, zero on an empty support."""
        fast = self._fast_marginals() if self.backend == "auto" else None
        return self._marginals_of(0) if fast is None else fast

    @property
    def mean(self) -> Tensor:
        """E[z], in the shape of a value."""
        return self.marginals if self.value_index == 0 else self._marginals_of(self.value_index)

    @property
    def variance(self) -> Tensor:
        """Var[z] of each entry."""
        mean = self.mean
        return mean * (1 - mean)

    @property
    def mode(self) -> Tensor:
        """The best structure, one of them if there are ties; all zero on an empty support."""
        fast = self._fast_mode() if self.backend == "auto" else None
        return self._indicator(MaxSemiring()) if fast is None else fast

    @property
    def mode_score(self) -> Tensor:
        """The score of the mode, max_z score(z): unnormalized, differentiable; its gradient is the mode."""
        mode = self._fast_mode() if self.backend == "auto" else None
        return self._run(MaxSemiring()) if mode is None else self.score(mode)

    @recorded
    def topk(self, k: int) -> tuple[Tensor, Tensor]:
        """The k best, sorted: values (k, *batch_shape, *event_shape) and scores (k, *batch_shape).

        All are different. If fewer than k exist, the rest are all zero with score −inf. Scores are
        differentiable.
        """
        if k < 1:
            raise ValueError(f"topk needs k of at least 1, not {k}.")
        inside = self._with_respect_to(self.value_index, KBestSemiring(k))
        scores, pull_back = torch.func.vjp(inside, self.potentials[self.value_index])[:2]
        with torch.no_grad():
            each = torch.eye(k, dtype=scores.dtype, device=scores.device)
            each = each.view(k, k, *[1] * len(self.batch_shape)).expand(k, *scores.shape)
            (values,) = torch.func.vmap(pull_back, chunk_size=256)(each)
            exists = (scores > NEGATIVE_INFINITY).view(*scores.shape, *[1] * len(self.event_shape))
            return torch.where(exists, values, 0.0), scores

    def sample(self, sample_shape: Shape = (), *, generator: torch.Generator | None = None) -> Tensor:
        """Exact independent samples (*sample_shape, *batch_shape, *event_shape), without gradient."""
        return self._indicator(SamplingSemiring(generator), sample_shape)

    def rsample(
        self, sample_shape: Shape = (), *, temperature: float = 1.0, generator: torch.Generator | None = None
    ) -> Tensor:
        """Perturb-and-MAP with a straight-through gradient; exact only for `Categorical` and `Bernoulli`.

        The forward pass is the mode after adding independent Gumbel noise to the value's potentials (logistic
        noise, the difference of two, for parts that may each be absent). The backward pass is the gradient of
        the marginals of the same perturbed potentials, all divided by `temperature`: z + m − stop(m). The
        closer `temperature` is to 0, the closer the gradient is to that of the mode, and the larger its
        variance.
        """
        if temperature <= 0:
            raise ValueError(f"rsample needs a temperature above 0, not {temperature}.")
        value = self.potentials[self.value_index]
        noise = self._perturbation(value.detach().expand(*sample_shape, *value.shape), generator)
        perturbed = self._with_value(value + noise, sample_shape)
        tempered = [potential / temperature for potential in perturbed.potentials]
        relaxed = perturbed._with_potentials(tempered).mean
        return perturbed.mode + (relaxed - relaxed.detach())

    def _perturbation(self, like: Tensor, generator: torch.Generator | None) -> Tensor:
        return gumbel_noise(like, generator)

    def entropy(self) -> Tensor:
        """−E[log p(z)]; 0 on an empty support."""
        return self._divergence(self, relative=False)

    def cross_entropy(self, other: Structure) -> Tensor:
        """−E_p[log q(z)] with p this structure and q the other; inf if q excludes a value that p allows."""
        return self._divergence(other, relative=False)

    def _divergence(self, other: Structure, *, relative: bool) -> Tensor:
        self._check_comparable(other)
        rank = max(len(self.batch_shape), len(other.batch_shape))
        semiring = DivergenceSemiring(self._aligned(other.potentials, rank), relative=relative)
        divergence: Tensor = self._run(semiring, rank=rank)[2]
        return divergence

    def _check_comparable(self, other: Structure) -> None:
        kinds = [(type(x).__name__, tuple(x.event_shape), x.options) for x in (self, other)]
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"Only structures of one class, size and options can be compared, not {kinds[0]} and {kinds[1]}."
            )
        joint_batch(this=self.batch_shape, other=other.batch_shape)
        for mine, theirs in zip(self._lengths, other._lengths, strict=True):
            if not _equal_lengths(mine, theirs):
                raise ValueError(
                    "Only structures of equal lengths can be compared: give both the same lengths=."
                )

    def log_prob(self, value: Tensor) -> Tensor:
        """log p(z) of values (*sample_shape, *batch_shape, *event_shape), 0/1 or Boolean.

        −inf for values that are not a structure of these lengths, or that are excluded.
        """
        return self._normalize(self.score(value))

    def score(self, value: Tensor) -> Tensor:
        """The sum of the potentials of a value's parts, unnormalized; −inf if it is not a structure."""
        present = self._as_parts("value", value)
        return self._partial_score(present, ~present)

    def log_prob_partial(self, required: Tensor | None = None, forbidden: Tensor | None = None) -> Tensor:
        """log p(z has all required and no forbidden parts), each 0/1 or Boolean in the shape of a value."""
        nothing = torch.zeros(self.event_shape, dtype=torch.bool, device=self.potentials[0].device)
        needed = nothing if required is None else self._as_parts("required", required)
        excluded = nothing if forbidden is None else self._as_parts("forbidden", forbidden)
        return self._normalize(self._partial_score(needed, excluded))

    def _partial_score(self, required: Tensor, forbidden: Tensor) -> Tensor:
        """log of the total weight of the structures with all required and no forbidden parts."""
        value = torch.where(forbidden, NEGATIVE_INFINITY, self.potentials[self.value_index])
        required, value = torch.broadcast_tensors(required, value)
        run = self._with_respect_to(self.value_index, PartialSemiring(self.value_index, required))
        present, log_weight = run(value)
        needed = required.flatten(required.dim() - len(self.event_shape)).sum(-1)
        return torch.where(present == needed, log_weight, NEGATIVE_INFINITY)

    def _normalize(self, score: Tensor) -> Tensor:
        log_partition = self.log_partition
        some = log_partition > NEGATIVE_INFINITY
        return torch.where(some, score - torch.where(some, log_partition, 0.0), NEGATIVE_INFINITY)

    def expectation(self, weights: Tensor) -> Tensor:
        """E[Σ_{part ∈ z} weights[part]], with weights of either sign in the shape of the first potential.

        Its gradient in the potentials is the product of `weights` with the Jacobian of the marginals.
        """
        weights = as_tensor("weights", weights).to(self.potentials[0])
        semiring = ExpectationSemiring(0, weights)
        mean: Tensor = self._run(semiring, rank=weights.dim() - self.event_dims[0])[1]
        return mean

    def expected_product(self, factors: Tensor) -> Tensor:
        """E[Π_{part ∈ z} factors[part]], with factors of either sign in the shape of the first potential.

        Differentiable except where it is exactly 0.
        """
        factors = as_tensor("factors", factors).to(self.potentials[0])
        semiring = SignedLogSemiring(0, factors)
        size, sign = self._run(semiring, rank=factors.dim() - self.event_dims[0])
        mean: Tensor = sign * self._normalize(size).exp()
        return mean

    def max_marginals(self) -> Tensor:
        """The best score of a structure with each part, in the shape of the first potential; −inf if none."""
        dims = self.event_dims[0]
        potential = self.potentials[0]
        batch, event = potential.shape[: potential.dim() - dims], potential.shape[potential.dim() - dims :]
        parts = math.prod(event)
        if parts == 0:
            return potential
        chunk = max(1, 2**22 // max(1, potential.numel()))
        scores = []
        for start in range(0, parts, chunk):
            asked = torch.arange(start, min(start + chunk, parts), device=potential.device)
            one_hot = asked.unsqueeze(-1) == torch.arange(parts, device=potential.device)
            one_hot = one_hot.view(len(asked), *[1] * len(batch), *event)
            scores.append(self._run(ContainsSemiring(0, one_hot))[1])
        return torch.cat(scores).movedim(0, -1).reshape(*batch, *event)

    def count(self) -> Any:
        """The number of allowed structures: an exact int, or nested lists of ints in the batch shape."""
        allowed = [potential.detach() > NEGATIVE_INFINITY for potential in self.potentials]
        counted = [torch.where(where, 0.0, NEGATIVE_INFINITY).double() for where in allowed]
        log_count = self._run(LogSemiring(), counted)
        primes = primes_for(float(log_count.max()) if log_count.numel() else 0.0)
        return combine_residues(self._run(CountingSemiring(primes), counted), primes)

    def enumerate_support(self, expand: bool = True, *, limit: int = 4096) -> Tensor:
        """All structures (count, *batch_shape, *event_shape), best first; raises an error above `limit`.

        If the counts of a batch differ, the rest is all zero. `expand` exists for compatibility with
        `torch.distributions`: the batch dimensions are always expanded.
        """
        largest = _largest(self.count())
        if largest > limit:
            raise ValueError(
                f"enumerate_support would list {largest} structures, more than limit={limit}; sample instead."
            )
        if largest == 0:
            return self.potentials[0].new_zeros(0, *self.batch_shape, *self.event_shape)
        return self.topk(largest)[0]


def gumbel_noise(like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Noise with which the best of several alternatives is a sample."""
    return -torch.empty_like(like).exponential_(generator=generator).log()


def logistic_noise(like: Tensor, generator: torch.Generator | None) -> Tensor:
    """The same for a choice between a part and its absence: the difference of two Gumbel noises."""
    return gumbel_noise(like, generator) - gumbel_noise(like, generator)


def _largest(count: Any) -> int:
    return count if isinstance(count, int) else max(map(_largest, count), default=0)


def _equal_lengths(mine: Tensor | None, theirs: Tensor | None) -> bool:
    if mine is theirs or mine is None or theirs is None:
        return mine is theirs
    return bool((mine == theirs).all())


def _kl_divergence(p: Structure, q: Structure) -> Tensor:
    """E_p[log p(z) − log q(z)], behind `torch.distributions.kl_divergence`."""
    return p._divergence(q, relative=True)


register_kl(Structure, Structure)(_kl_divergence)
