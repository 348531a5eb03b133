"""Hard attention: one position is read, and no other (Xu et al. 2015, Show, Attend and Tell, section 4.1).

    α = softmax(e);   s̃ ~ α;   c = values_s̃

A draw has no gradient of its own. With R(s̃) = log p(y | s̃, x), what is maximised is E_s̃ R, whose gradient is

    ∇ E R  =  E [ ∇R  +  (R − b) ∇ log α_s̃ ],       b any number that does not depend on s̃

(the score function; Williams 1992). `Hard` draws; `ScoreFunction` gives a decoder's loss the second term.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.packing import Packing
from regard.nn.selections.softmax import Softmax
from regard.nn.symbols import LookSymbols
from regard.parts import NotNegative, register

Read = Literal["mode", "expectation"]


@dataclass(frozen=True)
class Drawing:
    """How a decoder learns through draws; the defaults are those of the authors' program.

    reward     λ_r, the weight of the score-function term; 1 is the gradient itself
    entropy    λ_e, the weight of the entropy of α, which is to be large
    expected   the share of rows that read the expectation instead of drawing, which lessens the variance
    warmup     batches at the beginning in which all of them do: draws tell little before the weights mean something
    decay      of the moving average b
    """

    reward: float = 0.1
    entropy: float = 0.002
    expected: float = 0.5
    warmup: int = 0
    decay: float = 0.9


@register("selection", "hard")
class Hard(Softmax):
    """The weights are those of softmax; what is read is one position: drawn where asked for, else `read`.

    read      mode: the most probable position, as the paper's authors write captions;
              expectation: all of them by their weights, as soft attention reads
    drawing   how a decoder learns through the draws
    """

    class Options(Softmax.Options):
        """One position is drawn and read alone (Xu 2015); the defaults are the authors'."""

        reward: NotNegative = 0.1
        """λ_r, the weight of the score-function term, (log p(y | z) − baseline) ∇ log p(z); with 1 it is the
        gradient."""
        entropy: NotNegative = 0.002
        """λ_e, the weight of the entropy of the distribution that is drawn from."""
        expected: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.5
        """The share of rows that in training read the expectation instead of drawing."""
        warmup: Annotated[int, Field(ge=0)] = 0
        """Batches at the beginning in which all rows do: draws teach little before the weights mean something."""
        baseline: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.9
        """How much of the moving average that is the baseline stays at each update."""
        read: Read = "mode"
        """What is read in prediction: the most probable position, or all by their weights."""

    draws = True
    needs = frozenset({"costs"})

    def __init__(self, *, read: Read = "mode", drawing: Drawing | None = None) -> None:
        super().__init__()
        if read not in ("mode", "expectation"):
            raise RegardError(f"Hard attention reads the mode or the expectation; received {read!r}.")
        self.read, self.drawing = read, drawing or Drawing()

    @classmethod
    def build(cls, options: Any, query_size: int) -> Hard:
        drawing = Drawing(options.reward, options.entropy, options.expected, options.warmup, options.baseline)
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
        words = f"the words from {t} on cost" if lasting else f"word {t} costs"
        drawn = f"{look.letters[1]}{look.prime}_{{{t},{chosen}}}"
        return [
            f"— in training + {options.reward:g} Σ_{t} (C_{t} − b) log({drawn}) where {chosen} is drawn, "
            f"C_{t} − b: what {words}, beyond the average",
            f"— in training − {options.entropy:g} Σ_{t} H({look.weights}), H the entropy",
        ]

    @classmethod
    def algorithm(cls, options: Any) -> list[str]:
        line = f"z_t is drawn in a row with probability {1 - options.expected:g}"
        line += ", else c_t = Σ_j α_tj h_j" if options.expected else ""
        return [line + (f"; in the first {options.warmup:,} batches in none" if options.warmup else "")]

    def reading(self, weights: Tensor) -> Tensor:
        return weights if self.read == "expectation" else _alone(weights, weights)

    def draw(self, weights: Tensor, rows: Tensor) -> Tensor:
        """(B, T, S) one position of each query, drawn by its weight; in the rows (B) that do not draw, the weights."""
        return torch.where(rows[:, None, None], _alone(weights, weights / self.waits(weights)), weights)

    @staticmethod
    def waits(like: Tensor) -> Tensor:
        """Waiting times of rate 1: among those divided by the weights α the first is s with probability α_s."""
        return torch.empty_like(like).exponential_()


def _alone(weights: Tensor, ranks: Tensor) -> Tensor:
    """One at the position ranked highest, zero elsewhere; all zero where there is no position."""
    chosen = torch.zeros_like(weights).scatter_(-1, ranks.argmax(-1, keepdim=True), 1.0)
    return chosen * (weights > 0)


class ScoreFunction(nn.Module):
    """What draws add to a loss, to be minimised:

        λ_r Σ_t (C_t − b n_t) · log α_s̃t  −  λ_e Σ_t H(α_t)

    C_t is the cost −log p of the n_t words that the draw has a part in: those from t on, or word t alone where what
    is read does not last. (The paper takes all words; leaving the others out changes the variance and not the
    expectation.) b is a moving average of the cost of a word in the rows that draw (those that read the expectation
    fare better, and would pull it from where it belongs), at first that of guessing evenly among the `vocabulary`.

    lasting   whether what is read enters the recurrence, and with it the words behind
    """

    baseline: Tensor
    seen: Tensor

    def __init__(self, drawing: Drawing, *, vocabulary: int, lasting: bool = True) -> None:
        super().__init__()
        self.drawing, self.lasting = drawing, lasting
        self.register_buffer("baseline", torch.tensor(math.log(vocabulary)))
        # of batches; a buffer, so that a resumed run goes on where it stood
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def rows(self, count: int, device: torch.device) -> Tensor:
        """(B) which rows draw, by a coin; none before the warm-up is over."""
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
        """The term, and its two parts without their weights.

        costs     (N) of the words, packed
        weights   (N, S) α by memory, and `drawn`, what was read instead, of the memories that were drawn from
        rows      (B) those that drew
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
        """b ← decay · b + (1 − decay) · the mean cost of these words; after its use, so that b owes them nothing."""
        words = drew.sum()
        mean = (costs * drew).sum() / words.clamp(min=1)
        share = (1.0 - self.drawing.decay) * (words > 0)
        self.baseline.lerp_(mean.to(self.baseline.dtype), share.to(self.baseline.dtype))
