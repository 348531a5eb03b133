"""How much of regard runs in one call: the files and lines, by room.

    python bench/reach.py                 predict and train, with their bars
    python bench/reach.py --files train   also the files of a call

A person who follows a call reads these files. Counted are functions that run, also in threads; importing a module does
not count, because its body is not read to follow the call. The report that `train` writes after it has trained does
not count (`--no-report`). Exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import FrameType
from typing import Any

from written import parse, write_json

import regard

HOME = Path(regard.__file__).parent
BARS = {"predict": 40, "train": 110}
SOUNDS = {"a": "AE", "b": "B", "c": "K", "t": "T"}
PAIRS = [
    (word, " ".join(SOUNDS[letter] for letter in word)) for word in map("".join, product(SOUNDS, repeat=3))
]


class Reach:
    """The lines of regard that run while it is open."""

    def __init__(self) -> None:
        self.lines: dict[str, set[int]] = defaultdict(set)
        self.home = str(HOME) + "/"

    def __enter__(self) -> Reach:
        threading.settrace(self._enter)
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]

    def _enter(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(self.home) or self._is_body(frame):
            return None
        return self._line

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.lines[frame.f_code.co_filename].add(frame.f_lineno)
        return self._line

    @staticmethod
    def _is_body(frame: FrameType) -> bool:
        """Whether a module or a class is being made, or something inside it: a decorator, a comprehension."""
        asked: FrameType | None = frame
        while asked is not None:
            if asked.f_code.co_name == "<module>" and "regard" in asked.f_code.co_filename:
                return asked.f_globals.get("__name__", "").startswith("regard")
            asked = asked.f_back
        return False

    def by_room(self) -> dict[str, tuple[int, int]]:
        found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for name, lines in self.lines.items():
            parts = Path(name).relative_to(HOME).parts
            room = parts[0] if len(parts) > 1 else "(top)"
            found[room][0] += 1
            found[room][1] += len(lines)
        return {room: (files, lines) for room, (files, lines) in sorted(found.items())}


def measured() -> dict[str, Reach]:
    """A file of pairs is trained, and one word predicted."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        changes = ["--set", "encoder.size=8", "--set", "decoder.size=8", "--epochs", "1"]

        def training(name: str, pairs: list[tuple[str, str]]) -> list[str]:
            file = Path(folder) / f"{name}.tsv"
            file.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
            return [
                "train",
                str(file),
                "-o",
                f"{folder}/{name}",
                "--quiet",
                "--device",
                "cpu",
                "--no-report",
                *changes,
            ]

        # another process compiles the kernels, which happens once on a machine; its rows differ, so that the data
        # are read anew
        subprocess.run([sys.executable, "-m", "regard", *training("before", PAIRS[::-1])], check=True)
        words = training("run", PAIRS)
        found = {"train": reach(lambda: command(*words))}
        model = regard.load(run, device="cpu")
        for _ in range(3):  # what happens once: kernels are compiled, and a table of words is made
            model.predict("cat")
        found["predict"] = reach(lambda: model.predict("cat"))
    return found


def command(*arguments: str) -> None:
    from regard.cli import main as run

    sys.argv = ["regard", *arguments]
    try:
        run()
    except SystemExit as stop:
        if stop.code:
            raise


def reach(call: Callable[[], object]) -> Reach:
    found = Reach()
    with found:
        call()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--files", choices=[*BARS], help="also print the files of this call")
    options = parse(parser)
    calls = measured()
    missed = 0
    for name, bar in BARS.items():
        rooms = calls[name].by_room()
        files, lines = (sum(row[place] for row in rooms.values()) for place in (0, 1))
        missed += files > bar
        print(
            f"\n{name}: {files} files, {lines} lines; at most {bar} files: {'missed' if files > bar else 'met'}"
        )
        for room, (count, ran) in rooms.items():
            print(f"  {room:12}{count:5} files{ran:7} lines")
        if options.files == name:
            for file, ran_lines in sorted(calls[name].lines.items()):
                print(f"    {Path(file).relative_to(HOME)!s:50}{len(ran_lines):5}")
    write_json(options.json, {name: one.by_room() for name, one in calls.items()})
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
