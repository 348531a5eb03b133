"""Repeat stored results of the book: train again what a result names, and compare the figures.

    python bench/verify.py                        lists the results, with their figures and seconds of training
    python bench/verify.py tagger translation-seed-2
    python bench/verify.py tagger --quick         a tenth of the training
    python bench/verify.py --within 20            all whose training took at most 20 seconds

A stored result is a file of regard/course/results; docs/results.md names its training. The command of the file runs
again, and every test score is compared with the stored one: they must not differ by more than 0.03, or 3 % of a figure
above 1 (`--tolerance`), because processors and versions of torch round differently. With --quick the training is too
short for the same figure: then each must not be better than the stored one by more than that. Exit status 1 if a
figure differs, or if a file was changed after it was written.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from written import parse, write_json

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "regard" / "course" / "results"
TOLERANCE = 0.03
SHORTER = 10


def stored(name: str) -> dict[str, Any]:
    """A stored result whose seal is intact."""
    from regard.course.lectures.evidence import SEAL, sealed

    path = RESULTS / f"{name}.json"
    if not path.is_file():
        near = sorted((one for one in names() if name in one), key=len)
        told = f" Did you mean {', '.join(near[:3])}?" if near else ""
        sys.exit(f"There is no stored result {name!r}.{told}\nRun `python bench/verify.py` for a list.")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if content.get(SEAL) != sealed(content):
        sys.exit(f"{path}: this file was changed after it was written.")
    return content


def names() -> list[str]:
    return sorted(path.stem for path in RESULTS.glob("*.json"))


def figures(scores: dict[str, Any]) -> dict[str, float]:
    """The test scores: {metric: value}."""
    return {metric: float(one["value"]) for metric, one in scores.get("test", {}).items()}


def command(content: dict[str, Any], *, quick: bool) -> list[str]:
    """The words after `regard` that train it again."""
    words = shlex.split(content["command"])[1:]
    return (
        [*words, *(word for change in _shorter(words[1:]) for word in ("--set", change))] if quick else words
    )


def _shorter(words: list[str]) -> list[str]:
    """Settings for a tenth of a training."""
    from regard import zoo

    changes = [value for option, value in pairwise(words) if option == "--set"]
    training = zoo.find(words[0], changes).training
    if training.steps is not None:
        return [f"training.steps={max(1, training.steps // SHORTER)}"]
    epochs = training.epochs or SHORTER
    return [f"training.epochs={max(1, epochs // SHORTER)}"]


def train(words: list[str], place: Path, device: str) -> dict[str, float]:
    """Train into a folder, and return the test scores."""
    line = [sys.executable, "-m", "regard", *words, "-o", str(place), "--device", device, "--no-report"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"The training failed: regard {shlex.join(words)}\n{done.stderr[-2000:]}")
    return figures(json.loads((place / "metrics.json").read_text(encoding="utf-8"))["scores"])


def differs(metric: str, before: float, now: float, tolerance: float, *, quick: bool) -> bool:
    """Whether a figure is not the stored one; with `quick`, whether a short training is better than it."""
    from regard.parts import find

    allowed = tolerance * max(1.0, abs(before))
    if not quick:
        return abs(now - before) > allowed
    better = now - before if find("metric", metric).higher_is_better else before - now
    return bool(better > allowed)


def verified(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The figures of one result, stored and repeated."""
    content = stored(name)
    words = command(content, quick=options.quick)
    machine = content["machine"]
    print(f"{name}: regard {shlex.join(words)}")
    print(
        f"  stored: {machine['processor']}, torch {content['versions']['torch']}, commit {content['commit'][:8]}"
    )
    with tempfile.TemporaryDirectory() as folder:
        now = train(words, Path(folder) / "run", options.device)
    rows = []
    for metric, before in figures(content["scores"]).items():
        if metric not in now:
            continue  # measured by another script beside the run
        wrong = differs(metric, before, now[metric], options.tolerance, quick=options.quick)
        rows.append({"name": name, "metric": metric, "stored": before, "now": now[metric], "differs": wrong})
        told = "DIFFERS" if wrong else "not better" if options.quick else "same"
        print(f"  {metric:24}{before:10.4g}{now[metric]:10.4g}  {told}", flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="stored results; none: list them")
    parser.add_argument("--within", type=float, metavar="SECONDS", help="all that trained at most this long")
    parser.add_argument("--quick", action="store_true", help="a tenth of the training, compared on one side")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="allowed difference (%(default)s)")
    parser.add_argument("--device", default="cpu")
    options = parse(parser)
    wanted = list(options.names)
    if options.within is not None:
        wanted += [name for name in names() if _trainable(name, options.within)]
    if not wanted:
        for name in names():
            content = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
            told = ", ".join(f"{metric} {value:.4g}" for metric, value in figures(content["scores"]).items())
            print(f"{name}\n    {content.get('seconds') or 0:.0f} s  {told}")
        return 0
    rows = [row for name in wanted for row in verified(name, options)]
    write_json(options.json, rows)
    wrong = sum(row["differs"] for row in rows)
    allowed = f"{options.tolerance:g}, or {options.tolerance:.0%} of a figure above 1"
    print(f"{len(rows)} figures, {wrong} differ by more than {allowed}.")
    return 1 if wrong or not rows else 0


def _trainable(name: str, within: float) -> bool:
    """Whether a result needs no data from elsewhere, and trained fast enough."""
    content = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return "recipes/" not in content["command"] and (content.get("seconds") or 1e9) <= within


if __name__ == "__main__":
    sys.exit(main())
