"""Hard attention: a single position is read (Xu et al. 2015, Show, Attend and Tell, section 4.1).

    α = softmax(e);   s̃ ~ α;   c = values_s̃

Sampling has no gradient. With R(s̃) = log p(y | s̃, x), training maximizes E_s̃ R, whose gradient is

    ∇ E R  =  E [ ∇R  +  (R − b) ∇ log α_s̃ ],       b any number that does not depend on s̃

(the score function; Williams 1992). `Hard` samples; `ScoreFunction` adds the second term to a decoder's loss.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.packing import Packing
from regard.nn.selections.sampled_training import SampledTraining
from regard.nn.selections.softmax import Softmax
from regard.nn.symbols import LookSymbols
from regard.parts import NotNegative, register

Read = Literal["mode", "expectation"]


@register("selection", "hard")
class Hard(Softmax):
    """Softmax weights, but one position is read: sampled in training, and chosen by `read` in prediction.

    read      mode: the most probable position, as the authors write captions;
              expectation: all positions by their weights, as soft attention reads
    drawing   how a decoder is trained through the samples
    """

    class Options(Softmax.Options):
        """Sample one position and read it alone (Xu 2015); the defaults are the authors'."""

        reward: NotNegative = 0.1
        """λ_r, the weight of the score-function term (R − baseline) ∇ log p(z), R the log-likelihood of the
        words given the sample z; 1 gives the exact gradient."""
        entropy: NotNegative = 0.002
        """λ_e, the weight of the entropy of the sampling distribution, which is maximized."""
        expected: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.5
        """Share of rows that read the expectation in training instead of sampling."""
        warmup: Annotated[int, Field(ge=0)] = 0
        """Number of batches at the beginning in which all rows read the expectation:
        samples tell little at first."""
        baseline: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.9
        """Decay of the moving average that is the baseline."""
        read: Read = "mode"
        """What prediction reads. mode: the most probable position;
        expectation: all positions by their weights."""

    draws = True
    of_words = False
    needs = frozenset({"costs"})

    def __init__(self, *, read: Read = "mode", drawing: SampledTraining | None = None) -> None:
        super().__init__()
        if read not in ("mode", "expectation"):
            raise RegardError(f"read must be 'mode' or 'expectation'; received {read!r}.")
        self.read, self.drawing = read, drawing or SampledTraining()

    @classmethod
    def build(cls, options: Any, query_size: int) -> Hard:
        drawing = SampledTraining(
            options.reward, options.entropy, options.expected, options.warmup, options.baseline
        )
        return cls(read=options.read, drawing=drawing)

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        lines = super().equations(options, look)
        if options.read == "mode":
            chosen = f"{look.sub('z', look.step)} = argmax_{look.index}({look.weight})"
            lines.append(f"{chosen}     — in training drawn from {look.weights}")
        return lines

    @classmethod
    def read_equations(cls, options: Any, look: LookSymbols) -> list[str]:
        if options.read == "expectation":
            return super().read_equations(options, look)
        letter = look.memory.values.removesuffix(f"_{look.index}")
        return [f"{look.context} = {letter}_{{{look.sub('z', look.step)}}}"]

    @classmethod
    def loss_lines(cls, options: Any, look: LookSymbols, *, lasting: bool) -> list[str]:
        t, chosen = look.step, look.sub("z", look.step)
        words = f"words {t} … T" if lasting else f"word {t}"
        drawn = f"{look.letters[1]}{look.prime}_{{{t},{chosen}}}"
        return [
            f"— in training + {options.reward:g} Σ_{t} (C_{t} − b) log({drawn}) where {chosen} is drawn, "
            f"C_{t} − b: the loss of {words}, minus the average",
            f"— in training − {options.entropy:g} Σ_{t} H({look.weights}), H the entropy",
        ]

    @classmethod
    def algorithm(cls, options: Any) -> list[str]:
        line = f"z_t is sampled in each row with probability {1 - options.expected:g}"
        line += ", else c_t = Σ_j α_tj h_j" if options.expected else ""
        return [line + (f"; never in the first {options.warmup:,} batches" if options.warmup else "")]

    def reading(self, weights: Tensor) -> Tensor:
        return weights if self.read == "expectation" else _alone(weights, weights)

    def draw(self, weights: Tensor, rows: Tensor) -> Tensor:
        """(B, T, S) one position of each query, sampled by its weight;
        in rows (B) that do not sample, the weights."""
        return torch.where(rows[:, None, None], _alone(weights, weights / self.waits(weights)), weights)

    @staticmethod
    def waits(like: Tensor) -> Tensor:
        """Exponential variables of rate 1.
        Divided by the weights α, the smallest is that of s with probability α_s."""
        return torch.empty_like(like).exponential_()


def _alone(weights: Tensor, ranks: Tensor) -> Tensor:
    """One at the position ranked highest, zero elsewhere; all zero if there is no position, NaN where a
    weight is NaN."""
    chosen = torch.zeros_like(weights).scatter_(-1, ranks.argmax(-1, keepdim=True), 1.0)
    return chosen * (weights > 0) + 0.0 * weights.detach()


class ScoreFunction(nn.Module):
    """The terms that samples add to a loss, to be minimized:

        λ_r Σ_t (C_t − b n_t) · log α_s̃t  −  λ_e Σ_t H(α_t)

    C_t is the cost −log p of the n_t words that the sample influences: those from t on, or only word t if the
    context does not enter the recurrence. (The paper uses all words. Leaving the others out changes the
    variance but not the expectation.) b is a moving average of the cost of a word in the rows that sample.
    Rows that read the expectation have lower costs and would bias it. Initially b is the cost of a uniform
    guess over the `vocabulary`.

    lasting   whether the context enters the recurrence and influences later words
    """

    baseline: Tensor
    seen: Tensor

    def __init__(self, drawing: SampledTraining, *, vocabulary: int, lasting: bool = True) -> None:
        super().__init__()
        self.drawing, self.lasting = drawing, lasting
        self.register_buffer("baseline", torch.tensor(math.log(vocabulary)))
        # number of batches seen; a buffer, so that a resumed run continues from its count
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def rows(self, count: int, device: torch.device) -> Tensor:
        """(B) the rows that sample, chosen at random; none during the warm-up."""
        drawing = torch.rand(count, device=device) >= self.drawing.expected
        warm = self.seen >= self.drawing.warmup
        self.seen += 1
        return drawing & warm

    def forward(
        self,
        costs: Tensor,
        weights: Mapping[str, Tensor],
        drawn: Mapping[str, Tensor],
        rows: Tensor,
        packing: Packing,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The total, and its two parts without their weights.

        costs     (N) of the words, packed
        weights   (N, S) α by memory; `drawn`: the sampled weights, of the memories that were sampled from
        rows      (B) the rows that sampled
        """
        ahead, drew = self._ahead(costs, packing), rows[packing.rows()]
        credit = entropy = costs.new_zeros(())
        for name, chosen in drawn.items():
            tiny = torch.finfo(chosen.dtype).tiny
            logarithms = (weights[name] * chosen).sum(-1).clamp(min=tiny).log()  # (N) log α_s̃
            credit = credit + torch.where(drew, ahead * logarithms, 0.0).sum()
            entropy = entropy + torch.special.entr(weights[name].clamp(min=tiny)).sum()
        self._observe(costs, drew)
        total = self.drawing.reward * credit - self.drawing.entropy * entropy
        return total, {"draws": credit.detach(), "entropy": entropy.detach()}

    @torch.no_grad()
    def _ahead(self, costs: Tensor, packing: Packing) -> Tensor:
        """(N) C_t − b n_t."""
        above = costs - self.baseline.to(costs.dtype)
        if not self.lasting:
            return above
        padded = packing.unpack(above[:, None]).squeeze(-1)  # (B, T)
        return packing.pack(padded.flip(1).cumsum(1).flip(1))

    @torch.no_grad()
    def _observe(self, costs: Tensor, drew: Tensor) -> None:
        """b ← decay · b + (1 − decay) · the mean cost of these words;
        after b is used, so that it is independent of them."""
        words = drew.sum()
        mean = (costs * drew).sum() / words.clamp(min=1)
        share = (1.0 - self.drawing.decay) * (words > 0)
        self.baseline.lerp_(mean.to(self.baseline.dtype), share.to(self.baseline.dtype))
