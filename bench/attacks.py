"""Attacks on every command, file format and surrounding: each is answered or refused with a reason.

    python bench/attacks.py --json attacks.json       # as many at the same time as there are cores
    python bench/attacks.py --part 2/3                # every third attack, from the second on
    python bench/attacks.py --only "a zip bomb" --verbose

Prints a table by kind: tried, held, fell, and the slowest attacks. Exit status 1 if one fell: a traceback,
another exit code than 0 or 2, no end within its time, a message that does not say the cause, or a file of the
user's that changed.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from written import parse, write_json

ROOT = Path(__file__).resolve().parents[1]
LONG = ("exercise", "signals", "variables", "folders", "clocks", "hub")
"""Kinds with attacks that wait, or that compile kernels. They begin first."""


def part(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"expected for example 2/3, received {text!r}")
    return int(found[1]), int(found[2])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 2
    parser.add_argument("--workers", type=int, default=cores, help="attacks at the same time")
    parser.add_argument("--kind", action="append", help="only this kind; may be given many times")
    parser.add_argument("--only", default="", help="only attacks whose names contain this")
    parser.add_argument("--part", type=part, default=(1, 1), metavar="I/N", help="only part I of N")
    parser.add_argument("--verbose", action="store_true", help="print the output of each attack that fell")
    options = parse(parser)
    sys.path.insert(0, str(ROOT))
    from tests.attacks import commands, files, surroundings
    from tests.attacks.attack import Ended, run_attack
    from tests.attacks.ground import make_ground

    attacks = [*commands.ATTACKS, *files.ATTACKS, *surroundings.ATTACKS]
    kinds = list(dict.fromkeys(attack.kind for attack in attacks))
    if unknown := [kind for kind in options.kind or () if kind not in kinds]:
        parser.error(f"--kind {unknown[0]}: known are {', '.join(kinds)}")
    wanted = [
        attack for attack in attacks if attack.kind in (options.kind or kinds) and options.only in attack.name
    ][options.part[0] - 1 :: options.part[1]]
    if not wanted:
        parser.error(f"--only {options.only}: no attack has this in its name")
    wanted.sort(key=lambda attack: (attack.kind not in LONG, -attack.seconds))
    ended: dict[str, list[Ended]] = {attack.kind: [] for attack in attacks if attack in wanted}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.workers) as pool:
        ground = make_ground(Path(folder) / "ground")
        made = time.monotonic() - began
        for end in pool.map(lambda attack: run_attack(attack, ground), wanted):
            ended[end.attack.kind].append(end)
            if end.fell:
                print(f"fell: {end.attack.kind}: {end.attack.name}: {end.fell}", flush=True)
                if options.verbose:
                    print(end.output[-3000:])
    took = time.monotonic() - began
    print(f"\n{platform.machine()}\n{'kind':14}{'tried':>8}{'held':>8}{'fell':>8}{'seconds':>10}")
    rows = {}
    for kind, ends in ended.items():
        fell, seconds = sum(bool(end.fell) for end in ends), sum(end.seconds for end in ends)
        rows[kind] = {"tried": len(ends), "held": len(ends) - fell, "fell": fell, "seconds": round(seconds)}
        print(f"{kind:14}{len(ends):>8}{len(ends) - fell:>8}{fell:>8}{seconds:>10.0f}")
    total = {name: sum(row[name] for row in rows.values()) for name in ("tried", "held", "fell", "seconds")}
    print(
        f"{'all':14}{total['tried']:>8}{total['held']:>8}{total['fell']:>8}{total['seconds']:>10}\n"
        f"{took:.0f} s with {options.workers} at the same time, {made:.0f} s of them to prepare; slowest:"
    )
    slowest = sorted((end for ends in ended.values() for end in ends), key=lambda end: -end.seconds)
    for end in slowest[:8]:
        print(f"{end.seconds:>8.0f}  {end.attack.kind}: {end.attack.name}")
    falls = [f"{end.attack.kind}: {end.attack.name}: {end.fell}" for end in slowest if end.fell]
    times = {f"{end.attack.kind}: {end.attack.name}": round(end.seconds, 1) for end in slowest}
    found = {
        "machine": platform.machine(),
        "kinds": rows,
        "fell": falls,
        "took": round(took),
        "seconds": times,
    }
    write_json(options.json, found)
    return 1 if total["fell"] else 0


if __name__ == "__main__":
    sys.exit(main())
