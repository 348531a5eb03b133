"""The outputs of a text decoder: the layer from readouts to words, and the loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batch import Tokens
from regard.nn.coverage import coverage_total
from regard.nn.embedding import Embedding, is_fixed, width_of
from regard.nn.encoders import owner_of
from regard.nn.guided_attention import guide_total
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.path import faster
from regard.nn.repetition import repetition_total
from regard.parts import Mistakes, Plan
from regard.parts.definition import remember


@remember
class Output(nn.Module):
    """logits = V o + b.

    tied   V is the embedding's own tensor (Press & Wolf 2017); o must then have the embedding's size
    """

    def __init__(self, size: int, vocabulary: int, *, tied: Embedding | None = None) -> None:
        super().__init__()
        bound = 1 / math.sqrt(size)
        if tied is None:
            self.weight = nn.Parameter(torch.empty(vocabulary, size).uniform_(-bound, bound))
        else:
            self.weight = tied.weight
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, rows: Tensor) -> Tensor:
        found: Tensor | None = None
        if not torch.is_grad_enabled():
            found = faster("output.logits", rows.device, self, rows)
        return nn.functional.linear(rows, self.weight, self.bias) if found is None else found

    def distilled(self, rows: Tensor, probabilities: Tensor) -> Tensor:
        """rows (N, O), another model's probabilities p (N, V) → −Σ_n Σ_v p log q, with q from this layer."""
        return -(probabilities * torch.log_softmax(self(rows), -1)).sum()

    @torch.no_grad()
    def costs(self, rows: Tensor, targets: Tensor) -> Tensor:
        """rows (N, O), targets (N) → −log p of each target, (N), without a gradient."""
        return nn.functional.cross_entropy(self(rows), targets, reduction="none")

    def loss(self, rows: Tensor, targets: Tensor, *, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
        """rows (N, O), targets (N) → the sum to minimize, and the sum of −log p(target).

        With smoothing ε, the target distribution is (1 − ε)·one-hot + ε/V.
        """
        found: tuple[Tensor, Tensor] | None = None
        if torch.is_grad_enabled():
            found = faster("output.loss", rows.device, self, rows, targets, smoothing)
        if found is not None:
            return found
        logits = self(rows)
        likelihood = nn.functional.cross_entropy(logits, targets, reduction="sum")
        if smoothing == 0:
            return likelihood, likelihood.detach()
        smooth = -(logits.mean(-1) - logits.logsumexp(-1)).sum()
        return (1 - smoothing) * likelihood + smoothing * smooth, likelihood.detach()

    def loss_of_some(self, rows: Tensor, targets: Tensor, *, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
        """`loss`, without the rows whose target is negative."""
        found: tuple[Tensor, Tensor] | None = None
        if torch.is_grad_enabled():
            found = faster("output.loss_of_some", rows.device, self, rows, targets, smoothing)
        if found is not None:
            return found
        real = targets >= 0
        return self.loss(rows[real], targets[real], smoothing=smoothing)


@dataclass(frozen=True)
class Distilled:
    """The predictions of other models: probabilities (N, V), packed as the targets are,
    and their weight (0 to 1)."""

    probabilities: Tensor
    weight: float

    def select(self, target: Tokens, rows: Tensor) -> Distilled:
        """Those of some rows, (B') int64, of the target."""
        width = target.ids.shape[1] + 1
        padded = Packing.of(target.lengths + 1, width).unpack(self.probabilities)  # (B, T, V)
        some = Packing.of(target.lengths.index_select(0, rows) + 1, width)
        return Distilled(some.pack(padded.index_select(0, rows)), self.weight)


@dataclass(frozen=True)
class TextObjective:
    """What is minimized beside the likelihood of a text, and how it is smoothed.

    smoothing   share of the target distribution that is spread evenly over the vocabulary
    guide       by attended memory, the weight of the loss between the selection and the true alignment, if
                given
    coverage    by attended memory, the weight of Σ_s (1 − Σ_t α_ts)²
    repetition  by attended memory, the weight of Σ_t Σ_s min(α_ts, Σ_{υ<t} α_υs)
    """

    smoothing: float = 0.0
    guide: Mapping[str, float] = field(default_factory=dict)
    coverage: Mapping[str, float] = field(default_factory=dict)
    repetition: Mapping[str, float] = field(default_factory=dict)

    def reads_looks(self, truth: Mapping[str, Tensor]) -> bool:
        """Whether the loss depends on the attention weights."""
        weights = [self.guide.get(name, 0.0) for name in truth]
        return any([*weights, *self.coverage.values(), *self.repetition.values()])

    def of_looks(
        self,
        unrolled: Unrolled,
        memories: Mapping[str, Memory],
        packing: Packing,
        truth: Mapping[str, Tensor],
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of the attention weights: the weighted sum, and its parts without their weights."""
        total: Tensor = unrolled.readouts.new_zeros(())
        parts: dict[str, Tensor] = {}

        def charge(name: str, weight: float, cost: Tensor) -> None:
            nonlocal total
            total = total + weight * cost
            parts[name] = parts.get(name, torch.zeros_like(total)) + cost.detach()

        for name, alignment in truth.items():
            if weight := self.guide.get(name, 0.0):
                end = nn.functional.pad(alignment, (0, 0, 0, packing.width - alignment.shape[1]))
                charge("guide", weight, guide_total(packing.pack(end), unrolled.looks[name]))
        for name, weight in self.coverage.items():
            if weight:
                looked = coverage_total(unrolled.looks[name], memories[name].mask, packing)
                charge("coverage", weight, looked)
        for name, weight in self.repetition.items():
            if weight:
                charge("repetition", weight, repetition_total(unrolled.looks[name], packing))
        return total, parts


@dataclass(frozen=True)
class Unrolled:
    """The inputs of the output layer, (N, O), and the attention weights, (N, S) by memory; both packed.

    drawn   (N, S) the weights that multiplied the values, for the memories whose selection samples
    gates   (N) the logits of generating from the vocabulary, if the decoder copies
    """

    readouts: Tensor
    looks: dict[str, Tensor]
    drawn: dict[str, Tensor] = field(default_factory=dict)
    gates: Tensor | None = None


def check_tie(options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
    """Require what `tie` needs: trainable vectors, and with `all` one vocabulary and one embedding size."""
    if options.tie != "none" and is_fixed(options.embedding):
        mistakes.add(
            "tied output weights must be trained.", "tie", fix="Leave  train: false  out of `embedding`."
        )
    if options.tie != "all":
        return
    target = plan.outputs[name]
    for source in plan.encoder:
        if not hasattr(owner_of(plan, source), "embedding"):
            mistakes.add(
                f"tie: all shares the embeddings of the inputs, and {source} has no embeddings.",
                "tie",
                fix="Use tie: output.",
            )
            continue
        shared = getattr(plan.inputs[source], "shared", None)
        if shared != name and getattr(target, "shared", None) != source:
            mistakes.add(
                f"tie: all needs one vocabulary for {source} and {name}.",
                "tie",
                fix=f"Add  shared: {source}  to the output {name}.",
            )
        width = width_of(owner_of(plan, source).embedding)
        if width != options.width_of_vectors:
            mistakes.add(
                f"tie: all needs embeddings of one width; {source} has {width}, {name} {options.width_of_vectors}.",
                "tie",
                fix="Give both the same `embedding`.",
            )
