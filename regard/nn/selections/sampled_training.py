"""How a decoder is trained through sampled positions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SampledTraining:
    """Settings of the score-function gradient; the defaults are those of the program of Xu et al. 2015.

    reward     λ_r, the weight of the score-function term; 1 is the exact gradient
    entropy    λ_e, the weight of the entropy of α, which is maximized
    expected   the share of rows that read the expectation instead of sampling, which reduces the variance
    warmup     number of batches at the beginning in which all rows do: samples tell little while the weights
               are random
    decay      the decay of the moving average b
    """

    reward: float = 0.1
    entropy: float = 0.002
    expected: float = 0.5
    warmup: int = 0
    decay: float = 0.9
