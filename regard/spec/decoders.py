"""What writes an output from memories."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from regard.spec.attention import AttentionSpec
from regard.spec.base import Count, Dropout, Part, Positive, Share, Size

NotNegative = Annotated[float, Field(ge=0.0)]
Condition = Literal["start", "every-step", "attention"]


class DecoderPart(Part):
    over: tuple[str, ...] | None = None
    """The inputs this decoder is conditioned on; all of them when absent."""
    weight: Positive = 1.0
    """Of this output's loss in the sum."""
    dropout: Dropout = 0.0

    @field_validator("over", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


class ScheduledSamplingSpec(Part):
    """With a rising probability a step reads the model's own last word instead of the true one."""

    share: Share = 0.25
    """The probability reached at the end of the rise."""
    steps: Count = 10000
    """Training steps over which it rises from 0."""


class RecurrentDecoderSpec(DecoderPart):
    """s_t = cell(s_{t−1}, [e(y_{t−1}); …]); p(y_t) = softmax(V s_t + b)."""

    type: Literal["recurrent"]
    cell: Literal["rnn", "gru", "lstm"] = "gru"
    size: Size = 256
    layers: Count = 1
    residual: bool = False
    activation: Literal["tanh", "sigmoid", "relu", "identity"] = "tanh"
    update: Literal["torch", "cho"] = "torch"
    embedding: Size = 256
    embedding_dropout: Dropout | None = None
    """Of the embeddings; the same as `dropout` when absent."""
    vectors: str | None = None
    freeze_vectors: bool = False
    condition: tuple[Condition, ...] | None = None
    """How the encoding reaches the decoder; start and, where there is one, attention when absent."""
    attention: tuple[AttentionSpec, ...] = ()
    deep: bool = False
    """Write from tanh(W [s_t; c_t; e(y_{t−1})]) instead of from s_t (Bahdanau's deep output)."""
    tie: Literal["none", "output", "all"] = "none"
    """output: the output weights are the target embeddings; all: and the source embeddings too."""
    label_smoothing: Dropout = 0.0
    scheduled_sampling: ScheduledSamplingSpec | None = None

    @field_validator("attention", mode="before")
    @classmethod
    def _one_attention(cls, value: Any) -> Any:
        return () if value is None else (value,) if isinstance(value, (dict, AttentionSpec)) else value


class LabelDecoderSpec(DecoderPart):
    """softmax(V s + b) of the summaries, or of what an attention reads beside the summaries of the other inputs."""

    type: Literal["label"]
    attention: AttentionSpec | None = None
    query: str | None = None
    """The input whose summary asks, a question about a picture for instance; a learned query when absent."""
    glimpses: Count = 1
    """Looks of the attention, each with a query of its own."""
    whole: bool = False
    """With attention: the summaries of the attended inputs too, which tell what no glimpse does: how many there are."""
    where: bool = False
    """With attention: where each glimpse looked too, and how that lies to the one before: left of it, above."""
    hidden: Size | None = None
    """Write from relu(W s + b) of this size, so that inputs can act on each other; from s itself when absent."""
    combine: Literal["beside", "gated"] = "beside"
    """With hidden. gated: what asks, or the last input, decides which features of each other part count, and how."""
    class_weights: dict[str, Positive] | Literal["balanced"] | None = None


class TagsDecoderSpec(DecoderPart):
    """One label per position: softmax(V h_t + b), or with `crf` one chain over all positions together."""

    type: Literal["tags"]
    crf: bool = False
    """p(y) ∝ exp(Σ_t (V h_t + b)[y_t] + Σ_t A[y_t, y_{t+1}]): transitions are scored too, and learned exactly."""
    decode: Literal["viterbi", "marginal"] = "viterbi"
    """crf: the most probable sequence, or the most probable tag of each position."""
    constraints: Literal["none", "bio", "bioes"] = "none"
    """crf: sequences that this scheme of spans does not allow have probability 0."""
    class_weights: dict[str, Positive] | Literal["balanced"] | None = None


class FactsDecoderSpec(DecoderPart):
    """The answer to a question from K looks into a story: softmax(V r + b)."""

    type: Literal["facts"]
    hops: Count = 3
    attention: AttentionSpec = AttentionSpec(score="dot")
    """`select: softmax` looks K times, one after the other; `select: facts` chooses the K facts together."""
    query: str | None = None
    """The input that asks; the only one that is no story when absent."""
    read: Literal["last", "sum", "all"] = "last"
    """What the answer is written from: what the last hop read, the sum with the question, or all of them."""
    stay: bool = True
    """Of `select: facts`: whether two consecutive facts may be the same sentence."""
    rank: Size = 24
    """Of `select: facts`: features in which two consecutive facts are compared."""
    reach: Count = 32
    """Of `select: facts`: the largest distance between two consecutive facts that is told from larger ones."""
    fewer: bool = False
    """Of `select: facts`: whether a question may need fewer facts than there are hops."""
    hop_cost: NotNegative = 0.2
    """With `fewer`: what one more fact costs, in nats of the answer's expected loss."""
    carry: Literal["keep", "beyond"] = "keep"
    """Softmax hops: each begins by asking again what the one before asked, or for what that one found beyond it."""
    linear_start: Annotated[int, Field(ge=0)] = 0
    """Of `select: softmax`: updates at the start of training without the softmax."""


class TreeDecoderSpec(DecoderPart):
    """A head and a relation per position: p(tree) ∝ exp(Σ_m s[head(m), m]), p(r | arc) = softmax; s is biaffine."""

    type: Literal["tree"]
    structure: Literal["projective", "spanning"] = "projective"
    """projective: no arcs cross (Eisner); spanning: they may (matrix-tree theorem)."""
    decode: Literal["map", "marginal"] = "marginal"
    """The most probable tree, or the tree with the highest expected number of right heads."""
    nonprojective: Literal["projectivise", "refuse"] = "projectivise"
    """projective: a tree to learn from whose arcs cross: words are hung higher until none do, or the row is bad."""
    size: Size = 256
    """Features that heads and dependents are compared in."""
    relation_size: Size = 64
    """Features that relations are told from."""


class AlignDecoderSpec(DecoderPart):
    """How two texts stand to each other: attend, compare, aggregate; softmax(V H([Σ_i v_i; Σ_j w_j]) + b)."""

    type: Literal["align"]
    size: Size = 200
    """Of the hidden layers that attend, compare and aggregate."""
    compare: Literal["concatenation", "differences"] = "differences"
    """What is compared: [a; β] (Parikh 2016), or [a; β; |a − β|; a ⊙ β] too, which learns sooner what is the same."""
    class_weights: dict[str, Positive] | Literal["balanced"] | None = None


DecoderSpec = Annotated[
    RecurrentDecoderSpec
    | LabelDecoderSpec
    | TagsDecoderSpec
    | FactsDecoderSpec
    | TreeDecoderSpec
    | AlignDecoderSpec,
    Field(discriminator="type"),
]
