"""Attacks on every command, file format and surrounding: each is answered or refused with a reason.

    python bench/attacks.py --workers 2 --json attacks.json

Prints a table by kind: tried, held, fell. Exit status 1 if one fell: a traceback, another exit code than 0 or
2, no end within its time, a message that does not say the cause, or a file of the user's that changed.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from written import parse, write_json

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2, help="attacks at the same time")
    parser.add_argument("--kind", action="append", help="only this kind; may be given many times")
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
    wanted = [attack for attack in attacks if attack.kind in (options.kind or kinds)]
    ended: dict[str, list[Ended]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.workers) as pool:
        ground = make_ground(Path(folder) / "ground")
        for end in pool.map(lambda attack: run_attack(attack, ground), wanted):
            ended[end.attack.kind].append(end)
            if end.fell:
                print(f"fell: {end.attack.kind}: {end.attack.name}: {end.fell}", flush=True)
                if options.verbose:
                    print(end.output[-3000:])
    print(f"\n{platform.machine()}\n{'kind':14}{'tried':>8}{'held':>8}{'fell':>8}{'seconds':>10}")
    rows = {}
    for kind, ends in ended.items():
        fell = sum(bool(end.fell) for end in ends)
        rows[kind] = {"tried": len(ends), "held": len(ends) - fell, "fell": fell}
        print(
            f"{kind:14}{len(ends):>8}{len(ends) - fell:>8}{fell:>8}{sum(end.seconds for end in ends):>10.0f}"
        )
    total = {name: sum(row[name] for row in rows.values()) for name in ("tried", "held", "fell")}
    print(f"{'all':14}{total['tried']:>8}{total['held']:>8}{total['fell']:>8}")
    falls = [
        f"{end.attack.kind}: {end.attack.name}: {end.fell}"
        for ends in ended.values()
        for end in ends
        if end.fell
    ]
    write_json(options.json, {"machine": platform.machine(), "kinds": rows, "fell": falls})
    return 1 if total["fell"] else 0


if __name__ == "__main__":
    sys.exit(main())
