"""The answers that are examined: a model's own outputs, teacher-forced, and where it looked meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.data import Batch, Row
from regard.data.columns import Column
from regard.data.encoding import EncodedRows, encode_rows
from regard.data.ragged import Array, Ragged
from regard.errors import Message, Option, RegardError
from regard.model import Model
from regard.model.building import given_trees
from regard.model.inputs import INPUT_REMEDY, Input, one_or_several
from regard.trace import Trace
from regard.trace.prediction import Prediction

Kept = bytes
"""The positions of an input that are kept, as the bytes of a bool array."""


@dataclass(frozen=True, eq=False)
class Looked:
    """One answer and one input that it attends to.

    row       the number of the answer
    input     the name of the input
    weights   (T, S) attention
    scores    (T,) log p of each output piece
    shape     rows and columns of a grid, else (S,)
    words     whether the positions are words of sentences
    """

    row: int
    input: str
    weights: Array
    scores: Array
    shape: tuple[int, ...]
    words: bool = False

    @property
    def positions(self) -> int:
        return int(self.weights.shape[1])

    @property
    def steps(self) -> int:
        return len(self.weights)


@dataclass(frozen=True)
class Examined:
    """Answers of a model to some inputs.

    model     the model
    output    the name of the output
    encoded   the inputs, and the outputs as targets if a search writes them
    answers   the model's own answers, with their traces
    numbers   the number of each answer among the given inputs; empty answers are left out
    total     the number of given inputs
    """

    model: Model
    output: str
    encoded: EncodedRows
    answers: Sequence[Prediction]
    numbers: tuple[int, ...]
    total: int

    @classmethod
    def of(
        cls, model: Model, inputs: Any, output: str | None = None, *, targets: Sequence[str] | None = None
    ) -> Examined:
        """The answers of a model to inputs; or given `targets`, texts that it scores instead."""
        name = model.output_name(output)
        kept: list[int] = []
        columns = [model.columns[one] for one in model.spec.inputs]
        several, _ = one_or_several(inputs, columns)
        if not several:
            raise RegardError("there are no inputs.", where="faithful", fix="Give at least one.")
        given = [value if isinstance(value, Row) else model.row(value) for value in several]
        stepwise = bool(model.network.decoders[name].stepwise)
        column = model.columns[name]
        if not stepwise:
            answers = _classified(model, given, name)
            if all(column.check(one.text) is None for one in answers):
                columns.append(column)
                given = [
                    _with(row, column, one.text, number)
                    for number, (row, one) in enumerate(zip(given, answers, strict=True), 1)
                ]
        elif not column.is_text:
            raise _undefined(name, column)
        else:
            if targets is None:
                targets = [one.text for one in model.predict(given, output=name, trace=False, n_best=1)]
            answers = []
            kept = [place for place, text in enumerate(targets) if column.check(text) is None]
            given, targets = [given[place] for place in kept], [targets[place] for place in kept]
            if given:
                answers = model.score(given, targets, output=name)
            pairs = zip(given, targets, strict=True)
            given = [_with(row, column, text, number) for number, (row, text) in enumerate(pairs, 1)]
            columns.append(column)
        numbers = kept or range(len(given))
        encoded = encode_rows(given, columns, remedy=INPUT_REMEDY)
        return cls(model, name, encoded, answers, tuple(numbers), len(several))

    @property
    def stepwise(self) -> bool:
        return bool(self.model.network.decoders[self.output].stepwise)

    def looked(self) -> list[Looked]:
        """Every answer with each input that it attends to and that has at least two positions."""
        found = []
        decoder: Any = self.model.network.decoders[self.output]
        by_words = decoder.by_words
        for row, answer in enumerate(self.answers):
            trace = answer.trace
            if trace is None:
                continue
            for name, weights in trace.attention.items():
                if weights.size and weights.shape[1] > 1:
                    shape = _grid(trace, name, weights.shape[1])
                    scores = trace.scores if len(trace.scores) else np.full(len(weights), answer.score)
                    found.append(Looked(row, name, weights, scores, shape, name in by_words))
        return found

    def removable(self, one: Looked) -> bool:
        """Whether an input can be written without some of its positions; not if it has a tree of all words."""
        if one.input in given_trees(self.model.spec):
            return False
        column = self.encoded.columns[one.input]
        kept = np.arange(one.positions) > 0
        value = self.encoded.encoding(column, one.row)
        return column.reduced(value, kept.reshape(one.shape), words=one.words) is not None

    def batch(self, variants: Sequence[tuple[int, str, Array | None]], *, fill: bool, looked: Any) -> Batch:
        """Rows with removed positions as a batch: (row, input, kept positions), None: all are kept.

        looked   the `Looked` of a row and an input
        """
        return variant_batch(self.encoded, variants, fill=fill, looked=looked)


def variant_batch(
    encoded: EncodedRows,
    variants: Sequence[tuple[int, str, Array | None]],
    *,
    fill: bool,
    looked: Mapping[tuple[int, str], Looked],
) -> Batch:
    """Rows with removed positions, collated."""
    collated: dict[str, Any] = {}
    texts: dict[str, list[str]] = {}
    columns = encoded.columns.values()
    for column in sorted(columns, key=lambda one: len(one.of) > 0):
        values: list[Array] = []
        written: list[str] = []
        for row, name, kept in variants:
            value = encoded.encoding(column, row)
            text = encoded.text(row, column.name) if column.reads_texts else ""
            if kept is not None and name == column.name:
                one = looked[row, name]
                value = _reduced(column, value, kept.reshape(one.shape), words=one.words, fill=fill)
                if column.reads_texts:
                    text = column.reduced_text(text, kept, words=one.words, fill=fill)
            values.append(value)
            written.append(text)
        texts[column.name] = written
        if column.reads_texts:
            collated[column.name] = column.collate_texts(Ragged.of(values), written)
        elif column.cached:
            collated[column.name] = column.collate(Ragged.of(values), collated)
        else:
            collated[column.name] = column.collate(values, collated)
    in_order = {name: collated[name] for name in encoded.columns}
    return Batch(in_order, tuple(range(len(variants))), len(variants))


def _reduced(column: Column, value: Array, kept: Array, *, words: bool, fill: bool) -> Array:
    found = column.reduced(value, kept, words=words, fill=fill)
    if found is None:
        raise RegardError(
            f"positions of {column.name!r} cannot be removed: it is of type {column.type}.",
            where="faithful",
            fix=Message("Zero their attention instead: `", Option("remove", "zero"), "`."),
        )
    return found


def _classified(model: Model, given: Sequence[Input], output: str) -> list[Prediction]:
    answers = model.predict(given, output=output)
    if not answers[0].probabilities:
        raise _undefined(output, model.columns[output])
    return list(answers)


def _with(row: Row, column: Column, text: str, number: int) -> Row:
    """The row, with an answer as its output."""
    return Row({**row, column.field: text}, file=row.file or "answer", line=number, folder=row.folder)


def _undefined(output: str, column: Column) -> RegardError:
    return RegardError(
        f"the output {output!r} is of type {column.type}; faithfulness is measured for texts and labels.",
        where="faithful",
        fix="Choose a model that writes a text or a label.",
    )


def _grid(trace: Trace, name: str, positions: int) -> tuple[int, ...]:
    grid = getattr(trace.seen.get(name), "grid", None)
    return tuple(grid) if grid is not None and int(np.prod(grid)) == positions else (positions,)


def in_chunks(items: Iterable[Any], most: int) -> Iterator[list[Any]]:
    """The items in lists of at most `most`."""
    chunk: list[Any] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == most:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
