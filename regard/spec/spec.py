"""A model as validated data, and its file in the folder of a run, with the list of parts that are not regard's own."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, PrivateAttr, ValidationError, field_validator

from regard.errors import Option, RegardError, Setting
from regard.parts import (
    Mistakes,
    Provenance,
    Settings,
    as_data,
    check_installed,
    missing_parts,
    one_of,
    used_parts,
)
from regard.parts.choice import Section
from regard.parts.options import Saved, reading_saved
from regard.parts.registry import own_package, registered
from regard.spec.check import check, check_search
from regard.spec.document import Change, Document, Place, changed, parse_file, plain
from regard.spec.messages import as_written, explain
from regard.spec.sections import SPLITS, DataSpec, SearchSpec, SweepSpec, TrainingSpec
from regard.spec.shorthand import completed, expand
from regard.spec.unneeded import needed, without_unneeded
from regard.storage.files import read_json, write_text
from regard.storage.manifest import is_data
from regard.version import __version__

AnyColumn = Annotated[Any, one_of("column")]
AnyEncoder = Annotated[Any, one_of("encoder")]
AnyDecoder = Annotated[Any, one_of("decoder")]
SPEC, PARTS = "spec.yaml", "parts.json"


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
    sweep: SweepSpec = SweepSpec()

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
        sweep: SweepSpec | Mapping[str, Any] | None = None,
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
            "sweep": sweep,
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
        self._written = completed(document.data, {"encoder": self.encoder, "decoder": self.decoder}, written)
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
        given = {name: plain(as_data(value), name) for name, value in options.items()}
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


def foreign_parts(spec: Spec) -> list[Provenance]:
    """The parts of a spec that come from other packages or from scripts."""
    if all(own_package(made) for _, _, made in registered()):
        return []
    return used_parts(spec, metrics=(*spec.metrics, spec.training.metric))


def write_spec(folder: Path, spec: Spec) -> None:
    """Write spec.yaml and parts.json, each atomically. The spec comes last, because it makes a folder a run."""
    listed = [one.to_dict() for one in foreign_parts(spec)]
    text = json.dumps({"regard": __version__, "parts": listed}, ensure_ascii=False, indent=1)
    write_text(folder / PARTS, text + "\n")
    write_text(folder / SPEC, spec.to_yaml())


def load_spec(folder: Path, changes: Sequence[Change] = (), *, to_answer: bool = False) -> Spec:
    """The spec in a folder; an unregistered part is refused with what to install.

    to_answer   the model will not be trained: parts that only training and measuring need may be missing, and are left
                out with a warning
    """
    parts = read_parts(folder)
    absent = missing_parts(parts) if to_answer else []
    check_installed(
        parts if needed(absent) else [one for one in parts if one not in absent], where=str(folder)
    )
    versions = {(one.kind, one.name): one.version for one in parts}
    document = parse_file(folder / SPEC)
    if to_answer:
        document, left = without_unneeded(document)
        _warn(folder, left, absent)
    with reading_saved(Saved(_version(folder), versions)) as saved:
        spec = Spec.parse(document, changes)
    if saved.changed:  # written anew, so that it can be changed and saved
        spec = Spec.parse(Document(as_data(spec)))
    found = {split: _moved_rows(folder, getattr(spec.data, split)) for split in SPLITS}
    moved = [Setting(f"data.{split}", files) for split, files in found.items() if files]
    return spec.changed(*moved) if moved else spec


def _version(folder: Path) -> str:
    """The version of regard that wrote the folder; empty if it does not say."""
    path = folder / PARTS
    found = read_json(path).get("regard", "") if path.is_file() else ""
    return found if isinstance(found, str) else ""


def _warn(folder: Path, left: Sequence[tuple[str, str]], absent: Sequence[Provenance]) -> None:
    known = {(one.kind, one.name): str(one) for one in absent}
    told = {**known, **{one: known.get(one, " ".join(one)) for one in left}}
    if told:
        warnings.warn(
            f"{folder}: not registered here: {', '.join(told.values())}. No answer depends on it; it is needed only to "
            "train the model, or to measure it.",
            stacklevel=4,
        )


def nearest_run(folder: Path) -> Path | None:
    """The run beside a missing folder whose name is most similar; None if there is none."""
    beside = sorted(path.parent.name for path in folder.parent.glob(f"*/{SPEC}"))
    near = get_close_matches(folder.name, beside, n=1)
    return folder.with_name(near[0]) if near else None


def _moved_rows(folder: Path, files: Sequence[str]) -> list[str]:
    """The current paths of the rows that a run keeps, in case its folder was moved."""
    here = [
        str((folder / Path(file).name).absolute())
        if not Path(file).exists() and is_data(Path(file).name) and (folder / Path(file).name).is_file()
        else file
        for file in files
    ]
    return here if here != list(files) else []


def read_parts(folder: Path) -> list[Provenance]:
    """The parts that a folder lists; empty for folders written before parts were listed."""
    path = folder / PARTS
    if not path.is_file():
        return []
    try:
        content = read_json(path)
        return [Provenance.from_dict(one) for one in content["parts"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RegardError(
            f"the list of parts cannot be read: {error}.", where=str(path), fix="Copy the folder again."
        ) from None
