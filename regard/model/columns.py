"""The columns a spec names, made and taught."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from regard.data.columns import AlignmentColumn, Column, LabelColumn, TagsColumn, TextColumn
from regard.data.readers import Row
from regard.spec import AlignmentSpec, LabelSpec, Spec, TagsSpec, TextSpec


def make_columns(spec: Spec) -> dict[str, Column]:
    """Untaught columns: inputs, outputs, truth, in the order of the spec."""
    columns: dict[str, Column] = {}
    for name, part in (*spec.inputs.items(), *spec.outputs.items(), *spec.truth.items()):
        if isinstance(part, TextSpec):
            columns[name] = TextColumn(
                name,
                field=part.field,
                unit=part.unit,
                vocabulary=part.vocabulary,
                min_count=part.min_count,
                normalize=part.normalize,
                case=part.case,
                split=part.split,
                max_length=part.max_length,
            )
        elif isinstance(part, LabelSpec):
            columns[name] = LabelColumn(name, field=part.field, classes=part.classes)
        elif isinstance(part, TagsSpec):
            columns[name] = TagsColumn(name, of=part.of, field=part.field)
        elif isinstance(part, AlignmentSpec):
            pair = part.of or (next(iter(spec.inputs)), next(iter(spec.outputs)))
            columns[name] = AlignmentColumn(name, of=pair, field=part.field)
    return columns


def shared_with(spec: Spec) -> dict[str, str]:
    """{column: the column whose vocabulary it takes}."""
    parts = {**spec.inputs, **spec.outputs}
    return {
        name: shared for name, part in parts.items() if (shared := getattr(part, "shared", None)) is not None
    }


def teach_columns(columns: Mapping[str, Column], spec: Spec, rows: Callable[[], Iterable[Row]]) -> None:
    """Learn vocabularies and classes from the training rows; `rows` gives them anew for each column."""
    shared = shared_with(spec)
    for name, column in columns.items():
        if name in shared:
            continue
        fields = [column.field, *(columns[other].field for other, owner in shared.items() if owner == name)]
        column.learn(value for row in rows() for field in fields if (value := row.get(field)) is not None)
    for name, owner in shared.items():
        columns[name].relearn(columns[owner].learned())
