"""Faithfulness of several trainings: means over seeds, and two kinds of attention compared on the same answers.

    python bench/faithful_seeds.py measure runs/softmax-1 runs/softmax-2 --rows 300 --into measured
    python bench/faithful_seeds.py compare measured softmax segments --json seeds.json

`measure` examines the last rows of test and writes `measured/NAME.json` with every output piece. `compare` reads the
files NAME-1.json, NAME-2.json, … of each name. A gain is better than random where it is positive. Its interval is the
middle 95 % of 1,000 resamples of the rows of test, the same for all seeds; a resample's figure is the mean over the
seeds. The seeds themselves are printed beside it: with three of them their spread is a warning, not an interval.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from faithful import SEED, inputs_of
from rich.console import Console
from rich.table import Table
from written import parse, write_json

import regard
from regard.questions.faithfulness import Faithfulness

MEASURES = (
    ("comprehensiveness", 1),
    ("sufficiency", -1),
    ("soft comprehensiveness", 1),
    ("soft sufficiency", 1),
    ("normalized AOPC", 1),
    ("raises", 1),
    ("most harmful", 1),
)
"""Measures that have a value of random orders; −1: lower is better."""
CHANGES = ("uniform TVD", "uniform JSD", "permuted TVD", "permuted JSD")
METHODS = ("attention", "leave-one-out", "gradient")
SAMPLES = 1000
Array = np.ndarray[Any, Any]


def measure(run: Path, rows: int, into: Path, normalize: Any) -> None:
    """Examine one run and write every piece."""
    began = time.perf_counter()
    model = regard.load(run)
    inputs, _ = inputs_of(model, "test", rows)
    found = regard.faithful(model, inputs, seed=SEED, name=run.name, normalize=normalize)
    into.mkdir(parents=True, exist_ok=True)
    found.save(into / f"{run.name}.json")
    print(f"{run.name}: {len(found.pieces)} pieces, {time.perf_counter() - began:.0f} s")


def sums(found: Faithfulness, name: str, method: str, sign: int, *, gain: bool) -> Array:
    """(rows, 2) the sum over the pieces of each row, and their number."""
    table = np.zeros((found.rows, 2))
    for piece in found.pieces:
        values = piece.values.get(name, {})
        if method in values and (not gain or "random" in values):
            value = sign * (values[method] - values["random"]) if gain else values[method]
            table[piece.row] += value, 1.0
    return table


def means(tables: Sequence[Array], counts: Array) -> tuple[list[float], Array]:
    """The mean of each seed, and (samples,) the mean over the seeds in each resample."""
    with np.errstate(divide="ignore", invalid="ignore"):
        each = [float(table[:, 0].sum() / table[:, 1].sum()) for table in tables]
        drawn = [(counts @ table) for table in tables]
        return each, np.mean([one[:, 0] / one[:, 1] for one in drawn], axis=0)


def summary(each: Sequence[float], drawn: Array) -> dict[str, Any]:
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return {"mean": float(np.mean(each)), "low": float(low), "high": float(high), "seeds": list(each)}


def flagged(found: Faithfulness) -> float:
    return float(np.mean(list(found.flagged.values()))) if found.flagged else float("nan")


def compare(folder: Path, names: Sequence[str], console: Console) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    groups = {
        name: [Faithfulness.load(path) for path in sorted(folder.glob(f"{name}-[0-9]*.json"))]
        for name in names
    }
    absent = [name for name, group in groups.items() if not group]
    if absent:
        raise SystemExit(f"no files {', '.join(f'{folder / name}-1.json' for name in absent)}: measure first")
    rows = {found.rows for group in groups.values() for found in group}
    if len(rows) > 1:
        raise SystemExit(f"the files examine {sorted(rows)} rows; comparisons need the same rows")
    (count,) = rows
    counts = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), size=SAMPLES)
    for method in METHODS:
        lines = [(name, sign, True) for name, sign in MEASURES]
        if method == "attention":
            lines += [(name, 1, False) for name in CHANGES]
        table = Table("measure", *names, *([f"{names[1]} − {names[0]}"] if len(names) == 2 else []))
        table.title = f"{method}: gain over random; {count} rows"
        for name, sign, gain in lines:
            found = {
                group: means([sums(one, name, method, sign, gain=gain) for one in groups[group]], counts)
                for group in names
            }
            if any(not np.isfinite(one[0]).all() for one in found.values()):
                continue
            mine = {group: summary(*found[group]) for group in names}
            if len(names) == 2:
                (first, drawn), (second, other) = found[names[0]], found[names[1]]
                mine["difference"] = summary(
                    [b - a for a, b in zip(first, second, strict=False)], other - drawn
                )
            figures.setdefault(method, {})[name] = mine
            table.add_row(name, *(written(one) for one in mine.values()))
        if table.row_count:
            console.print(table)
    figures["rows"] = count
    figures["flagged"] = {name: [flagged(one) for one in group] for name, group in groups.items()}
    for name, shares in figures["flagged"].items():
        console.print(f"flagged, {name}: {', '.join(f'{share:.1%}' for share in shares)}")
    return figures


def written(one: dict[str, Any]) -> str:
    seeds = ", ".join(f"{value:+.2f}" for value in one["seeds"])
    return f"{one['mean']:+.3f} [{one['low']:+.3f}, {one['high']:+.3f}]; {seeds}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("measure", "compare"))
    parser.add_argument(
        "names", nargs="+", help="runs to measure; or the folder, and one or two names to compare"
    )
    parser.add_argument("--rows", type=int, default=300, help="rows to examine (default 300)")
    parser.add_argument("--into", type=Path, default=Path("measured"), help="folder of what is measured")
    parser.add_argument("--normalize", choices=("short", "all", "none"), default="short")
    given = parse(parser)
    if given.command == "measure":
        for run in given.names:
            measure(Path(run), given.rows, given.into, given.normalize)
        return
    folder, *names = given.names
    write_json(given.json, compare(Path(folder), names, Console(width=200)))


if __name__ == "__main__":
    main()
