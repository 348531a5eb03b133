"""Faithfulness in worlds with known truth, and the table of systems.

    python bench/faithful.py runs                    trained runs in a folder, named as their systems
    python bench/faithful.py runs --rows 50 --only world
    python bench/faithful.py runs --json faithful.json

**World.** In `translation` every target word has its source word. (1) Of the aligned words that depend on a single
source word (some removal costs at least 0.05 of their probability), the most attended word must be the most harmful
to remove, up to 0.05: bar 90 %, with delete; the other removals (`REMOVALS`) and the strict order are printed beside
it. (2) Answers whose attention misleads must be flagged, honest ones not. Honest is the
trained model. *Shifted*: its encoder leaks, so that position s holds what belongs to s + 1; the outputs stay the same
and the weights point at the wrong word. *Uniform*: its weights are frozen to equal ones. Bars: at least 90 % of the
misleading and at most 5 % of the honest answers are flagged. The rule (`regard/questions/faithfulness/flags.py`) was
chosen on dev; this script reports test. (3) `predict --watch`: at most 5 % false alarms on test, and at least 90 % of
the answers of a model whose memory was cut off.

**Table.** g2p, translation with softmax and segments, nli-self, caption and facts: gains over random with intervals.

Exit status 1 if a bar is missed. Runs that are missing are named with the command that trains them.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from written import parse, write_json

import regard
from regard import RegardError
from regard.data.ragged import Array
from regard.evaluation import open_dataset
from regard.model.edits import ZeroEdit
from regard.nn.selections import make_selection
from regard.questions.dependence import DependenceWatch
from regard.questions.faithfulness.ranking import each_alone
from regard.questions.faithfulness.removal import BATCH, Removal, scores_of
from regard.questions.faithfulness.rows import Examined, Looked, in_chunks

SEED = 1
TIE = 0.05
"""Probability within which two removals are equally harmful."""
DESTROYED = 0.01
"""Probability below which a word is destroyed."""
TRAIN = {
    "translation": "regard train translation",
    "g2p": "regard train g2p",
    "translation-softmax-word": "regard train translation-segments-word --epochs 4 --set attention.select=softmax",
    "translation-segments-word": "regard train translation-segments-word --epochs 4",
    "nli-self": "regard train nli-self",
    "caption": "regard train caption --epochs 3",
    "facts": "regard train facts --epochs 8",
}
SYSTEMS = (
    "g2p",
    "translation",
    "translation-softmax-word",
    "translation-segments-word",
    "nli-self",
    "caption",
    "facts",
)
MEASURES = ("comprehensiveness", "sufficiency", "normalized AOPC", "raises", "most harmful")


def inputs_of(model: Any, split: str, count: int) -> tuple[list[dict[str, str]], Any]:
    """The last rows of a split, and the split."""
    data = open_dataset(model, (), [split])
    names, first = list(model.spec.inputs), max(0, len(data) - count)
    return [{name: data.text(row, name) for name in names} for row in range(first, len(data))], data


def aligned(model: Any, split: str, rows: int, remove: str) -> Counter[str]:
    """Of the aligned words, how often the most attended word is the most harmful to remove.

    remove   one of `REMOVALS`
    """
    inputs, data = inputs_of(model, split, rows)
    examined = Examined.of(model, inputs)
    looked = examined.looked()
    tables = REMOVALS[remove](examined, looked)
    found: Counter[str] = Counter()
    for one, lost in zip(looked, tables, strict=True):
        row = len(data) - len(inputs) + examined.numbers[one.row]
        if examined.answers[one.row].text != data.text(row, "target"):
            continue  # the links belong to the words of the reference
        links = [tuple(map(int, link.split("-"))) for link in data.text(row, "alignment").split()]
        written = dict(links)
        for step in {step for _, step in links}:
            top, worst = int(one.weights[step].argmax()), int(lost[step].argmax())
            found["words"] += 1
            if lost[step, worst] < TIE:
                continue
            found["dependent"] += 1
            found["most harmful"] += bool(lost[step, top] >= lost[step, worst] - TIE)
            found["strictly"] += worst == top
            if worst != top:
                found["both destroy"] += bool(np.exp(one.scores[step]) - lost[step, top] < DESTROYED)
                found["of an earlier word"] += written.get(worst, step) < step
    return found


def removed(examined: Examined, looked: Sequence[Looked], remove: Any) -> list[Array]:
    """(T, S) of each answer: what the removal of a position for the whole answer costs of p(y_t)."""
    removal = Removal(examined, remove)
    removal.need((one, kept) for one in looked for kept in each_alone(one.positions))
    return [
        np.stack(
            [np.exp(one.scores) - np.exp(removal[one, kept]) for kept in each_alone(one.positions)], axis=1
        )
        for one in looked
    ]


def averaged(examined: Examined, looked: Sequence[Looked]) -> list[Array]:
    """The mean of all embeddings in place of a word's."""
    column, weight = (
        examined.model.columns["source"],
        examined.model.network.reader("source").embedding.weight,
    )
    unknown = int(column.reduced(np.array([5]), np.array([False]), words=False, fill=True)[0])
    before = weight[unknown].clone()
    weight.data[unknown] = weight.data.mean(0)
    try:
        return removed(examined, looked, "mask")
    finally:
        weight.data[unknown] = before


def at_its_step(examined: Examined, looked: Sequence[Looked]) -> list[Array]:
    """No attention to the position at the step of the word alone: the steps before it read the whole input."""
    tables = [np.zeros(one.weights.shape) for one in looked]
    asked = [
        (number, step, place)
        for number, one in enumerate(looked)
        for step in range(one.steps)
        for place in range(one.positions)
    ]
    for chunk in in_chunks(sorted(asked, key=lambda each: looked[each[0]].steps), BATCH):
        rows = [looked[number].row for number, _, _ in chunk]
        batch = examined.batch([(row, "source", None) for row in rows], fill=False, looked={})
        edits = [[ZeroEdit(input="source", step=step, positions=[place])] for _, step, place in chunk]
        for (number, step, place), scores in zip(chunk, scores_of(examined, batch, rows, edits), strict=True):
            tables[number][step, place] = np.exp(looked[number].scores[step]) - np.exp(scores[step])
    return tables


REMOVALS: dict[str, Callable[[Examined, Sequence[Looked]], list[Array]]] = {
    "delete": partial(removed, remove="delete"),
    "mask": partial(removed, remove="mask"),
    "mean": averaged,
    "zero": partial(removed, remove="zero"),
    "zero at its step": at_its_step,
}


@contextmanager
def leaking(model: Any) -> Iterator[None]:
    """The encoder holds at each position what belongs to the next one; the first belongs to the last."""

    def shifted(module: Any, given: Any, memory: Any) -> Any:
        lengths = memory.mask.sum(1)
        places = (np.arange(memory.mask.shape[1])[None, :] + 1) % lengths.cpu().numpy()[:, None]
        index = memory.mask.new_tensor(places, dtype=int)
        return replace(memory, values=memory.values.gather(1, index.unsqueeze(-1).expand_as(memory.values)))

    hook = model.network.reader("source").register_forward_hook(shifted)
    try:
        yield
    finally:
        hook.remove()


@contextmanager
def frozen(model: Any) -> Iterator[None]:
    """The weights are equal, whatever the scores."""
    attention = model.network.decoders["target"].reading.attention("source")
    before, attention.select = attention.select, make_selection("uniform", attention.query_size)
    try:
        yield
    finally:
        attention.select = before


@contextmanager
def cut_off(model: Any) -> Iterator[None]:
    """The memory of every input is zero: the answer cannot depend on it."""

    def emptied(module: Any, given: Any, memory: Any) -> Any:
        last = None if memory.last is None else tuple(one * 0 for one in memory.last)
        return replace(memory, values=memory.values * 0, summary=memory.summary * 0, last=last)

    hooks = [model.network.reader(name).register_forward_hook(emptied) for name in model.spec.inputs]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def flag_rate(model: Any, split: str, rows: int) -> tuple[float, int, float]:
    """The share of answers that are flagged, of how many, and the mean gain over random."""
    inputs, _ = inputs_of(model, split, rows)
    found = regard.faithful(model, inputs, quick=True, seed=SEED)
    line = found.measured("comprehensiveness")
    gain = math.nan if line is None or line.gain is None else line.gain.value
    return float(np.mean(list(found.flagged.values()))), len(found.flagged), gain


def world(
    runs: Path, names: Sequence[str], split: str, rows: int, console: Console
) -> tuple[dict[str, Any], list[str]]:
    figures: dict[str, Any] = {"split": split, "rows": rows}
    models, missed = [regard.load(runs / name) for name in names], []
    columns = ("words", "dependent", "most harmful", "strictly", "both destroy", "of an earlier word")
    table = Table("removal", *columns, title=", ".join(names))
    for remove in REMOVALS:
        each = [aligned(model, split, rows, remove) for model in models]
        found = sum(each, Counter())
        shares = {name: found[name] / max(found["dependent"], 1) for name in columns[2:]}
        figures[remove] = {
            "words": found["words"],
            "dependent": found["dependent"],
            **shares,
            "strictly, by run": [one["strictly"] / max(one["dependent"], 1) for one in each],
        }
        table.add_row(
            remove,
            str(found["words"]),
            str(found["dependent"]),
            *(f"{share:.3f}" for share in shares.values()),
        )
    console.print(table)
    if figures["delete"]["most harmful"] < 0.90:
        missed.append(f"most harmful: {figures['delete']['most harmful']:.3f} < 0.90")
    model = models[0]
    table = Table("attention", "answers", "flagged", "gain over random", "bar")
    cases = {"honest": flag_rate(model, split, rows)}
    with leaking(model):
        cases["shifted"] = flag_rate(model, split, rows)
    with frozen(model):
        cases["uniform"] = flag_rate(model, split, rows)
    for name, (rate, count, gain) in cases.items():
        bar = "≤ 0.05" if name == "honest" else "≥ 0.90"
        table.add_row(name, str(count), f"{rate:.3f}", f"{gain:+.3f}", bar)
        figures[name] = {"flagged": rate, "answers": count, "gain": gain}
        if (rate > 0.05) if name == "honest" else (rate < 0.90):
            missed.append(f"flagged, {name}: {rate:.3f}, bar {bar}")
    console.print(table)
    return figures, missed


def watched(runs: Path, rows: int, console: Console) -> tuple[dict[str, Any], list[str]]:
    """False alarms of `predict --watch` on test, and alarms for a model that cannot see its input."""
    figures, missed = {}, []
    table = Table("predict --watch", "threshold", "dev", "test, honest", "test, cut off")
    for name in ("translation", "g2p", "facts", "caption"):
        if not (runs / name).is_dir():
            continue
        model = regard.load(runs / name)
        watch = DependenceWatch.of(model, seed=SEED)
        inputs, _ = inputs_of(model, "test", rows)
        honest = float(np.mean(watch.alarms(inputs, model.predict(inputs, trace=False))))
        with cut_off(model):
            blind = float(np.mean(watch.alarms(inputs, model.predict(inputs, trace=False))))
        cells = (f"{watch.threshold:.2f}", f"{watch.false_rate:.3f}", f"{honest:.3f}", f"{blind:.3f}")
        table.add_row(name, *cells)
        figures[name] = {
            "threshold": watch.threshold,
            "dev": watch.false_rate,
            "test": honest,
            "cut off": blind,
        }
        if honest > 0.05 or blind < 0.90:
            missed.append(f"watch, {name}: {honest:.3f} false alarms, {blind:.3f} found")
    console.print(table)
    return figures, missed


def systems(runs: Path, names: Sequence[str], rows: int, console: Console) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    table = Table("system", "method", *MEASURES, "uniform JSD", "flagged", "s", title="gain over random")
    for name in names:
        if not (runs / name).is_dir():
            print(f"missing: {runs / name}; train it:  {TRAIN[name]} -o {runs / name}", file=sys.stderr)
            continue
        model = regard.load(runs / name)
        inputs, _ = inputs_of(model, "test", rows)
        began = time.perf_counter()
        found = regard.faithful(model, inputs, seed=SEED, name=name)
        seconds = time.perf_counter() - began
        figures[name] = {**found.to_dict(), "seconds": seconds}
        del figures[name]["pieces"]
        flags = found.flagged
        for method in ("attention", "leave-one-out", "gradient"):
            cells = []
            for measure in MEASURES:
                line = found.measured(measure, method)
                gain = None if line is None else line.gain
                cells.append("" if gain is None else f"{gain.value:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}]")
            uniform = found.measured("uniform JSD", method)
            table.add_row(
                name if method == "attention" else "",
                method,
                *cells,
                "" if uniform is None else f"{uniform.value.value:.2f}",
                f"{sum(flags.values())}/{len(flags)}" if method == "attention" and flags else "",
                f"{seconds:.0f}" if method == "attention" else "",
            )
    console.print(table)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path, nargs="?", default=Path("runs"), help="the folder of the runs")
    parser.add_argument("--rows", type=int, default=100, help="rows of each system (default 100)")
    parser.add_argument("--split", default="test", help="for the world with known truth (default test)")
    parser.add_argument(
        "--translation",
        nargs="+",
        default=["translation"],
        metavar="RUN",
        help="for the world: trainings of translation (default translation)",
    )
    parser.add_argument("--only", choices=("world", "watch", "systems"), help="one part")
    parser.add_argument("--system", choices=SYSTEMS, action="append", help="with --only systems: these alone")
    given = parse(parser)
    console, missed, figures = Console(width=160), [], {}
    try:
        if given.only in (None, "world"):
            figures["world"], more = world(given.runs, given.translation, given.split, given.rows, console)
            missed += more
        if given.only in (None, "watch"):
            figures["watch"], more = watched(given.runs, given.rows, console)
            missed += more
        if given.only in (None, "systems"):
            figures["systems"] = systems(given.runs, given.system or SYSTEMS, given.rows, console)
    except RegardError as error:
        print(error, file=sys.stderr)
        return 2
    write_json(given.json, figures)
    for line in missed:
        print("missed:", line, file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
