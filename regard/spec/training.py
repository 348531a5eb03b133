"""How a model is trained."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from regard.parts import Count, Positive, Seed, Settings, Share, one_of
from regard.parts.choice import Section

EPOCHS = 10
SPAN, STREAMS = 35, 20
"""For a stream: default number of tokens per row in one update, and default number of rows."""


ALTERNATIVES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("training", "batch_rows"): ("training", "batch_tokens"),
    ("training", "batch_tokens"): ("training", "batch_rows"),
}
"""Paths of which only one can be given: setting the first replaces the second."""


class DistillOptions(Settings):
    """Distillation: learn texts also from the mean distribution of trained models."""

    model_config = ConfigDict(populate_by_name=True)  # `from` is a reserved word of Python

    from_: Annotated[tuple[str, ...], Field(alias="from", min_length=1)]
    """Folders of trained models with the same columns."""
    weight: Share = 0.5
    """Weight of their distributions in the loss; the words of the data have the rest."""

    @field_validator("from_", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


class StartFromOptions(Settings):
    """The trained model whose weights are the initial weights: `runs/old`, or with options `{run: runs/old, vocabulary:
    keep}`."""

    run: str
    """Folder of a trained model, `hf:owner/name`, or a safetensors file. Weights are copied if names and shapes
    agree."""
    vocabulary: Literal["map", "keep"] = "map"
    """map: vocabularies and classes are fitted to the new data; rows of weights are copied by word, character or class,
    and new ones start fresh. keep: vocabularies and classes stay those of that model."""


class TrainingSpec(Section):
    """How a model is trained. The options of the optimizer may stand beside its name: `{optimizer: sgd, momentum: 0.9}`
    means `{optimizer: {type: sgd, momentum: 0.9}}`."""

    chooser: ClassVar[str] = "optimizer"

    moved = {
        "teachers": "distill: {from: [...]}",
        "teaching": "distill: {from: [...], weight: …}",
        "tensorboard": "loggers: [tensorboard]",
    }

    epochs: Count | None = None
    """Passes over the data; default: 10 unless `steps` is given. With both, training ends at whichever comes first."""
    steps: Annotated[int, Field(ge=0)] | None = None
    """Number of updates, even if they end within an epoch; 0: evaluate and keep the initial weights."""
    batch_tokens: Count | None = None
    """Maximum cost of a batch, in padded tokens; default: 4000 unless `batch_rows` is given."""
    batch_rows: Count | None = None
    """Number of rows of a batch. For a stream: number of parallel streams (default: 20)."""
    bucket: Count = 16
    """Number of batches whose rows are sorted by length together. Larger values need less padding; 1 mixes all lengths,
    which suits short texts (words, names) better."""
    span: Count | None = None
    """For a stream: number of tokens of each row in one update, the length of backpropagation through time (default:
    35)."""
    carry: bool = True
    """For a stream: start each span with the final state of the previous one; false: reset the state."""
    accumulate: Count = 1
    """Number of batches whose gradients are accumulated for one update."""
    optimizer: Annotated[Any, one_of("optimizer", default="adam")] = Field(
        default="adam", validate_default=True
    )
    """The optimizer: `adamw`, or with options `{type: adamw, weight_decay: 0.01}`."""
    lr: Positive = 1e-3
    """Learning rate, after the warm-up of the schedule."""
    clip: Positive | None = 1.0
    """Maximum norm of the gradient."""
    schedule: Annotated[Any, one_of("schedule", default="constant")] = Field(
        default="constant", validate_default=True
    )
    """Learning-rate schedule: `cosine`, or with options `{type: cosine, warmup: 100}`."""
    curriculum: Annotated[Any, one_of("curriculum")] | None = None
    """Levels of difficulty from which the rows of an epoch are drawn: `mix`, or with options `{type: combined, until:
    0.6}`; default: every row once."""
    evaluate_every: Count | None = None
    """Updates between evaluations on dev; default: once per epoch."""
    metric: str = "loss"
    """Metric for early stopping, the plateau schedule and the choice of the best checkpoint."""
    patience: Count | None = None
    """Stop after this many evaluations without improvement."""
    average: Annotated[int, Field(ge=0)] = 0
    """Average the weights of this many best evaluations, if the average is no worse than the best alone."""
    ema: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    """Evaluate and keep an exponential moving average of the weights with this decay."""
    precision: Literal["fp32", "tf32", "bf16", "fp16"] = "fp32"
    """Numeric precision on a GPU; tf32 keeps fp32 numbers but multiplies matrices with 10-bit mantissas."""
    seed: Seed = 1
    """Random seed of the initial weights, the order of batches, and dropout."""
    start_from: StartFromOptions | None = None
    """Start from the weights of a trained model: `runs/old`, or with options `{run: runs/old, vocabulary: keep}`."""
    weights: str | dict[str, Any] | None = None
    """Initial weights by name: a file (JSON or safetensors), or the numbers themselves:
    `{decoders.total.output.weight: [[1.0]]}`. Each must exist in the model and have the same shape."""
    distill: DistillOptions | None = None
    """Distillation from other models."""
    checkpoint_every: Count | None = None
    """Updates between checkpoints of the training state, in addition to those at every evaluation."""
    workers: Annotated[int, Field(ge=0)] | None = None
    """Number of threads that decode images, videos and audio ahead of the updates, 0 for none; default: one per CPU
    core, at most 4. It does not affect the result."""
    loggers: tuple[Annotated[Any, one_of("logger")], ...] = ()
    """Further destinations of the log, besides log.csv: `[tensorboard]`, or with options `[{type: wandb, project:
    mine}]`."""

    @field_validator("start_from", mode="before")
    @classmethod
    def _only_the_run(cls, value: Any) -> Any:
        return {"run": value} if isinstance(value, str) else value

    @property
    def passes(self) -> int | None:
        """Number of epochs after which training ends; None if only `steps` limits it."""
        return EPOCHS if self.epochs is None and self.steps is None else self.epochs

    @model_validator(mode="after")
    def _one_budget(self) -> TrainingSpec:
        if self.batch_tokens is not None and self.batch_rows is not None:
            raise ValueError(
                "batch_tokens and batch_rows are both given; only one can set the batch size. Remove one."
            )
        return self

    @model_validator(mode="after")
    def _used(self) -> TrainingSpec:
        """Refuse options that others make ineffective."""
        if self.average == 1:
            raise ValueError("average: 1 has no effect: it averages a single checkpoint. Choose 2 or more.")
        return self
