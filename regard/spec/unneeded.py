"""Parts that a saved model needs only for training and measuring: loggers, schedules, curricula, data, metrics.

A model answers without them. If they are not installed, they are left out of its spec, and a warning says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from regard.parts import Provenance, Settings, part
from regard.parts.choice import OneOf, Section
from regard.spec.document import Document
from regard.spec.sections import DataSpec, TrainingSpec

SECTIONS: Mapping[str, type[Settings]] = {"training": TrainingSpec, "data": DataSpec}
"""The sections of a spec with parts on which no answer depends."""


def unneeded_kinds() -> set[str]:
    """The kinds of parts on which no answer depends."""
    fields = (field for section in SECTIONS.values() for field in section.model_fields.values())
    return {"metric", *(one.kind for field in fields for one in _choices(field.annotation, *field.metadata))}


def without_unneeded(document: Document) -> tuple[Document, list[tuple[str, str]]]:
    """The document without the parts in these sections that are not registered, and their kinds and names."""
    data, missing = dict(document.data), list[tuple[str, str]]()
    for section, settings in SECTIONS.items():
        written = data.get(section)
        if not isinstance(written, Mapping):
            continue
        data[section] = kept = dict(written)
        for key, field in settings.model_fields.items():
            for choice in _choices(field.annotation, *field.metadata) if key in kept else ():
                values = kept[key] if isinstance(kept[key], list | tuple) else [kept[key]]
                known = [value for value in values if not _is_missing(choice, value, missing)]
                if len(known) == len(values):
                    continue
                if known:
                    kept[key] = known
                else:
                    del kept[key]
                    if issubclass(settings, Section) and key == settings.chooser:  # with its options
                        kept = data[section] = {
                            one: kept[one] for one in kept if one in settings.model_fields
                        }
                    break
    return Document(data, document.name, document.lines, document.changes), missing


def needed(missing: Sequence[Provenance]) -> bool:
    """Whether an answer depends on one of these parts."""
    kinds = unneeded_kinds()
    return any(one.kind not in kinds for one in missing)


def _is_missing(choice: OneOf, value: Any, found: list[tuple[str, str]]) -> bool:
    name = value.get("type", choice.default) if isinstance(value, Mapping) else value
    if not isinstance(name, str) or part(choice.kind, name) is not None:
        return False
    found.append((choice.kind, name))
    return True


def _choices(*annotations: Any) -> Iterator[OneOf]:
    for one in annotations:
        if isinstance(one, OneOf):
            yield one
        else:
            yield from _choices(*get_args(one), *getattr(one, "__metadata__", ()))
