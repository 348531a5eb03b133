"""Where the rows come from: files, a generated world, or a data package."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from regard.spec.base import Part


class DataSpec(Part):
    train: tuple[str, ...] = ()
    dev: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    world: str | None = None
    package: str | None = None
    options: dict[str, Any] = {}
    """Of the world or the package: its sizes, its seed, a locale."""
    fields: tuple[str, ...] | None = None
    """The order of the cells in files without a header; inputs, outputs, truth in the order of the spec when absent."""
    hold_out: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.05
    """Share of the distinct inputs of `train` set aside as dev (2,000 at most) where no dev is named."""
    references: bool = True
    """Evaluate repeated inputs once, with all their outputs as references."""
    bad_rows: Literal["stop", "skip"] = "stop"

    @field_validator("train", "dev", "test", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return () if value is None else (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_source(self) -> DataSpec:
        named = [name for name in ("world", "package") if getattr(self, name)]
        if self.train:
            named.append("train")
        if len(named) > 1:
            raise ValueError(
                f"data names {' and '.join(named)}; rows come from one of them. Remove the others."
            )
        if self.options and not (self.world or self.package):
            raise ValueError("options belong to a world or a package; data names neither. Remove options.")
        return self
