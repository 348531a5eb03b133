"""How a decoder looks at a memory: score, select, read."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from regard.spec.base import Count, Part, Size


class AttentionSpec(Part):
    score: Literal["additive", "dot", "scaled-dot", "general", "linear", "location"] = "additive"
    select: Literal["uniform", "softmax", "sigmoid", "segments", "facts", "local", "oracle"] = "softmax"
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
    guide: Annotated[float, Field(ge=0.0)] = 0.0
    """Weight of the loss between the selection and the true alignment."""
    truth: str | None = None
    """The truth column with the alignment; the only one when absent."""
