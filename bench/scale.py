"""A table of 1 GB and one of 10 million rows: how fast they are read, and how soon a second run and an epoch begin.

    python bench/scale.py --json scale.json         # 1 GB and 10,000,000 rows
    python bench/scale.py --scale 0.1               # a tenth of that

The first table is words → characters, as in `bench/load.py`. One thread fits the vocabularies and encodes; beside it
stands a pass over the same lines that splits them in Python. Then `regard train` runs on it twice, each time until its
first update, and once on 1,000 rows, which shows how much of that are imports. The second table has one word in a row;
its epochs are planned in batches of 64 rows, and in batches of 4,000 tokens.

Exit status 1 if fitting or encoding passes less than 50 MB a second, if a process takes over 1.5 GB, if the second run
takes over 5 s longer until its first update than the one on 1,000 rows, or an epoch over 2 s until its first batch.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from load import write_pairs
from rich.console import Console
from rich.table import Table
from written import parse, write_json

RATE, MEMORY, AGAIN, EPOCH = 50.0, 1536, 5.0, 2.0
SIZE, ROWS = 1 << 30, 10_000_000
OPTIONS = (
    *("training.steps=1", "training.evaluate_every=1", "encoder.size=8", "encoder.embedding=8"),
    *("data.hold_out=0.001", "inputs.source.unit=word", "inputs.source.vocabulary=1000"),
)
ENCODE = """
import json, resource, sys, time
from pathlib import Path
import numpy as np
from regard.data.batches import Batches
from regard.data.dataset import Dataset
from regard.data.readers.rows import read_rows
from regard.model.building import fit_columns, make_columns
from regard.spec import Spec

path, cache, plan = sys.argv[1], sys.argv[2], sys.argv[3] == "plan"
source, target = {"type": "text", "vocabulary": 1000}, {"type": "text", "unit": "char"}
spec = Spec(inputs={"source": source}, outputs={"target": target})
rows = read_rows(path, fields=["source", "target"])
columns = make_columns(spec)
seconds = {}
def timed(name, work):
    start = time.perf_counter()
    result = work()
    seconds[name] = time.perf_counter() - start
    return result
if not plan:
    timed("lines", lambda: sum(len(line.split(b"\\t")) for line in open(path, "rb")))
timed("fit", lambda: fit_columns(columns, spec, lambda: rows))
dataset = timed("encode", lambda: Dataset.build(rows, columns.values(), cache=cache))
if plan:
    for name, limit in (("rows", {"rows": 64}), ("tokens", {"cost": 4000})):
        batches = Batches(dataset, seed=1, **limit)
        for epoch in (0, 1):
            timed(f"{name}, epoch {epoch + 1}", lambda: next(iter(batches.epoch(epoch))))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"rows": len(dataset), "seconds": seconds, "peak": peak}))
"""


def until_first_update(table: Path, folder: Path) -> tuple[float, float]:
    """Seconds of `regard train` until its first update has been evaluated, and its peak MB."""
    command = [sys.executable, "-m", "regard", "train", str(table), "-o", str(folder / "run"), "--overwrite"]
    command += ["--no-report", "--device", "cpu", *(part for one in OPTIONS for part in ("--set", one))]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    found, said = 0.0, []
    for line in process.stdout:
        said.append(line)
        if line.startswith("step 1 ") and not found:
            found = time.perf_counter() - began
    _, status, used = os.wait4(process.pid, 0)
    if status or not found:
        sys.exit("".join(said))
    return found, used.ru_maxrss / 1024


def encoded(table: Path, folder: Path, what: str) -> dict[str, Any]:
    command = [sys.executable, "-c", ENCODE, str(table), str(folder / what), what]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="share of the sizes")
    given = parse(parser)
    os.environ["OMP_NUM_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = "1"
    lines: list[tuple[str, float, str, float | None, bool]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["REGARD_CACHE"] = str(folder / "cache")
        table = folder / "pairs.tsv"
        write_pairs(table, 20_000, length=12)
        encoded(table, folder, "warm")  # a small table is read row by row
        write_pairs(table, 150_000, length=12)
        encoded(table, folder, "compiled")
        write_pairs(table, int(SIZE * given.scale) // 152, length=12)
        size = table.stat().st_size / 1e6
        found = encoded(table, folder, "encode")
        seconds = found["seconds"]
        lines.append(("lines split in Python, MB/s", size / seconds["lines"], ">", None, True))
        for part, passes in (("fit", 2), ("encode", 1)):
            rate = passes * size / seconds[part]
            lines.append((f"{part}, MB/s of each pass", rate, "≥", RATE, rate >= RATE))
        lines.append(("memory, MB", found["peak"], "≤", MEMORY, found["peak"] <= MEMORY))
        first, peak = until_first_update(table, folder)
        again, _ = until_first_update(table, folder)
        few = folder / "few.tsv"
        write_pairs(few, 1000, length=12)
        until_first_update(few, folder)
        base, _ = until_first_update(few, folder)
        lines.append(("a run on 1,000 rows until its first update, s", base, "", None, True))
        lines.append(("first run until its first update, s", first, "", None, True))
        lines.append(("its memory, MB", peak, "≤", MEMORY, peak <= MEMORY))
        lines.append(("second run until its first update, s", again, "", None, True))
        lines.append(("longer than on 1,000 rows, s", again - base, "≤", AGAIN, again - base <= AGAIN))
        write_pairs(table, int(ROWS * given.scale), length=1)
        found = encoded(table, folder, "plan")
        for part, taken in found["seconds"].items():
            if "epoch" in part:
                lines.append((f"{found['rows']:,} rows, {part}, s", taken, "≤", EPOCH, taken <= EPOCH))
        lines.append(("its memory, MB", found["peak"], "", None, True))
    shown = Table("", "figure", "bar", "")
    for what, figure, sign, bar, met in lines:
        shown.add_row(
            what, f"{figure:.2f}", "" if bar is None else f"{sign} {bar:g}", "" if met else "missed"
        )
    Console().print(f"{size:,.0f} MB")
    Console().print(shown)
    write_json(given.json, {"size": size, "lines": [[*line] for line in lines]})
    return int(not all(met for *_, met in lines))


if __name__ == "__main__":
    sys.exit(main())
