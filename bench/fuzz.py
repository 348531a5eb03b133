"""Almost valid input, by the thousand: each case gives the same answer as before or is refused with a reason.

    python bench/fuzz.py --cases 20000 --json fuzz.json

Prints a table by kind. Exit status 1 if a case ended in a traceback, hung, changed an answer, touched a file
outside the run, or took more than 1 GB of additional memory.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import tempfile
import time
from contextlib import ExitStack, chdir
from pathlib import Path
from unittest import mock

from written import parse, write_json

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = ("cases", "refused", "same", "accepted", "tracebacks", "hangs", "changed", "touched")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--kind", action="append", help="only this kind; may be given many times")
    options = parse(parser)
    sys.path.insert(0, str(ROOT))
    import torch

    torch.set_num_threads(1)
    from tests.fuzz.cases import KINDS, Workshop, run_kind, shares
    from tests.fuzz.harness import Count

    wanted = options.kind or list(KINDS)
    if unknown := [kind for kind in wanted if kind not in KINDS]:
        parser.error(f"--kind {unknown[0]}: known are {', '.join(KINDS)}")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as aside:
        for name in ("home", "work", "cache"):
            (Path(folder) / name).mkdir()
        elsewhere = {"HOME": f"{folder}/home", "REGARD_CACHE": f"{folder}/cache"}
        aside.enter_context(mock.patch.dict(os.environ, elsewhere))
        aside.enter_context(chdir(f"{folder}/work"))
        shop = Workshop(Path(folder))
        cases = shares(options.cases)
        print(f"{'kind':16}" + "".join(f"{name:>11}" for name in COLUMNS) + f"{'peak MB':>11}{'seconds':>11}")
        found: dict[str, Count] = {}
        for kind in wanted:
            began = time.monotonic()
            count = found[kind] = run_kind(shop, kind, cases[kind], options.seed)
            figures = "".join(f"{getattr(count, name):>11,}" for name in COLUMNS)
            print(f"{kind:16}{figures}{count.peak >> 20:>11,}{time.monotonic() - began:>11.1f}", flush=True)
    total = {name: sum(getattr(count, name) for count in found.values()) for name in COLUMNS}
    peak = max(count.peak for count in found.values())
    print(f"{'all':16}" + "".join(f"{total[name]:>11,}" for name in COLUMNS) + f"{peak >> 20:>11,}")
    for kind, count in found.items():
        for example in count.examples[:10]:
            print(f"\n{kind}: {example}")
    counts = {kind: dataclasses.asdict(count) for kind, count in found.items()}
    write_json(options.json, {"seed": options.seed, "kinds": counts})
    return 1 if any(count.bad for count in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
