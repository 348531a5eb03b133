"""A model as validated data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, PrivateAttr, ValidationError, field_validator

from regard.errors import Option, RegardError, Setting
from regard.parts import Mistakes, Settings, as_data, one_of
from regard.parts.choice import Section
from regard.spec.changes import Change, changed, plain
from regard.spec.check import check, check_search
from regard.spec.data import DataSpec
from regard.spec.document import Document, Place, parse_file
from regard.spec.messages import as_written, explain
from regard.spec.search import SearchSpec
from regard.spec.shorthand import expand
from regard.spec.training import TrainingSpec

AnyColumn = Annotated[Any, one_of("column")]
AnyEncoder = Annotated[Any, one_of("encoder")]
AnyDecoder = Annotated[Any, one_of("decoder")]


class Spec(Settings):
    """The complete definition of a model: columns, encoders, decoders, search, training, data.

        Spec.load("my.yaml")
        Spec(
            inputs={"source": TextColumn.Options(unit="char")},
            outputs={"target": TextColumn.Options()},
            encoder=RecurrentEncoder.Options(cell="lstm", size=256),
            attention={"score": "dot"},
        )

    Arguments in Python are those of a YAML file: options of parts, or plain data, with the same shorthands. `encoder`
    and `decoder` are stored in full, with one entry per input and output.
    """

    name: str = ""
    description: str = ""
    inputs: dict[str, AnyColumn]
    outputs: dict[str, AnyColumn]
    truth: dict[str, AnyColumn] = {}
    encoder: dict[str, AnyEncoder]
    decoder: dict[str, AnyDecoder]
    search: SearchSpec = Field(default_factory=SearchSpec)
    training: TrainingSpec = Field(default_factory=TrainingSpec)
    data: DataSpec = DataSpec()
    metrics: tuple[str, ...] = ()
    """Metrics that `evaluate` prints; default: those of the type of each output."""

    @field_validator("metrics", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    _written: dict[str, Any] = PrivateAttr(default_factory=dict)

    def __init__(
        self,
        *,
        inputs: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
        truth: Mapping[str, Any] | None = None,
        encoder: Any = None,
        attention: Any = None,
        decoder: Any = None,
        search: SearchSpec | Mapping[str, Any] | None = None,
        training: TrainingSpec | Mapping[str, Any] | None = None,
        data: DataSpec | Mapping[str, Any] | None = None,
        metrics: str | Sequence[str] | None = None,
        name: str | None = None,
        description: str | None = None,
        **unknown: Any,
    ) -> None:
        given = {
            "name": name,
            "description": description,
            "inputs": inputs,
            "outputs": outputs,
            "truth": truth,
            "encoder": encoder,
            "attention": attention,
            "decoder": decoder,
            "search": search,
            "training": training,
            "data": data,
            "metrics": metrics,
            **unknown,
        }
        document = Document(as_data({key: value for key, value in given.items() if value is not None}))
        full, written = expand(document)
        try:
            super().__init__(**full)
        except ValidationError as error:
            raise explain(error, type(self), document, full, written) from None
        self._settle(document, written)

    def _settle(self, document: Document, written: Mapping[Place, Place]) -> None:
        """Store the document as written, and refuse contradictions."""
        self._written = document.data
        mistakes = Mistakes(lambda *place: document.where(as_written(place, written)))
        check(self, mistakes)
        mistakes.raise_all()

    @classmethod
    def parse(cls, source: Document | dict[str, Any], overrides: Sequence[Change] = ()) -> Spec:
        """Validate a document, after changing it: `key.path=value`, or settings with values of Python."""
        document = changed(source if isinstance(source, Document) else Document(source), overrides)
        full, written = expand(document)
        try:
            spec = cls._validated(full)
        except ValidationError as error:
            raise explain(error, cls, document, full, written) from None
        spec._settle(document, written)
        return spec

    @classmethod
    def _validated(cls, full: dict[str, Any]) -> Spec:
        """Validate the full form, without the shorthands that `Spec(…)` accepts."""
        spec: Spec = cls.__new__(cls)
        cls.__pydantic_validator__.validate_python(full, self_instance=spec)
        return spec

    @classmethod
    def load(cls, path: str | Path, overrides: Sequence[Change] = ()) -> Spec:
        return cls.parse(parse_file(Path(path)), overrides)

    def __eq__(self, other: object) -> bool:
        # Documents may differ (shorthands, order of keys) and mean the same.
        return isinstance(other, Spec) and as_data(self, unset=True) == as_data(other, unset=True)

    __hash__ = None  # type: ignore[assignment]

    def to_yaml(self) -> str:
        """The document as written, with the overrides applied."""
        return yaml.dump(self._written, Dumper=_Dumper, sort_keys=False, allow_unicode=True)

    def written(self) -> dict[str, Any]:
        """The plain data from which this spec was parsed, overrides included."""
        return dict(self._written)

    def changed(self, *changes: Change) -> Spec:
        """A copy with other settings: `key.path=value`, or settings with values of Python."""
        return Spec.parse(Document(self._written), changes)

    def searching(self, changes: Mapping[str, Any]) -> Spec:
        """A copy with other search options (`max_length=None`: the default) and another `seed` (`training.seed`).
        Options that belong to another search choose it."""
        wanted = self.search.chosen(changes)
        seed = wanted.pop("seed", None)
        made = self.with_options("search", wanted) if wanted else self
        return made if seed is None else made.with_options("training", {"seed": seed})

    def with_options(self, section: str, options: Mapping[str, Any]) -> Spec:
        """A copy with other options of `search` or `training`. Only that section is validated again."""
        before: Section = getattr(self, section)
        given = {name: plain(value, name) for name, value in options.items()}
        document = Document(
            {section: {**before.beside(), **given}},
            changes={(section, name): Option(name, value) for name, value in options.items()},
        )
        try:
            after = type(before).model_validate(document.data[section])
        except ValidationError as error:
            full, moved = before.gathered(document.data[section])
            written: dict[Place, Place] = {(section, before.chooser, key): (section, key) for key in moved}
            raise explain(error, type(self), document, {section: full}, written, within=(section,)) from None
        made: Spec = self.model_copy(update={section: after})
        made._written = {**self._written, section: {**(self._written.get(section) or {}), **given}}
        mistakes = Mistakes(lambda *place: document.where(place))
        check_search(made, mistakes)
        mistakes.raise_all()
        return made


def read_data(document: dict[str, Any], changes: Sequence[Setting]) -> DataSpec:
    """The section `data` of a document, with changes, before the rest is validated; `parse` reports the mistakes."""
    wanted = [change for change in changes if change.path.startswith("data.")]
    try:
        return DataSpec.model_validate(changed(Document(document), wanted).data.get("data"))
    except ValidationError:
        pass
    try:
        return DataSpec.model_validate(document.get("data"))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise RegardError(
            f"{first['msg']}.",
            where=".".join(["data", *map(str, first["loc"])]),
            fix="If the name of a file is not UTF-8, rename the file.",
        ) from None


class _Dumper(yaml.SafeDumper):
    """Writes repeated objects in full, because a spec has no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
