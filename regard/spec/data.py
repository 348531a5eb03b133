"""Where the rows come from: files, a generated world, or a data package."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from regard.parts import Settings


class DataSpec(Settings):
    train: tuple[str, ...] = ()
    dev: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    world: str | None = None
    package: str | None = None
    options: dict[str, Any] = {}
    """Of the world or the package: its sizes, its seed, a locale."""
    fields: tuple[str, ...] | None = None
    """The order of the cells in files without a header; inputs, outputs, truth in the order of the spec when absent."""
    format: (
        Literal[
            "tsv",
            "csv",
            "jsonl",
            "parquet",
            "conllu",
            "conll",
            "babi",
            "text",
            "flickr8k",
            "coco",
            "nlvr",
            "im2latex",
            "folder",
            "idx",
            "skeletons",
            "wavs",
        ]
        | None
    ) = None
    """Of the files; told by their names when absent."""
    images: str | dict[str, str] | None = None
    """The folder or .zip archive of the pictures that the rows name, or one for each split: `{train: train2014, dev:
    val2014}`; beside the files when absent."""
    where: dict[str, dict[str, tuple[str, ...]]] = {}
    """Take of a split's files the rows with these values, so that one file can hold all splits:
    `where: {train: {part: TRAIN}, test: {part: [A, B]}}`."""
    hold_out: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.05
    """Share of the distinct inputs of `train` set aside as dev (2,000 at most) where no dev is named."""
    references: bool = True
    """Evaluate repeated inputs once, with all their outputs as references; not where these are tags or trees."""
    bad_rows: Literal["stop", "skip"] = "stop"

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
        named = [name for name in ("world", "package") if getattr(self, name)]
        if self.train:
            named.append("train")
        if len(named) > 1:
            raise ValueError(
                f"data names {' and '.join(named)}; rows come from one of them. Remove the others."
            )
        for split in self.images if isinstance(self.images, dict) else ():
            if split not in ("train", "dev", "test"):
                raise ValueError(f"images names the split {split!r}. The splits are train, dev and test.")
        for split in self.where:
            if split not in ("train", "dev", "test"):
                raise ValueError(f"where names the split {split!r}. The splits are train, dev and test.")
            if not getattr(self, split):
                raise ValueError(
                    f"where chooses rows of {split}, for which data names no files. Name them, or remove it."
                )
        if self.options and not (self.world or self.package):
            raise ValueError("options belong to a world or a package; data names neither. Remove options.")
        return self

    def images_of(self, split: str | None) -> str | None:
        """Where the pictures of a split lie, if that is said."""
        if isinstance(self.images, dict):
            return self.images.get(split or "train")
        return self.images


def _texts(value: Any) -> Any:
    """Values as the texts they are in a file: 1 and "1" are the same."""
    many = value if isinstance(value, list | tuple) else [value]
    return tuple(str(one) if isinstance(one, str | int | float) else one for one in many)
