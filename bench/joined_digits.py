"""Join recordings of the Free Spoken Digit Dataset into numbers of several digits, with the time of each digit.

    python bench/joined_digits.py FOLDER joined      # FOLDER: the recordings, joined: a new folder

Each number has 3 to 6 digits of one speaker, with pauses of 0 to 250 ms before, between and after them. Recordings 0 to
4 of each speaker and digit go into test, 5 to 7 into dev and the others into train, as in `recipes/fsdd.yaml`. Writes
train.jsonl, dev.jsonl and test.jsonl with `audio`, `text` ("three five two") and `times`, the first and last second of
each digit, which no model reads.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from written import parse, write_json

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
NUMBERS = {"train": 2400, "dev": 200, "test": 300}
DIGITS = (3, 6)
MOST_PAUSE = 0.25
"""Seconds."""


def split_of(number: int) -> str:
    return "test" if number < 5 else "dev" if number < 8 else "train"


def main() -> int:
    import soundfile

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recordings", type=Path, help="the folder of digit_speaker_number.wav")
    parser.add_argument("joined", type=Path, help="a folder that does not exist yet")
    parser.add_argument("--seed", type=int, default=1)
    given = parse(parser)
    paths = sorted(given.recordings.glob("*_*_*.wav"))
    if not paths:
        sys.exit(f"{given.recordings} holds no recordings named digit_speaker_number.wav")
    if given.joined.exists():
        sys.exit(f"{given.joined} exists. Name a new folder.")
    spoken: dict[tuple[str, str], list[tuple[int, np.ndarray]]] = {}
    rate = 0
    for path in paths:
        digit, speaker, number = path.stem.split("_")
        sound, rate = soundfile.read(path, dtype="float32")
        spoken.setdefault((split_of(int(number)), speaker), []).append((int(digit), sound))
    chance = random.Random(given.seed)
    counts = {}
    for split, count in NUMBERS.items():
        speakers = sorted(speaker for part, speaker in spoken if part == split)
        (given.joined / split).mkdir(parents=True)
        rows = []
        for number in range(count):
            said = chance.choices(spoken[split, chance.choice(speakers)], k=chance.randint(*DIGITS))
            parts, times, at = [], [], 0
            for _, sound in said:
                pause = round(chance.uniform(0, MOST_PAUSE) * rate)
                parts += [np.zeros(pause, np.float32), sound]
                times.append([(at + pause) / rate, (at + pause + len(sound)) / rate])
                at += pause + len(sound)
            parts.append(np.zeros(round(chance.uniform(0, MOST_PAUSE) * rate), np.float32))
            file = f"{split}/{number:04}.wav"
            soundfile.write(given.joined / file, np.concatenate(parts), rate)
            rows.append({"audio": file, "text": " ".join(NAMES[digit] for digit, _ in said), "times": times})
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (given.joined / f"{split}.jsonl").write_text(lines, encoding="utf-8")
        counts[split] = {"numbers": count, "digits": sum(len(row["times"]) for row in rows)}
    Console().print(counts)
    write_json(given.json, counts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
