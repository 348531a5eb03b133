"""How long a command takes to start, and a fresh installation to its first update.

    python bench/start.py RUN             a trained run of words, such as runs/g2p
    python bench/start.py RUN --no-fresh  without the training

Start-up: `import torch`, `import regard`, `regard --help` and `regard predict RUN word` in turns, each in a process of
its own, with .pyc files; the medians. A fresh installation has no compiled kernels: `regard train` on a small table of
word pairs, with an empty cache; seconds from the command to its updates. Exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from itertools import islice, pairwise, product
from pathlib import Path
from statistics import median

from written import parse, write_json

BARS = {"predict": 0.4, "first update": 15.0}
"""Seconds: a prediction over `import torch`; the first update of a fresh installation after its command."""
SOUNDS = {"a": "AE", "b": "B", "c": "K", "n": "N", "o": "AO", "t": "T"}
TIMED = """
import sys, time
begin = float(sys.argv.pop(1))
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
register_optimizer_step_post_hook(lambda *_: print("update", time.time() - begin, flush=True))
from regard.cli import main
main()
"""


def environment(cache: Path) -> dict[str, str]:
    """The environment of a process with a cache of its own for .pyc files, kernels and data."""
    kept = {
        "PYTHONPYCACHEPREFIX": "pyc",
        "NUMBA_CACHE_DIR": "kernels",
        "XDG_CACHE_HOME": "user",
        "REGARD_CACHE": "data",
    }
    others = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONDONTWRITEBYTECODE", "REGARD_COMPILE")
    }
    return {**others, **{name: str(cache / place) for name, place in kept.items()}}


def starts(run: Path, word: str, rounds: int, cache: Path) -> dict[str, float]:
    """Seconds of each command, the median over rounds in turns."""
    commands = {
        "import torch": ["-c", "import torch"],
        "import regard": ["-c", "import regard"],
        "regard --help": ["-m", "regard", "--help"],
        "regard predict": ["-m", "regard", "predict", str(run), word, "--device", "cpu"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            begin = time.perf_counter()
            subprocess.run(
                [sys.executable, *command], env=environment(cache), check=True, capture_output=True
            )
            if number:  # the first round writes the .pyc files
                seconds[name].append(time.perf_counter() - begin)
    return {name: median(found) for name, found in seconds.items()}


def updates(steps: int, cache: Path) -> list[float]:
    """Seconds from the command to each update of the default model for a file of word pairs, without kernels."""
    words = islice(map("".join, product(SOUNDS, repeat=4)), 1200)
    file = cache / "words.tsv"
    file.write_text(
        "".join(f"{word}\t{' '.join(SOUNDS[one] for one in word)}\n" for word in words), encoding="utf-8"
    )
    command = ["train", str(file), "-o", str(cache / "run"), "--device", "cpu", "--no-report", "--quiet"]
    command += ["--set", f"training.steps={steps}"]
    done = subprocess.run(
        [sys.executable, "-c", TIMED, str(time.time()), *command],
        env=environment(cache),
        check=True,
        capture_output=True,
        text=True,
    )
    return [float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("update ")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("run", type=Path, help="the folder of a trained model that reads a word")
    parser.add_argument("--word", default="hello")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-fresh", action="store_true", help="measure commands alone")
    parser.add_argument("--steps", type=int, default=400, help="updates of the fresh installation")
    options = parse(parser)
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        found = starts(options.run, options.word, options.rounds, cache)
        for name, seconds in found.items():
            print(f"{name:16}{seconds:7.3f} s")
        over = found["regard predict"] - found["import torch"]
        missed = over > BARS["predict"]
        print(
            f"predict over import torch: {over:.3f} s; at most {BARS['predict']}: {'missed' if missed else 'met'}"
        )
        made: list[float] = []
        if not options.no_fresh:
            made = updates(options.steps, cache)
            late = made[0] > BARS["first update"]
            missed = missed or late
            print(
                f"first update after {made[0]:.1f} s; at most {BARS['first update']:.0f}: {'missed' if late else 'met'}"
            )
            gaps = [after - before for before, after in pairwise(made)]
            print(
                f"updates: {1000 * median(gaps[:10]):.0f} ms at first, {1000 * median(gaps[-10:]):.0f} ms at the end"
            )
    write_json(options.json, {"seconds": found, "over": over, "updates": made})
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
