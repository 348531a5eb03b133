"""How long an edit takes: a translation of 50 words into 50 pieces, decoded again with each kind of edit.

    regard train translation
    python bench/edits.py runs/translation

Exit status 1 if the median of an edit takes more than 150 ms of CPU time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Any

from written import parse, write_json

import regard
from regard.model.edits import PermuteEdit, PinEdit, UniformEdit, WeightsEdit, ZeroEdit

BAR = 150.0
LENGTH = 50
EDITS: dict[str, list[Any]] = {
    "none": [],
    "pin": [PinEdit(step=3, position=2)],
    "weights": [WeightsEdit(step=25, weights={1: 0.3, 2: 0.7})],
    "zero, every step": [ZeroEdit(positions=[4])],
    "uniform, every step": [UniformEdit()],
    "permute, every step": [PermuteEdit(seed=1)],
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run")
    parser.add_argument("--repeat", type=int, default=15)
    options = parse(parser)
    model = regard.load(options.run, device="cpu")
    words = ["the", "small", "cat", "sleeps", "and", "the", "man", "sold", "three", "long", "sad", "bags"]
    text = " ".join((words * LENGTH)[:LENGTH])
    made = {}
    print(f"{'edit':22} {'wall ms':>8} {'CPU ms':>8}")
    for name, edits in EDITS.items():
        wall, busy = [], []
        for _ in range(options.repeat + 1):
            began = time.perf_counter(), time.process_time()
            found = model.predict(text, look=edits or None, min_length=LENGTH, max_length=LENGTH)
            wall.append(1000 * (time.perf_counter() - began[0]))
            busy.append(1000 * (time.process_time() - began[1]))
            assert found.trace is not None and len(found.trace.output) == LENGTH + 1
        made[name] = {"wall_ms": statistics.median(wall[1:]), "cpu_ms": statistics.median(busy[1:])}
        print(f"{name:22} {made[name]['wall_ms']:8.1f} {made[name]['cpu_ms']:8.1f}")
    write_json(options.json, {"edits": made})
    return 0 if all(one["cpu_ms"] <= BAR for one in made.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
