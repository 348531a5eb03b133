"""Large inputs: memory must stay flat while the input grows tenfold.

    python bench/load.py --json load.json             # 200,000 lines, a table of 1 GB, a text of 300 MB, 1,000,000 rows
    python bench/load.py --scale 0.1                  # a tenth of that
    python bench/load.py --only table --scale 0.2     # one case: a table of 200 MB

Each case runs twice in a process of its own, with a tenth of its size and with its size. Prints seconds, rate and
peak memory of both. Exit status 1 if a process fails, or if the larger one takes over 300 MB more.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from written import parse, write_json

MOST = 300 << 20  # bytes that the larger input may add
PERIOD = 10 * 9973
SETTINGS = "training.steps=1 training.evaluate_every=1 encoder.size=8 encoder.embedding=8 data.hold_out=0.001"
LANGUAGE = "training.steps=1 training.evaluate_every=1 data.hold_out=0.001"
WORDS = (
    "attention",
    "knight",
    "daughter",
    "physique",
    "colonel",
    "queue",
    "rhythm",
    "island",
    "thumb",
    "yacht",
)
SPEC = """outputs:  {text: {type: stream, unit: char}}
decoder:  {type: language, cell: gru, size: 8, embedding: 8}
training: {batch_rows: 8, span: 20}
data:     {train: book.txt}
"""


def write_pairs(path: Path, rows: int, *, length: int) -> None:
    """Rows of `length` words each, of which 99,730 differ."""
    different = []
    for row in range(min(rows, PERIOD)):
        words = " ".join(f"{WORDS[(row + place) % 10]}{(row * 7 + place) % 9973}" for place in range(length))
        different.append(f"{words}\t{words[:8].upper()}\n")
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, rows, PERIOD):
            file.writelines(different[: rows - start])


def write_lines(path: Path, lines: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{WORDS[line % 10]}\n" for line in range(lines))


def write_book(path: Path, size: int) -> None:
    line = " ".join(WORDS) + ".\n"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(line for _ in range(size // len(line)))


def measure(command: list[str], folder: Path) -> tuple[float, int]:
    """Seconds and peak bytes of a command."""
    began = time.monotonic()
    environment = {**os.environ, "REGARD_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "regard", *command],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)}: {said.decode('utf-8', 'replace')[-600:]}")
    return time.monotonic() - began, used.ru_maxrss * 1024


def training(what: str, settings: str) -> list[str]:
    changes = [word for setting in settings.split() for word in ("--set", setting)]
    return ["train", what, "-o", "run", "--overwrite", "--device", "cpu", *changes]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of all sizes")
    parser.add_argument("--only", default="", help="only cases whose names contain this")
    options = parse(parser)

    def predict(folder: Path, lines: int) -> list[str]:
        write_pairs(folder / "pairs.tsv", 300, length=1)
        measure(training("pairs.tsv", f"{SETTINGS} search.max_length=4").copy(), folder)
        write_lines(folder / "lines.txt", lines)
        return ["predict", "run", "-f", "lines.txt", "-o", "answers.txt", "--overwrite", "--device", "cpu"]

    def table(folder: Path, size: int) -> list[str]:
        write_pairs(folder / "pairs.tsv", size // 180, length=12)
        return training("pairs.tsv", f"{SETTINGS} inputs.source.unit=word inputs.source.vocabulary=1000")

    def book(folder: Path, size: int) -> list[str]:
        write_book(folder / "book.txt", size)
        (folder / "book.yaml").write_text(SPEC, encoding="utf-8")
        return training("book.yaml", LANGUAGE)

    def rows(folder: Path, count: int) -> list[str]:
        write_pairs(folder / "pairs.tsv", count, length=1)
        return training("pairs.tsv", SETTINGS)

    cases: dict[str, tuple[Callable[[Path, int], list[str]], int, str]] = {
        "predict lines": (predict, 200_000, "lines"),
        "train on a table": (table, 1 << 30, "bytes"),
        "train on a text": (book, 300 << 20, "bytes"),
        "train on short rows": (rows, 1_000_000, "rows"),
    }
    cases = {name: case for name, case in cases.items() if options.only in name}
    if not cases:
        parser.error(f"--only {options.only}: no case has this in its name")
    print(f"{'':20}{'size':>15}{'seconds':>10}{'a second':>14}{'peak MB':>10}")
    found, failed = {}, False
    for name, (prepare, full, unit) in cases.items():
        peaks = []
        for share in (0.1, 1.0):
            size = int(full * options.scale * share)
            with tempfile.TemporaryDirectory() as folder:
                seconds, peak = measure(prepare(Path(folder), size), Path(folder))
            peaks.append(peak)
            print(
                f"{name:20}{size:>9,} {unit:5}{seconds:>10.1f}{size / seconds:>14,.0f}{peak >> 20:>10,}",
                flush=True,
            )
            found[f"{name} {size}"] = {"seconds": seconds, "peak": peak}
        if peaks[1] - peaks[0] > MOST:
            failed = True
            print(f"  the larger one takes {(peaks[1] - peaks[0]) >> 20:,} MB more")
    write_json(options.json, found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
