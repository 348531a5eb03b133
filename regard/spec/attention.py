"""How a decoder looks at a memory: score, select, read."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from regard.spec.base import Count, Part, Size

NotNegative = Annotated[float, Field(ge=0.0)]


class HardSpec(Part):
    """How `select: hard` learns from the positions it draws (Xu 2015); the defaults are the authors'."""

    reward: NotNegative = 0.1
    """λ_r, the weight of the score-function term, (log p(y | z) − baseline) ∇ log p(z); with 1 it is the gradient."""
    entropy: NotNegative = 0.002
    """λ_e, the weight of the entropy of the distribution that is drawn from."""
    expected: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.5
    """The share of rows that in training read the expectation instead of drawing."""
    warmup: Annotated[int, Field(ge=0)] = 0
    """Batches at the beginning in which all rows do: draws teach little before the weights mean something."""
    baseline: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.9
    """How much of the moving average that is the baseline stays at each update."""
    read: Literal["mode", "expectation"] = "mode"
    """What is read in prediction: the most probable position, or all by their weights."""


class AttentionSpec(Part):
    score: Literal["additive", "dot", "scaled-dot", "general", "linear", "location"] = "additive"
    select: Literal["uniform", "softmax", "hard", "sigmoid", "segments", "facts", "local", "oracle"] = (
        "softmax"
    )
    over: str | None = None
    """The input to look at; the only one when absent."""
    size: Size | None = None
    """Width of the additive or location score's hidden layer; the decoder's size when absent."""
    filters: Count = 10
    """Of `score: location`: what it learns to see of where the step before looked."""
    reach: Count = 7
    """Of `score: location`: how many positions to either side a filter sees."""
    state: Literal["previous", "current"] = "previous"
    """previous: the context enters the cell (Bahdanau); current: it meets the new state (Luong)."""
    feed: bool = True
    """With state current: what was read enters the next step (Luong's input feeding). Training is faster without."""
    window: Count = 10
    """Half width of the window of `select: local`."""
    centre: Literal["predicted", "monotonic"] = "predicted"
    """Where the window of `select: local` stands: predicted from the state, or at the step's own number."""
    normalize: Annotated[float, Field(ge=0.0)] = 2.0
    """λ of `select: sigmoid` and `segments`: the context is λ Σ p x / Σ p; 0: the plain sum Σ p x."""
    decay: Annotated[float, Field(ge=0.0)] = 0.005
    """Weight of the L2 penalty on the four pairwise scores of `select: segments`."""
    hard: HardSpec = HardSpec()
    """Of `select: hard`."""
    coverage: NotNegative = 0.0
    """λ of the doubly stochastic penalty λ Σ_s (1 − Σ_t α_ts)²: over a whole text each position is looked at once."""
    guide: Annotated[float, Field(ge=0.0)] = 0.0
    """Weight of the loss between the selection and the true alignment."""
    truth: str | None = None
    """The truth column with the alignment; the only one when absent."""
