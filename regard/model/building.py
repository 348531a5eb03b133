"""From a spec to its columns, fitted to rows, and to its network: every part builds itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from torch import nn

from regard.data.columns import Column
from regard.data.columns.label import unknown_class
from regard.data.locating import located
from regard.data.readers import Row, RowSource
from regard.data.readers.row import blocks_of
from regard.errors import RegardError
from regard.nn.encoders import build_encoder, owner_of
from regard.nn.network import Network
from regard.spec import Spec

T = TypeVar("T")


def make_columns(spec: Spec) -> dict[str, Column]:
    """Unfitted columns: inputs, outputs, truth, in the order of the spec."""
    columns = {**spec.inputs, **spec.outputs, **spec.truth}
    return {
        name: options.part.build(options, name, spec, _asked(spec, name)) for name, options in columns.items()
    }


def _asked(spec: Spec, name: str) -> dict[str, Any]:
    """The requirements of a column's encoder or decoder, and of other decoders that read it."""
    reader = owner_of(spec, name) if name in spec.encoder else spec.decoder.get(name)
    asked: dict[str, Any] = {} if reader is None else dict(reader.part.column_needs(reader))
    for output, decoder in spec.decoder.items():
        asked |= decoder.part.input_needs(decoder, output, spec).get(name, {})
    return asked


def shared_with(spec: Spec) -> dict[str, str]:
    """{column: the column whose vocabulary it uses}."""
    columns = {**spec.inputs, **spec.outputs}
    return {
        name: shared
        for name, column in columns.items()
        if (shared := getattr(column, "shared", None)) is not None
    }


def fitted_columns(spec: Spec, rows: Iterable[Mapping[str, Any]]) -> dict[str, Column]:
    """The columns of a spec, fitted to the training rows."""
    columns = make_columns(spec)
    kept = as_rows(rows, columns)
    fit_columns(columns, spec, lambda: kept)
    return columns


def as_rows(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Column]) -> Iterable[Row]:
    """Rows given in Python, with values in the written form of their columns; rows from files are kept."""
    if isinstance(rows, RowSource):
        return cast(Iterable[Row], rows)
    fields = {column.field: column for column in columns.values()}
    return [
        row
        if isinstance(row, Row)
        else Row(
            {name: fields[name].written(value) for name, value in row.items() if name in fields},
            file="rows",
            line=number,
        )
        for number, row in enumerate(rows, 1)
    ]


def refuse_unseen(
    rows: Iterable[Row], columns: Mapping[str, Column], fix: str = "Correct the row, or leave it out."
) -> None:
    """Refuse training rows with classes to which the columns were not fitted."""
    classed = [column for column in columns.values() if column.classed]
    for row in rows if classed else ():
        for column in classed:
            unseen = column.unseen(row.get(column.field, ""))
            if unseen and row.get(column.field):
                what = unknown_class(unseen[0], getattr(column, "classes", []), "class")
                raise RegardError(f"{column.field} has {what}.", where=row.where, fix=fix)


def _some(values: Iterable[T], column: Column, rows: Callable[[], Iterable[Row]]) -> Iterator[T]:
    """The values; raises an error if there are none, because there are no rows or the name of the field is wrong."""
    count = -1
    for count, value in enumerate(values):  # noqa: B007
        yield value
    if count < 0 and next(iter(rows()), None) is None:
        raise RegardError(
            "there are no rows to train on.", where="data.train", fix="Check the file and its format."
        )
    if count < 0:
        raise RegardError(
            f"no row to train on has the field {column.field!r}.",
            where=column.name,
            fix="Correct the name, or set the `field` of the column.",
        )


def fit_columns(
    columns: Mapping[str, Column],
    spec: Spec,
    rows: Callable[[], Iterable[Row]],
    *,
    given: Collection[str] = (),
) -> None:
    """Fit vocabularies, classes and means to the training rows; `rows` is called again for each column.

    given   columns that are not fitted here, because their state is taken from another model
    """
    shared = shared_with(spec)
    for name, column in columns.items():
        if name in shared or name in given:
            continue
        fields = [column.field, *(columns[other].field for other, owner in shared.items() if owner == name)]
        if column.learns_own:
            own = (value for row in rows() if (value := row.get(column.field)) is not None)
            column.learn_own(_some(own, column, rows))
        if column.learns_beside is not None:
            beside = columns[column.learns_beside].field
            column.learn_beside(
                (row[column.field], row[beside]) for row in rows() if column.field in row and beside in row
            )
        if column.learns_counts and _learned_in_blocks(column, fields, rows):
            continue
        found = located(rows(), [column]) if column.names_files else rows()
        values = (value for row in found for field in fields if (value := row.get(field)) is not None)
        column.learn(_some(values, column, rows))
    for name, owner in shared.items():
        if owner in given:
            continue
        columns[name].relearn(columns[owner].learned())


def _learned_in_blocks(column: Column, fields: Sequence[str], rows: Callable[[], Iterable[Row]]) -> bool:
    """Fit a column to the blocks of large tables, or take what it learned from them before; False for other rows."""
    given = rows()
    blocks = blocks_of(given, problems=False)
    if blocks is None or not isinstance(given, RowSource):
        return False
    from regard.data.blocks.counting import counted
    from regard.data.known import known

    def learned() -> Any:
        column.learn_counts(_some(counted(blocks, fields, by_words=column.is_text), column, rows))
        return column.learned()

    if column.learns_from is None:
        learned()
    else:
        question = ["learned", type(column).__name__, column.learns_from, list(fields)]
        column.relearn(known(given, question, learned))
    return True


def build_network(spec: Spec, columns: Mapping[str, Column], *, read_files: bool = True) -> Network:
    """The network of a spec, with new weights.

    read_files   False: do not read pretrained vectors, because the weights will be loaded or only counted
    """
    shared = {name: owner for name, part in spec.encoder.items() if (owner := part.part.owner(part))}
    encoders = {
        name: build_encoder(part, columns[name], read_files=read_files)
        for name, part in spec.encoder.items()
        if name not in shared
    }
    for name, encoder in encoders.items():
        encoder.connect(spec.encoder[name], encoders)
    over = {name: decoder.over or tuple(spec.encoder) for name, decoder in spec.decoder.items()}
    decoders: dict[str, Any] = {}
    for name, decoder in spec.decoder.items():
        sources = {source: encoders[shared.get(source, source)] for source in over[name]}
        decoders[name] = decoder.part.build(decoder, columns[name], sources, read_files=read_files)
        decoders[name].calibration = getattr(decoder, "calibration", 1.0)
    return Network(
        encoders,
        decoders,
        over=over,
        truths={name: truth_columns(spec, name) for name in spec.decoder},
        shared=shared,
        trees=given_trees(spec),
        of_rows=row_weights(spec),
        weights={name: decoder.weight for name, decoder in spec.decoder.items()},
    )


def row_weights(spec: Spec) -> dict[str, str]:
    """{output: the column with the weights of rows in its loss}; a column of one output before one of all."""
    columns = [(name, one) for name, one in spec.truth.items() if one.part.can_be("weight")]
    columns.sort(key=lambda pair: pair[1].of is not None)
    return {output: name for name, one in columns for output in spec.decoder if one.of in (None, output)}


def tree_columns(columns: Mapping[str, Any]) -> dict[str, str]:
    """{input: the column of its tree}, for some columns of a spec."""
    return {column.of: name for name, column in columns.items() if column.part.can_be("tree")}


def given_trees(spec: Spec) -> dict[str, str]:
    """{input: tree column} for the inputs whose parents are given in the data."""
    given = {}
    for name, column in tree_columns(spec.inputs).items():
        parents = getattr(owner_of(spec, name), "parents", None)
        if parents is not None and "heads" in parents.select.part.needs:
            given[name] = column
    return given


def truth_columns(spec: Spec, output: str) -> dict[str, str]:
    """{input: truth column} for every input whose alignment with this output is in the data."""
    found: dict[str, str] = {}
    decoder = spec.decoder[output]
    for name, truth in spec.truth.items():
        pair = truth.part.between(truth, spec)
        if pair is None:
            continue
        source, target = pair
        wanted = [one.truth for one in decoder.part.attentions(decoder) if one.over in (None, source)]
        if target == output and (source not in found or name in wanted):
            found[source] = name
    return found


def count_parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
