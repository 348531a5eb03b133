"""A model as validated data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, PrivateAttr, ValidationError

from regard.errors import RegardError
from regard.spec.base import Part
from regard.spec.columns import InputSpec, OutputSpec, TruthSpec
from regard.spec.consistency import check
from regard.spec.data import DataSpec
from regard.spec.decoders import DecoderSpec
from regard.spec.document import Document, parse, parse_file
from regard.spec.encoders import EncoderSpec
from regard.spec.messages import as_written, explain
from regard.spec.search import SearchSpec
from regard.spec.shorthand import expand
from regard.spec.training import TrainingSpec


class Spec(Part):
    """Everything that makes a model what it is: columns, encoders, decoders, search, training, data.

    `encoder` and `decoder` are held in full, one entry per input and output; `Spec.parse` takes the shorthands.
    """

    name: str = ""
    description: str = ""
    inputs: dict[str, InputSpec]
    outputs: dict[str, OutputSpec]
    truth: dict[str, TruthSpec] = {}
    encoder: dict[str, EncoderSpec]
    decoder: dict[str, DecoderSpec]
    search: SearchSpec = SearchSpec()
    training: TrainingSpec = Field(default_factory=TrainingSpec)
    data: DataSpec = DataSpec()
    metrics: tuple[str, ...] = ()
    """What `evaluate` prints; chosen by the type of the outputs when absent."""

    _written: dict[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def parse(cls, source: Document | dict[str, Any], overrides: Sequence[str] = ()) -> Spec:
        """Validate what a person wrote, with `key.path=value` overrides applied to it first."""
        document = source if isinstance(source, Document) else Document(source)
        document = _override(document, overrides)
        full, written = expand(document)
        try:
            spec = cls.model_validate(full)
        except ValidationError as error:
            raise explain(error, cls, document, full, written) from None
        spec._written = document.data
        check(spec, lambda *place: document.where(as_written(place, written)))
        return spec

    @classmethod
    def load(cls, path: str | Path, overrides: Sequence[str] = ()) -> Spec:
        return cls.parse(parse_file(Path(path)), overrides)

    def __eq__(self, other: object) -> bool:
        # what was written may differ (a shorthand, an order of keys) and mean the same
        return isinstance(other, Spec) and self.model_dump() == other.model_dump()

    __hash__ = None  # type: ignore[assignment]

    def to_yaml(self) -> str:
        """What the person wrote, with the overrides in it."""
        return yaml.safe_dump(self._written, sort_keys=False, allow_unicode=True)

    def written(self) -> dict[str, Any]:
        """The plain data this spec was parsed from, overrides included."""
        return dict(self._written)

    def changed(self, *overrides: str) -> Spec:
        """A copy with `key.path=value` overrides."""
        return Spec.parse(Document(self._written), overrides)


def _override(document: Document, overrides: Sequence[str]) -> Document:
    """`encoder.size=512`: the value is read as YAML; mappings on the way are made."""
    if not overrides:
        return document
    data: dict[str, Any] = _copy(document.data)
    origins = dict(document.overrides)
    for override in overrides:
        path, equals, text = override.partition("=")
        steps = path.strip().split(".")
        if not equals or not all(steps):
            raise RegardError(
                f"expected key.path=value, received {override!r}.",
                where="--set",
                fix="For example  --set encoder.size=512",
            )
        value = parse(f"value: {text}", f"--set {override}").data["value"]
        target = data
        for step in steps[:-1]:
            following = target.get(step)
            if following is None:
                following = target[step] = {}
            if not isinstance(following, dict):
                raise RegardError(
                    f"{step!r} is {following!r}, which has no keys below it.",
                    where=f"--set {override}",
                    fix="",
                )
            target = following
        target[steps[-1]] = value
        origins[tuple(steps)] = override
    return Document(data, document.name, document.lines, origins)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value
