"""Compare the losses of 30 updates of every zoo system, from one seed, with the recorded ones.

    python bench/losses.py                       all systems, compared with bench/losses.json
    python bench/losses.py --only g2p caption    some of them
    python bench/losses.py --keep                record the losses anew, after an intended change

A change of the code that does not intend to change the computation must leave these losses as they are.
Worlds are small (300 rows), batches have 8 rows, and everything runs on one thread of a CPU. Language models
read a generated text, since Python's documentation changes with its version. Exit status 1 if a loss differs
by more than 1e-5 (relative for losses above 1; 1e-3 for `nli-parent`). The losses were recorded on x86; on ARM
`facts-structured`, which chooses, and the two systems of `video-class` differ.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import torch
from written import parse, write_json

from regard import zoo
from regard.data import Batch, Batches, StreamBatches
from regard.fitting.experiment import Experiment
from regard.parts import is_stream
from regard.spec.sections import SPAN

KEPT = Path(__file__).parent / "losses.json"
UPDATES, ROWS, TOLERANCE = 30, 8, 1e-5
SIZES = {"world": {"train": 300, "dev": 60, "test": 60}, "package": {"train": 300}}
CHAOTIC = {"nli-parent": 1e-3}
"""Tolerances of systems that amplify rounding errors within 30 updates."""


def losses(name: str) -> list[float]:
    """The loss of each update."""
    spec = zoo.find(name)
    with tempfile.TemporaryDirectory() as folder:
        if is_stream(spec):
            text = Path(folder) / "text.txt"
            text.write_text(made_text(), encoding="utf-8")
            data = ["data.package=null", f"data.train={text}"]
        else:
            kind = "world" if spec.data.world else "package"
            data = [f"data.{kind}.{split}={count}" for split, count in SIZES[kind].items()]
            data.append("training.batch_tokens=null")
        experiment = Experiment.start(name, run=Path(folder) / name, overrides=data, quiet=True)
        found = list(updated(experiment))
        experiment.close()
    return found


def updated(experiment: Experiment) -> Iterator[float]:
    network = experiment.model.network.train()
    train, options = experiment.dataset("train"), experiment.spec.training
    batches: Batches | StreamBatches
    if is_stream(experiment.spec):
        batches = StreamBatches(train, rows=ROWS, span=options.span or SPAN, carry=options.carry)
    else:
        batches = Batches(train, rows=ROWS, seed=1, window=1, workers=0)
    torch.manual_seed(5)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    for batch in repeated(batches):
        optimizer.zero_grad()
        total: Any = sum(loss.weight * loss.mean for loss in network(batch).values())
        penalty = network.penalty()
        total = total if penalty is None else total + penalty
        total.backward()
        optimizer.step()
        yield float(total.detach())


def made_text(lines: int = 2000, words: int = 200) -> str:
    """Lines in which each word depends on the previous one."""
    generator = Random(1)
    names = ["".join(generator.choices("abcdefghijklmnop", k=generator.randint(1, 8))) for _ in range(words)]
    place, text = 0, []
    for _ in range(lines):
        line = []
        for _ in range(generator.randint(3, 12)):
            place = (5 * place + generator.randint(0, 6)) % words
            line.append(names[place])
        text.append(" ".join(line))
    return "\n".join(text) + "\n"


def repeated(batches: Batches | StreamBatches) -> Iterator[Batch]:
    """UPDATES batches; the batches repeat after the last one."""
    count = 0
    while count < UPDATES:
        for batch in batches:
            yield batch
            count += 1
            if count == UPDATES:
                return


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="*", default=[], help="systems; default: all of the zoo")
    parser.add_argument("--keep", action="store_true", help="write the losses down anew")
    options = parse(parser)
    torch.set_num_threads(1)
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    found: dict[str, list[float]] = {}
    missed = []
    for name in options.only or zoo.names():
        found[name] = losses(name)
        if name not in kept:
            print(f"{name:28} {found[name][0]:8.4f} → {found[name][-1]:8.4f}  not kept yet")
            continue
        apart = max(abs(a - b) / max(1.0, abs(a)) for a, b in zip(kept[name], found[name], strict=True))
        fits = apart <= CHAOTIC.get(name, TOLERANCE)
        missed += [] if fits else [name]
        print(
            f"{name:28} {found[name][0]:8.4f} → {found[name][-1]:8.4f}  {apart:.1e}  {'' if fits else 'DIFFERS'}"
        )
    if options.keep:
        KEPT.write_text(json.dumps(kept | found, indent=0) + "\n", encoding="utf-8")
    write_json(options.json, {"losses": found, "missed": missed})
    if missed and not options.keep:
        print(f"differ: {', '.join(missed)}")
        sys.exit(1)


if __name__ == "__main__":
    main()
