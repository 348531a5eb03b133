"""`regard.why` on trained models: of the words that some single position makes the likeliest, how many it finds, how
much nearer its rows are; and how long one question takes.

    regard train translation && regard train g2p
    python bench/why.py runs/translation runs/g2p

Asked are, at every step of the answers to rows of the test data, the words that the model says if all attention goes to
one position, by `look=`; at most `--most` of them, evenly spaced. Exit status 1 if fewer than 95 % are found.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Any

from written import parse, write_json

import regard
from regard.evaluation import open_dataset, usual_split
from regard.model.edits import PinEdit

BAR = 0.95


def reachable(model: regard.Model, value: Any, pieces: list[str]) -> list[tuple[int, str, int]]:
    """(step, word, position) of each other word that the model says with all attention at one position."""
    found = []
    trace = model.predict(value).trace
    assert trace is not None
    (name,) = trace.attention
    for step in range(len(pieces)):
        before = " ".join(pieces[:step]) or None
        looks = [[PinEdit(step=step, position=place)] for place in range(len(trace.input[name]))]
        answers = model.predict(
            [value] * len(looks), look=looks, prefix=before, method="greedy", max_length=step + 1
        )
        said: dict[str, int] = {}
        for place, one in enumerate(answers):
            if one.trace is not None:
                said.setdefault(one.trace.output[step], place)
        found += [(step, word, place) for word, place in said.items() if word not in (pieces[step], "<unk>")]
    return found


def measure(run: str, rows: int, most: int, part: str) -> dict[str, Any]:
    model = regard.load(run, device="cpu")
    dataset = open_dataset(model, (), usual_split(model.spec))
    every = []
    for row in (place * len(dataset) // rows for place in range(rows)):
        value = {name: dataset.raw(row)[name] for name in model.spec.inputs}
        trace = model.predict(value).trace
        assert trace is not None
        every += [(value, *one) for one in reachable(model, value, list(trace.output))]
    number, parts = map(int, part.split("/"))
    chosen = every[:: max(1, -(-len(every) // most))][number - 1 :: parts]
    found = 0
    distances, lines, seconds = [], [], []
    for value, step, word, place in chosen:
        began = time.process_time()
        result = regard.why(model, value, word, step)
        seconds.append(time.process_time() - began)
        found += result.found
        if result.found:
            distances.append(result.distance)
            lines.append(1 - float(result.own[place]))
    asked = len(chosen)
    return {
        "run": run,
        "rows": rows,
        "reachable": len(every),
        "asked": asked,
        "found": found,
        "share": found / max(asked, 1),
        "distance": statistics.mean(distances),
        "single_position": statistics.mean(lines),
        "seconds": statistics.median(seconds),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--most", type=int, default=300)
    parser.add_argument("--part", default="1/1", metavar="K/N", help="every N-th question, from the K-th")
    options = parse(parser)
    made = [measure(run, options.rows, options.most, options.part) for run in options.runs]
    print(f"{'run':30} {'asked':>6} {'found':>7} {'moves':>6} {'single':>7} {'CPU s':>8}")
    for one in made:
        print(
            f"{one['run'][-30:]:30} {one['asked']:6} {one['share']:7.1%} {one['distance']:6.2f} "
            f"{one['single_position']:7.2f} {one['seconds']:8.2f}"
        )
    write_json(options.json, {"runs": made})
    return 0 if all(one["share"] >= BAR and one["asked"] > 0 for one in made) else 1


if __name__ == "__main__":
    sys.exit(main())
