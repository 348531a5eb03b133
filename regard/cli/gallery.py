"""The implementation of `regard show --gallery`: right and wrong answers of a model, with its attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rapidfuzz.distance import Levenshtein

from regard.cli.command import Loading
from regard.cli.loading import load
from regard.cli.outputs import file_of
from regard.data import Dataset
from regard.evaluation import open_dataset, references, usual_split
from regard.inspect import Example
from regard.inspect.drawings.drawing import drawing_of
from regard.model import Model
from regard.reporting.console import safe_console
from regard.reporting.terminal import say
from regard.trace import Trace
from regard.trace.prediction import Prediction

CHUNK, MOST = 64, 1024
"""Number of rows to answer at a time, and at most, until there are enough right and wrong answers."""
NEAREST, FARTHEST = "Nearest to the truth", "Farthest from the truth"


def show_gallery(
    run: Path, count: int, split: str | None, *, grid: bool, output: Path | None, how: Loading
) -> None:
    """Show a gallery for each output, in the terminal or as a file; split: default test, or dev if there is none."""
    from regard.inspect import gallery, save

    model = load(run, how, Model)
    split = split or usual_split(model.spec)[0]
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
    """The first `count` right and the first `count` wrong answers, the number of answered rows, and of right answers.

    If no answer is exactly right, as for captions of photographs, take the answers most and least similar to a
    reference.
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
    assert answer.trace is not None  # traces were requested
    trace, remark = _known_places(model, dataset, output, row, answer.trace)
    raw = dataset.raw(row)
    asked = " · ".join(
        raw[name] if model.columns[name].is_text and name in raw else " ".join(pieces)
        for name, pieces in trace.input.items()
        if name not in trace.seen and drawing_of(trace, "layout", name) is None
    )
    return Example(trace, answer.text, tuple(true), asked, group, remark)


def _likeness(written: str, true: Sequence[str]) -> float:
    """Similarity from 0 (no common words) to 1 (the same words), for the best of several references."""
    words = written.split()
    return max((Levenshtein.normalized_similarity(words, text.split()) for text in true), default=0.0)


def _known_places(model: Model, dataset: Dataset, output: str, row: int, trace: Trace) -> tuple[Trace, str]:
    """The trace without true regions at steps where the predicted word differs from the true one, and what is known
    of these words."""
    if not trace.truth or not model.network.decoders[output].stepwise:
        return trace, ""
    scored = model.score_batch(dataset.batch([row]), output)[0].trace
    true = [] if scored is None else list(scored.output)
    same = np.array([piece == (true[t] if t < len(true) else None) for t, piece in enumerate(trace.output)])
    known = replace(trace, truth={name: places * same[:, None] for name, places in trace.truth.items()})
    return known, mistakes(trace, true)


def mistakes(trace: Trace, true: Sequence[str]) -> str:
    """Each wrong word, and how much of its attention is in the region that the true words there describe: the next
    known one. Empty if the answer has another number of words, so that no word stands for another."""
    if len(true) != len(trace.output):
        return ""
    found = []
    for name in trace.truth.keys() & trace.attention.keys():
        regions = [places > 0 for places in np.asarray(trace.truth[name])]
        for step, (written, wanted) in enumerate(zip(trace.output, true, strict=True)):
            thing = next((later for later in range(step, len(true)) if regions[later].any()), None)
            if written != wanted and thing is not None:
                share = float(np.asarray(trace.attention[name])[step][regions[thing]].sum())
                found.append(f"“{written}” for “{wanted}”: {share:.2f} of its look is on the {true[thing]}")
    return "; ".join(found)
