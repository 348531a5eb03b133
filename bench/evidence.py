"""Train what the lectures cite, and keep what was measured as evidence: one file for each training.

    python bench/evidence.py --workers 2                              everything that is cited
    python bench/evidence.py --only translation facts --seeds 1 2 3   some of it
    python bench/evidence.py --minutes 9 --workers 15                 what fits into nine minutes; goes on next time

Each training is the command that the file names, in a process of its own with one thread, the longest first. One that
was interrupted goes on where it stopped. What another script measured of a run lies beside it as NAME.further.json,
{split: {metric: {value, n}}}, and joins its scores (`bench/alignments.py --scores`). A file holds the command, the
commit, the machine, the versions, the scores of all splits with their sizes, the digests of the spec and of the
weights, and a seal over all of it. `regard lecture --check` reads these files, and nothing else, for figures of longer
trainings. Exit status 1 if a training failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from written import parse, write_json

ROOT = Path(__file__).parents[1]
PARAGRAPH = 600
"""Characters that a language model writes."""
ASKED = r'evidence_for\("([^"]+)"\)\[0\]\.answer\("([^"]*)"\)'
"""How Python code of an entry asks for an answer of a training."""
LONGEST = 100
"""Characters of the name of a training; more are replaced by a digest, because file names have an end."""


@dataclass(frozen=True)
class Training:
    """One training: its name among the evidence, and what `regard train` is given."""

    name: str
    words: tuple[str, ...]
    device: str = "cpu"
    end: float = field(default=0.0, compare=False)

    @property
    def command(self) -> str:
        return shlex.join(["regard", "train", *self.words])

    def run(self, folder: Path) -> str:
        """Train until the end or until the time is over; returns what became of it."""
        place, log = folder / self.name, folder / f"{self.name}.txt"
        if _finished(place):
            return "found"
        began = (place / "state").exists()
        words = ["--resume", str(place)] if began else [*self.words, "-o", str(place)]
        line = [sys.executable, "-m", "regard", "train", *words, "--device", self.device, "--no-report"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        with log.open("a") as told:
            process = subprocess.Popen(line, stdout=told, stderr=told, env=environment, cwd=ROOT)
            try:
                process.wait(timeout=max(1.0, self.end - time.monotonic()) if self.end else None)
            except subprocess.TimeoutExpired:
                process.terminate()
                process.wait()
                return "interrupted"
        return "trained" if _finished(place) else f"failed ({log})"


def _finished(place: Path) -> bool:
    path = place / "metrics.json"
    return path.is_file() and "scores" in json.loads(path.read_text())


def cited() -> list[Training]:
    """The trainings that entries of the lectures cite, each once, the longest first."""
    from regard.course.lectures.catalog import FOLDER
    from regard.spec.document import parse as read

    times: dict[str, Any] = read((FOLDER / "times.yaml").read_text(), "times.yaml").data
    names = dict.fromkeys(one.trained for one in _checks())
    known = [name for name in names if not name.startswith("recipes/")]
    seconds = {name: float(times.get(name.split()[0], 400)) for name in known}
    return [training(name) for name in sorted(known, key=lambda name: -seconds[name])]


def _all_checks() -> list[Any]:
    """The checks of all entries, and both sides of their errata."""
    from regard.course.lectures import decks

    entries = [entry for deck in decks() for entry in deck.entries]
    sides = [one for entry in entries for e in entry.errata for one in (e.printed, e.corrected)]
    return [*(one for entry in entries for one in entry.checks), *sides]


def _checks() -> list[Any]:
    """The checks of all entries that cite a training."""
    from regard.course.lectures.checks import OrderCheck, TrainedCheck

    checks = _all_checks()
    ordered = [figure for one in checks if isinstance(one, OrderCheck) for figure in one.figures]
    return [*(one for one in checks if isinstance(one, TrainedCheck)), *ordered]


def training(words: str, seed: int | None = None, device: str = "cpu") -> Training:
    given = [*shlex.split(words), *(["--seed", str(seed)] if seed is not None else [])]
    name = "-".join(given).replace("--set-", "").replace("--seed-", "seed-").replace("/", "_")
    name = "".join(sign if sign.isalnum() or sign in "-_.=" else "_" for sign in name)
    if len(name) > LONGEST:
        name = f"{name[:LONGEST]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return Training(name, tuple(given), device)


def evidence(one: Training, place: Path, commit: str) -> dict[str, Any]:
    """What is kept of a finished training."""
    import torch

    from regard.course.lectures.evidence import spec_digest, split_words
    from regard.version import __version__

    metrics = json.loads((place / "metrics.json").read_text())
    return sealed_result(
        {
            "command": one.command,
            "commit": commit,
            "machine": machine(one.device),
            "versions": {
                "regard": __version__,
                "python": platform.python_version(),
                "torch": str(torch.__version__),
            },
            "seconds": metrics.get("training", {}).get("seconds"),
            "scores": _joined(_plain_scores(metrics["scores"]), _beside(place, "further")),
            "by_length": _by_length(place, one.device)
            if "translation" in one.name or "multi30k" in one.name
            else [],
            "by": {name: _by(name, place, one.device) for name in asked(one)},
            **_answers(place, questions(one)),
            "digests": {name: _digest(place / name) for name in ("spec.yaml", "model.safetensors")},
            "spec": spec_digest(split_words(one.words)[0]),
        }
    )


def sealed_result(content: dict[str, Any]) -> dict[str, Any]:
    from regard.course.lectures.evidence import SEAL, sealed

    return {**content, SEAL: sealed(content)}


def _plain_scores(scores: dict[str, Any]) -> dict[str, Any]:
    """{split: {metric: value, rows, and its signature}}"""
    kept = ("value", "n", "chance", "signature")
    return {
        split: {name: {key: one[key] for key in kept if key in one} for name, one in found.items()}
        for split, found in scores.items()
    }


def _beside(place: Path, what: str) -> Path:
    return place.with_name(f"{place.name}.{what}.json")


def _joined(scores: dict[str, Any], further: Path) -> dict[str, Any]:
    more = json.loads(further.read_text()) if further.is_file() else {}
    return {split: {**scores.get(split, {}), **more.get(split, {})} for split in {**scores, **more}}


def _by_length(place: Path, device: str) -> list[Any]:
    """[length, rows, BLEU, low, high] of the test rows of each length."""
    told = _beside(place, "by-length")
    line = [sys.executable, "-m", "regard", "evaluate", str(place), "--by-length", "--split", "test"]
    line += ["--device", device, f"--json={told}", "--overwrite"]
    subprocess.run(line, capture_output=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    (found,) = json.loads(told.read_text())["models"].values()
    return list(found["by_length"])


def _by(name: str, place: Path, device: str) -> list[Any]:
    """[value of the column, rows, the first metric, low, high] of the test rows with each value of a column."""
    told = _beside(place, f"by-{name}")
    line = [sys.executable, "-m", "regard", "evaluate", str(place), "--by", name, "--split", "test"]
    line += ["--device", device, f"--json={told}", "--overwrite"]
    subprocess.run(line, capture_output=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    (found,) = json.loads(told.read_text())["models"].values()
    return list(found["by"]["cells"])


def asked(one: Training) -> list[str]:
    """The columns by which the lectures ask for the scores of a training, as in `score: by.things.1`."""
    paths = [check.score.split(".") for check in _checks_of(one)]
    return sorted({path[1] for path in paths if path[0] == "by"})


def questions(one: Training) -> list[str]:
    """The inputs whose answers the lectures cite, in checks of trainings and in Python code."""
    cited = [given for check in _checks_of(one) for given in check.answers]
    code = (check.python for check in _all_checks() if hasattr(check, "python"))
    found = [pair for text in code for pair in re.findall(ASKED, text)]
    return list(dict.fromkeys([*cited, *(given for name, given in found if name == shlex.join(one.words))]))


def _checks_of(one: Training) -> list[Any]:
    from regard.course.lectures.evidence import split_words

    wanted = split_words(one.words)[0]
    return [check for check in _checks() if split_words(check.trained)[0] == wanted]


def _answers(place: Path, inputs: list[str]) -> dict[str, Any]:
    """{"answers": {input: what the model writes}}, or nothing where nothing is asked; of a language model, the text
    that `regard generate --length 600 --seed 1` makes of a prompt."""
    from regard import load

    if not inputs:
        return {}
    model = load(place, device="cpu")
    if hasattr(model, "generate"):
        return {"answers": {given: model.generate(given, length=PARAGRAPH, seed=1).text for given in inputs}}
    return {"answers": {given: model.predict(given).text for given in inputs}}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else []:
        if line.startswith(("model name", "CPU part")):
            return line.partition(":")[2].strip()
    return platform.processor()


def machine(device: str) -> dict[str, str]:
    """What a training ran on."""
    return {"processor": _processor(), "system": platform.machine(), "device": device}


def commit() -> str:
    """The commit that REGARD_COMMIT names, as where a copy without history is trained; or git's."""
    told = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=ROOT, check=False)
    return os.environ.get("REGARD_COMMIT") or told.stdout.strip() or "unknown"


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument(
        "--only", nargs="+", metavar="WORDS", help="these trainings: what `regard train` is given"
    )
    parser.add_argument("--seeds", nargs="+", type=int, metavar="N", help="with each of these seeds")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument(
        "--minutes", type=float, metavar="M", help="stop then; what is not finished goes on next time"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "runs" / "evidence", help="where the runs are kept"
    )
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "regard" / "course" / "results")
    options = parse(parser)
    end = time.monotonic() + 60 * options.minutes if options.minutes else 0.0
    wanted = [training(words, device=options.device) for words in options.only] if options.only else cited()
    if options.seeds:
        wanted = [
            training(shlex.join(one.words), seed, options.device) for one in wanted for seed in options.seeds
        ]
    options.folder.mkdir(parents=True, exist_ok=True)
    options.output.mkdir(parents=True, exist_ok=True)
    at, outcomes = commit(), {}

    def work(one: Training) -> None:
        if end and time.monotonic() > end:
            outcomes[one.name] = "not begun"
            return
        told = outcomes[one.name] = Training(one.name, one.words, one.device, end).run(options.folder)
        if told in ("found", "trained"):
            found = evidence(one, options.folder / one.name, at)
            (options.output / f"{one.name}.json").write_text(json.dumps(found, ensure_ascii=False) + "\n")
        print(f"{one.name:60} {told}", flush=True)

    with ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(work, wanted))
    write_json(options.json, {"commit": at, "outcomes": outcomes})
    return 1 if any(told.startswith("failed") for told in outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
