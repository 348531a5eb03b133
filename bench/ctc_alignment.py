"""Where a CTC model and an attention model hear each unit of the true text, beside each other.

    python bench/ctc_alignment.py runs/fsdd-ctc runs/fsdd-location

For each unit of each test row, the mean position of its frames (CTC: exact marginals of the alignment; attention: its
weights) as a share of the recording. Printed: the mean difference between the two models in milliseconds, the share of
units within 60 ms, the rank correlation, and how often each model hears the units in their order. Beside it the same
numbers for a model that hears all units at equal distances.

Exit status 1 if the two differ by more than 60 ms on average, or by no less than from equal distances.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from written import parse, write_json

import regard
from regard.evaluation import open_dataset

MOST_MS = 60.0
"""Maximum mean difference of the two models, in milliseconds."""
ROWS = 32


def heard(run: str) -> Iterator[np.ndarray]:
    """(T,) for each test row: where each unit of the true text is heard, as a share of the recording."""
    model: Any = regard.load(run)
    output = next(iter(model.spec.outputs))
    dataset = open_dataset(model, (), ["test"])
    for low in range(0, len(dataset), ROWS):
        rows = list(range(low, min(low + ROWS, len(dataset))))
        for answer in model.score_batch(dataset.batch(rows), output):
            (looks,) = answer.trace.attention.values()
            pieces = [place for place, piece in enumerate(answer.trace.output) if piece != "</s>"]
            weights = looks[pieces]
            positions = (np.arange(weights.shape[1]) + 0.5) / weights.shape[1]
            yield (weights * positions).sum(-1) / weights.sum(-1).clip(min=1e-12)


def seconds(run: str) -> list[float]:
    """The lengths of the test recordings."""
    import io
    from pathlib import Path

    import soundfile

    model: Any = regard.load(run)
    dataset = open_dataset(model, (), ["test"])
    name = next(iter(model.spec.inputs))
    found = []
    for row in range(len(dataset)):
        value = dataset.raw(row)[name]
        with soundfile.SoundFile(value if Path(str(value)).exists() else io.BytesIO(value)) as file:
            found.append(len(file) / file.samplerate)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ctc")
    parser.add_argument("attention")
    given = parse(parser)
    mine, theirs, lengths = list(heard(given.ctc)), list(heard(given.attention)), seconds(given.ctc)
    even = [(np.arange(len(one)) + 0.5) / len(one) for one in mine]
    told: dict[str, dict[str, float]] = {}
    for name, others in (("attention", theirs), ("equal distances", even)):
        gaps = np.concatenate(
            [1000 * abs(one - two) * length for one, two, length in zip(mine, others, lengths, strict=True)]
        )
        ranks = np.corrcoef(np.concatenate(mine), np.concatenate(others))[0, 1]
        told[name] = {
            "mean_ms": gaps.mean(),
            "within_60_ms": (gaps <= 60).mean(),
            "correlation": float(ranks),
        }
    ordered = {
        name: float(np.mean([bool((np.diff(one) > 0).all()) for one in rows]))
        for name, rows in (("ctc", mine), ("attention", theirs))
    }
    table = Table("CTC beside", "mean difference, ms", "within 60 ms", "correlation")
    for name, found in told.items():
        table.add_row(
            name, f"{found['mean_ms']:.1f}", f"{found['within_60_ms']:.1%}", f"{found['correlation']:.3f}"
        )
    Console().print(table)
    print(f"units in order: CTC {ordered['ctc']:.1%} of rows, attention {ordered['attention']:.1%}")
    write_json(given.json, {"beside": told, "ordered": ordered, "rows": len(mine)})
    missed = told["attention"]["mean_ms"] > MOST_MS
    missed |= told["attention"]["mean_ms"] >= told["equal distances"]["mean_ms"]
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
