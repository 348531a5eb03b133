"""Searches over settings: does a killed process lose a trial, what does a trial cost beyond its training, and does the
default sampler beat random search?

    python bench/sweep.py
    python bench/sweep.py --json sweep.json --only surface

Two processes share a study of 24 trials, in SQLite and in a PostgreSQL that this script starts. One is killed with -9
in the middle of a trial and started again. The best setting and the killed one are then trained alone by their printed
commands. Exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from postgres import missing, postgres
from sweep_processes import score_alone, sweep_with_a_kill
from written import parse, write_json

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.sweep.small import VARY, small_task

TRIALS = 24
EPOCHS = 10
UPDATES = 6 * EPOCHS
"""120 rows in batches of 20."""
OVERHEAD, TIMED = 1.0, 8
"""Seconds per trial beyond its training, and the number of trials that are timed."""
REPEATED, TRIED = 40, 60
"""Repetitions on each surface, and trials of each."""


@dataclass(frozen=True)
class Measured:
    """One line of the table."""

    what: str
    value: str
    bar: str
    passed: bool


def shared_study(place: Path, storage: str = "") -> Iterator[Measured]:
    """Two processes on one study, one of them killed."""
    import optuna

    name = "PostgreSQL" if storage else "SQLite"
    spec = small_task(place, epochs=EPOCHS)
    words = [spec.name, *(word for one in VARY for word in ("--vary", one)), "--trials", str(TRIALS)]
    words += ["--storage", storage] if storage else []
    killed = sweep_with_a_kill(words, place, "sweeps/small")
    url = storage or f"sqlite:///{killed.sweep / 'study.db'}"
    study = optuna.load_study(study_name="small", storage=url)
    done = [one for one in study.trials if one.state.name == "COMPLETE"]
    yield Measured(
        f"{name}: a process killed in trial",
        f"{killed.number}, after {killed.steps} rows of its log",
        "in the middle",
        killed.number >= 0,
    )
    yield Measured(
        f"{name}: results, trials, different settings",
        f"{len(done)}, {len(study.trials)}, {len({str(one.params) for one in done})}",
        f"{TRIALS} each",
        len(done) == len(study.trials) == len({str(one.params) for one in done}) == TRIALS,
    )
    logs = [log.read_text().splitlines()[1:] for log in killed.sweep.glob("trials/*/seed-1/log.csv")]
    steps = [[int(row.split(",")[0]) for row in rows] for rows in logs]
    yield Measured(
        f"{name}: logs whose steps go on to the end, folders",
        f"{sum(one == sorted(one) and one[-1] == UPDATES for one in steps)}, {len(steps)}",
        f"{TRIALS} each",
        len(steps) == TRIALS and all(one == sorted(one) and one[-1] == UPDATES for one in steps),
    )
    from regard.sweep.plan import make_plan
    from regard.sweep.ranges import typed_ranges

    plan = make_plan(str(spec), typed_ranges(VARY), output=killed.sweep)
    best = min(done, key=lambda one: (one.value, one.number))
    for what, trial in (("the best", best), ("the killed trial", study.trials[killed.number])):
        command = plan.command(plan.values(trial.params), 1)
        alone = score_alone(command, place, f"runs/{trial.number}", "loss")
        yield Measured(
            f"{name}: dev loss of {what} in the sweep and alone",
            f"{trial.value!r}, {alone!r}",
            "equal",
            trial.value == alone,
        )


def overhead(place: Path) -> Measured:
    """Seconds of a trial beyond its training, in one process."""
    import regard
    from regard.fitting.experiment import Experiment

    spec = small_task(place, epochs=4)
    vary = dict(one.split("=", 1) for one in VARY)
    vary["encoder.cell"] = ["gru", "lstm"]  # type: ignore[assignment]
    regard.sweep(spec, vary=vary, trials=3, output=place / "warm", quiet=True)
    beyond: list[float] = []
    for turn in range(3):
        began = time.perf_counter()
        found = regard.sweep(spec, vary=vary, trials=TIMED, output=place / f"timed-{turn}", quiet=True)
        swept = time.perf_counter() - began
        began = time.perf_counter()
        for one in found.trials:
            changes = [f"{path}={value}" for path, value in one.values.items()]
            run = Experiment.start(
                str(spec), run=place / f"{turn}-{one.number}", overrides=changes, quiet=True
            )
            run.measured = ["dev"]
            run.train()
        beyond.append((swept - (time.perf_counter() - began)) / TIMED)
    value = statistics.median(beyond)
    return Measured(
        "overhead per trial, with test and page", f"{value:.3f} s", f"≤ {OVERHEAD:g} s", value <= OVERHEAD
    )


def hartmann(x: Mapping[str, Any]) -> float:
    """Hartmann's function of six numbers in [0, 1], with its minimum at -3.32237."""
    a = [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
    p = [
        [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
        [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
        [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
        [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
    ]
    values = list(x.values())
    return -sum(
        weight * math.exp(-sum(one * (v - c) ** 2 for one, v, c in zip(row, values, centers, strict=True)))
        for weight, row, centers in zip((1.0, 1.2, 3.0, 3.2), a, p, strict=True)
    )


def settings_surface(x: Mapping[str, Any]) -> float:
    """A rate on a logarithmic scale, a size, a share and a choice, with its minimum 0 at 0.003, 300, 0.2, lstm."""
    rate = (math.log10(x["rate"]) - math.log10(0.003)) ** 2
    size = ((x["size"] - 300) / 200) ** 2
    return rate + size + 4 * (x["dropout"] - 0.2) ** 2 + (0.0 if x["cell"] == "lstm" else 0.3)


SURFACES: dict[str, tuple[Callable[[Mapping[str, Any]], float], dict[str, Any], float]] = {
    "Hartmann 6": (hartmann, {f"x{i}": "0.0..1.0" for i in range(6)}, -3.32237),
    "settings": (
        settings_surface,
        {"rate": "1e-5..1e-1:log", "size": "32..1024", "dropout": "0.0..0.8", "cell": ["rnn", "gru", "lstm"]},
        0.0,
    ),
}


def surface(name: str) -> Measured:
    """By how much the default sampler is closer to the minimum than random search, with its interval over seeds."""
    import regard

    function, vary, least = SURFACES[name]

    def regret(sampler: str | None, seed: int) -> float:
        tried = regard.sweep.minimize(function, vary, trials=TRIED, sampler=sampler, seed=seed)
        return math.log10(max(min(value for _, value in tried) - least, 1e-12))

    gains = [regret("random", seed) - regret(None, seed) for seed in range(REPEATED)]
    mean, half = statistics.mean(gains), 1.96 * statistics.stdev(gains) / math.sqrt(len(gains))
    return Measured(
        f"{name}: log10 of the regret, random less default, {REPEATED} seeds of {TRIED} trials",
        f"{mean:.3f} ({mean - half:.3f} to {mean + half:.3f})",
        "interval above 0",
        mean - half > 0,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=("sqlite", "postgres", "overhead", "surface"))
    given = parse(parser)
    lines: list[Measured] = []

    def add(one: Measured) -> None:
        lines.append(one)
        print(
            f"{'ok    ' if one.passed else 'MISSED'}  {one.what:<86}  {one.value}   ({one.bar})", flush=True
        )

    with tempfile.TemporaryDirectory(prefix="regard-sweep-") as place:
        folder = Path(place)
        if given.only in (None, "sqlite"):
            for one in shared_study(folder / "sqlite"):
                add(one)
        if given.only in (None, "postgres"):
            if why := missing():
                print(f"skipped: {why}")
            else:
                with postgres() as url:
                    for one in shared_study(folder / "postgres", url):
                        add(one)
        if given.only in (None, "overhead"):
            add(overhead(folder / "overhead"))
        if given.only in (None, "surface"):
            for name in SURFACES:
                add(surface(name))
    write_json(given.json, [asdict(one) for one in lines])
    return 0 if all(one.passed for one in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
