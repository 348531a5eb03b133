"""How a model is trained."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from regard.parts import Count, Positive, Settings, Share, one_of

EPOCHS = 10
SPAN, STREAMS = 35, 20
"""Of a stream: tokens of a row in one update, and rows, where the spec names neither."""


class DistillOptions(Settings):
    """Learn texts from the mean distribution of trained models, beside the data (distillation)."""

    model_config = ConfigDict(populate_by_name=True)  # `from` cannot be written as a keyword of Python

    from_: Annotated[tuple[str, ...], Field(alias="from", min_length=1)]
    """Folders of models of the same columns."""
    weight: Share = 0.5
    """How much their distributions count against the words of the data."""

    @field_validator("from_", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


class TrainingSpec(Settings):
    """How a model is trained."""

    moved = {
        "teachers": "distill: {from: [...]}",
        "teaching": "distill: {from: [...], weight: …}",
        "tensorboard": "loggers: [tensorboard]",
    }

    epochs: Count | None = None
    """Passes over the data; 10 when neither this nor `steps` is given. Where both are, what comes first is the end."""
    steps: Annotated[int, Field(ge=0)] | None = None
    """Updates, even if they end inside an epoch; 0: none, the first weights are measured and kept."""
    batch_tokens: Count | None = None
    """Cut batches by cost (padded tokens); 4000 when neither this nor `batch_rows` is given."""
    batch_rows: Count | None = None
    """Cut batches by number of rows."""
    bucket: Count = 16
    """Batches whose rows are sorted by length together. More of them waste less padding; 1 mixes all lengths, which
    short texts (words, names) learn better from."""
    span: Count | None = None
    """Of a stream: tokens of each row in one update, through which gradients go back; 35 where this is not given."""
    carry: bool = True
    """Of a stream: a span goes on with the state in which the one before ended; false: each begins anew."""
    accumulate: Count = 1
    """Batches whose gradients make one update."""
    optimizer: Literal["adam", "adamw", "sgd"] = "adam"
    """adam adds the weight decay to the gradient, adamw to the step."""
    lr: Positive = 1e-3
    """The learning rate, after the warm-up of the schedule."""
    weight_decay: Annotated[float, Field(ge=0.0)] = 0.0
    """Pulls every weight towards 0."""
    momentum: Share = 0.0
    """Of sgd: how much of the last step each step goes on with."""
    betas: tuple[Share, Share] = (0.9, 0.999)
    """Of adam and adamw: decay of the means of the gradient and of its square."""
    clip: Positive | None = 1.0
    """Largest norm of the gradient."""
    schedule: Annotated[Any, one_of("schedule", default="constant")] = Field(
        default="constant", validate_default=True
    )
    """How the learning rate changes: `cosine`, or with options `{type: cosine, warmup: 100}`."""
    curriculum: Annotated[Any, one_of("curriculum")] | None = None
    """Which levels of difficulty an epoch is drawn from: `mix`, or with options `{type: combined, until: 0.6}`;
    default: every row once."""
    evaluate_every: Count | None = None
    """Steps between evaluations on dev; default: once an epoch."""
    metric: str = "loss"
    """What early stopping, the plateau schedule and the best checkpoint look at."""
    patience: Count | None = None
    """Stop after so many evaluations without a better metric."""
    average: Annotated[int, Field(ge=0)] = 0
    """Take the mean of the weights at the best so many evaluations, where it is no worse than the best alone."""
    ema: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    """Evaluate and keep an exponential moving average of the weights with this decay."""
    precision: Literal["fp32", "tf32", "bf16", "fp16"] = "fp32"
    """Of the arithmetic on a GPU: tf32 keeps fp32 numbers and multiplies matrices with 10-bit mantissas."""
    seed: int = 1
    """Of the first weights, the order of the batches, and what is dropped."""
    start_from: str | None = None
    """A model folder whose weights are taken where names and shapes agree."""
    weights: str | dict[str, Any] | None = None
    """First weights by name, set by hand: a file (JSON or safetensors), or the numbers themselves:
    `{decoders.total.output.weight: [[1.0]]}`. Each must be a weight of the model, of its shape."""
    distill: DistillOptions | None = None
    """Learn texts from the distributions of other models too."""
    checkpoint_every: Count | None = None
    """Steps between checkpoints of the training state, besides those at every evaluation."""
    workers: Annotated[int, Field(ge=0)] | None = None
    """Threads that decode pictures, films and sounds ahead of the updates, 0: none; default: one for
    each CPU, 4 at most. What is learned does not depend on it."""
    loggers: tuple[Annotated[Any, one_of("logger")], ...] = ()
    """Where the log is written besides log.csv: `[tensorboard]`, or with options `[{type: wandb, project: mine}]`."""

    @property
    def passes(self) -> int | None:
        """Epochs after which training ends; None where only updates are counted."""
        return EPOCHS if self.epochs is None and self.steps is None else self.epochs

    @model_validator(mode="after")
    def _one_budget(self) -> TrainingSpec:
        if self.batch_tokens is not None and self.batch_rows is not None:
            raise ValueError(
                "batch_tokens and batch_rows are both given; batches are cut by one of them. Remove one."
            )
        return self

    @model_validator(mode="after")
    def _used(self) -> TrainingSpec:
        """Options that the others leave without effect."""
        if "momentum" in self.model_fields_set and self.optimizer != "sgd":
            raise ValueError(
                f"momentum has no effect: it is of optimizer: sgd, and {self.optimizer} has betas. Remove it."
            )
        if "betas" in self.model_fields_set and self.optimizer == "sgd":
            raise ValueError("betas has no effect: it is of adam and adamw, and sgd has momentum. Remove it.")
        if self.average == 1:
            raise ValueError("average: 1 has no effect: the mean of one is that one. Choose 2 or more.")
        return self
