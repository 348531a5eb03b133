"""Right and wrong answers of a model, with where it looked: what `show --gallery` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rapidfuzz.distance import Levenshtein

from regard.cli.loading import load, refuse_stream
from regard.cli.options import Loading
from regard.cli.outputs import file_of
from regard.console import safe_console
from regard.data import Dataset
from regard.data.columns import TextColumn
from regard.evaluation import open_dataset, references
from regard.inspect import Example
from regard.model import Model
from regard.prediction import Prediction
from regard.terminal import say
from regard.trace import Trace

CHUNK, MOST = 64, 1024
"""Rows answered at a time, until there are enough of both kinds, and at most."""
NEAREST, FARTHEST = "Nearest to the truth", "Farthest from it"


def show_gallery(run: Path, count: int, split: str, *, grid: bool, output: Path | None, how: Loading) -> None:
    """A gallery for each output, in the terminal or as a file."""
    from regard.inspect import gallery, save

    model = load(run, how)
    refuse_stream(model, run)
    dataset = open_dataset(model, (), [split])
    for name in model.spec.outputs:
        examples, seen, right = collect(model, dataset, name, count)
        named = f"{run.name} · {name}" if len(model.spec.outputs) > 1 else run.name
        counted = f"{split}: {right} of the first {seen} rows are right"
        scene = gallery(examples, title=named, subtitle=counted, style="grid" if grid else "smooth")
        if output is None:
            screen = safe_console()
            screen.print(scene)
            screen.print(counted, highlight=False)
        else:
            path = file_of(output, name, list(model.spec.outputs))
            save(scene, path)
            say(f"{counted}\n{path}")


def collect(model: Model, dataset: Dataset, output: str, count: int) -> tuple[list[Example], int, int]:
    """The first `count` right and the first `count` wrong answers; how many rows were answered, how many rightly.

    Where none is right to the letter, as with captions of photographs, those nearest to a true one and those farthest
    from all.
    """
    wanted = references(dataset, output)
    found: dict[bool, list[tuple[int, Prediction]]] = {True: [], False: []}
    seen = 0
    while seen < min(len(dataset), MOST) and min(map(len, found.values())) < count:
        rows = list(range(seen, min(seen + CHUNK, len(dataset))))
        for row, answer in zip(rows, model.answer(dataset.batch(rows), output=output), strict=True):
            found[answer.text in wanted[row]].append((row, answer))
        seen += len(rows)
    chosen = [(*one, "") for one in (*found[True][:count], *found[False][:count])]
    if not found[True]:
        ranked = sorted(found[False], key=lambda one: -_likeness(one[1].text, wanted[one[0]]))
        nearest, farthest = ranked[:count], ranked[count:][-count:]
        chosen = [(*one, NEAREST) for one in nearest] + [(*one, FARTHEST) for one in farthest]
    examples = [
        _example(model, dataset, output, row, answer, wanted[row], group) for row, answer, group in chosen
    ]
    return examples, seen, len(found[True])


def _example(
    model: Model, dataset: Dataset, output: str, row: int, answer: Prediction, true: Sequence[str], group: str
) -> Example:
    assert answer.trace is not None  # it was asked for
    trace = _known_places(model, dataset, output, row, answer.trace)
    raw = dataset.raw(row)
    asked = " · ".join(
        raw[name] if isinstance(model.columns[name], TextColumn) and name in raw else " ".join(pieces)
        for name, pieces in trace.input.items()
        if name not in trace.seen
    )
    return Example(trace, answer.text, tuple(true), asked, group)


def _likeness(written: str, true: Sequence[str]) -> float:
    """1 for the same words, 0 for others altogether; the best of several true texts."""
    words = written.split()
    return max((Levenshtein.normalized_similarity(words, text.split()) for text in true), default=0.0)


def _known_places(model: Model, dataset: Dataset, output: str, row: int, trace: Trace) -> Trace:
    """Without the true places of words that were not written: those of a step are of the word that belongs there."""
    if not trace.truth or not model.network.decoders[output].stepwise:
        return trace
    scored = model.score_batch(dataset.batch([row]), output)[0].trace
    true = [] if scored is None else list(scored.output)
    same = np.array([piece == (true[t] if t < len(true) else None) for t, piece in enumerate(trace.output)])
    return replace(trace, truth={name: places * same[:, None] for name, places in trace.truth.items()})
