"""Copying through one vector of fixed size: accuracy by length of the string, for several sizes of the state.

    python bench/copy_vector.py                               copy-vector with states of 16, 32, 64, 128 units
    python bench/copy_vector.py --sizes 8 256 --longest 20    other sizes, longer strings

Each size is trained once and evaluated on test by the length of the string; a finished run in --folder is not
trained again. Prints a table, draws it with -o FIGURE, writes it with --json FILE.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table
from written import parse, write_json, writing

import regard
from regard import zoo
from regard.fitting.experiment import Experiment
from regard.inspect import groups_figure, save
from regard.metrics import ByGroup, by_group, output_metric
from regard.model.loading import read_metrics


def measured(size: int, folder: Path, longest: int, settings: list[str], seed: int) -> ByGroup:
    """Share of exact copies by the length of the string."""
    run = folder / f"{size}-{longest}-{seed}"
    if "scores" not in read_metrics(run):
        changes = [f"encoder.size={size}", f"decoder.size={size}", f"training.seed={seed}"]
        world = [f"data.world={{type: copy, max_length: {longest}, test: 2000, long: 10}}"]
        spec = zoo.find("copy-vector", [*world, *changes, *settings])
        Experiment(spec, run, quiet=True).train()
    evaluation = regard.load(run).evaluate(split="test")
    lengths = [(str(len(row["source"].split())),) for row in evaluation.inputs]
    return by_group(output_metric("exact"), *evaluation.values["target"], lengths, ["length"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[16, 32, 64, 128])
    parser.add_argument("--longest", type=int, default=12)
    parser.add_argument("--folder", type=Path, default=Path("runs/copy-vector"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("-o", "--figure", type=Path)
    options = parse(parser, "figure")
    found = {
        f"{size} units": measured(size, options.folder, options.longest, options.settings, options.seed)
        for size in options.sizes
    }
    table = Table(title="exact copies by the length of the string", box=None, header_style="bold")
    table.add_column("length", justify="right")
    for name in found:
        table.add_column(name, justify="right")
    values = {name: {cell.group[0]: cell.value for cell in group.cells} for name, group in found.items()}
    for length in next(iter(found.values())).labels(0):
        table.add_row(length, *(f"{one[length]:.3f}" for one in values.values()))
    Console().print(table)
    if options.figure is not None:
        with writing([options.figure]):
            save(groups_figure(found, title="copying through one vector: exact by length"), options.figure)
    write_json(options.json, values)


if __name__ == "__main__":
    main()
