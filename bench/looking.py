"""Every system of the zoo, briefly trained, is looked into; each look is checked and timed.

    python bench/looking.py                        all systems
    python bench/looking.py --only g2p parser-crf  some of them
    python bench/looking.py --json looking.json

Looks: `short`, the report that `train` writes; `report`, the long one. Each must be a whole page of its sections within
its bars, in CPU seconds and bytes. `studio`: every endpoint of the studio's server answers, with every panel, edit and
download; its size is that of one look. Exit status 1 if a look fails or misses a bar.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from written import parse, write_json

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from looking_studio import studio_look  # noqa: E402

from regard import zoo  # noqa: E402
from regard.fitting.experiment import Experiment  # noqa: E402
from regard.model.saving import versions  # noqa: E402
from regard.report import Report, report, report_of_training  # noqa: E402
from tests.zoo.test_zoo import small  # noqa: E402

LARGEST = 5_000_000
SECONDS = {"short": 2.0, "report": 60.0, "studio": 60.0}


@dataclass(frozen=True)
class Look:
    """One look at one system: the CPU seconds it took, its size, and what is wrong with it."""

    system: str
    look: str
    seconds: float
    bytes: int
    wrong: str = ""


def _report_wrong(found: Report) -> str:
    """What is wrong with a report."""
    text = found.html()
    if len(text.encode()) > LARGEST:
        return f"{len(text.encode()):,} bytes"
    needed = {"At a glance", "Scores", "Data", "The model", "Environment", "Make it again"}
    missing = needed - {section.heading for section in found.sections}
    return f"lacks {', '.join(sorted(missing))}" if missing else ""


LOOKS: dict[str, Callable[[Experiment], tuple[Any, str, int]]] = {}
"""{name: makes a look, and returns it, what is wrong with it, and its size}"""


def look(name: str) -> Callable[[Callable[[Experiment], Report]], None]:
    """Add a report to the looks."""

    def add(make: Callable[[Experiment], Report]) -> None:
        def made(experiment: Experiment) -> tuple[Any, str, int]:
            found = make(experiment)
            return found, _report_wrong(found), len(found.html().encode())

        LOOKS[name] = made

    return add


look("short")(report_of_training)
look("report")(lambda experiment: report(experiment.model, figures=4))
LOOKS["studio"] = studio_look


def looked(system: str, folder: Path) -> list[Look]:
    experiment = Experiment.start(
        system, run=folder / system, overrides=small(system), device="cpu", quiet=True
    )
    experiment.train()
    found = []
    for name, make in LOOKS.items():
        began, size = time.process_time(), 0
        try:
            _, wrong, size = make(experiment)
        except Exception as error:  # a look that fails is a result
            wrong = f"{type(error).__name__}: {error}"
        seconds = time.process_time() - began
        if not wrong and seconds > SECONDS[name]:
            wrong = f"{seconds:.1f} s, at most {SECONDS[name]:g}"
        found.append(Look(system, name, round(seconds, 2), size, wrong))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="SYSTEM", default=zoo.names())
    given = parse(parser)
    table = Table(box=None, header_style="bold")
    for head in ("system", "look", "CPU s", "kB", "wrong"):
        table.add_column(head, justify="right" if head in ("CPU s", "kB") else "left")
    found: list[Look] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["REGARD_CACHE"] = f"{folder}/cache"
        for system in given.only:
            for one in looked(system, Path(folder)):
                found.append(one)
                table.add_row(
                    one.system, one.look, f"{one.seconds:.2f}", f"{one.bytes / 1000:.0f}", one.wrong
                )
                print(
                    f"{one.system:28} {one.look:7} {one.seconds:6.2f} s {one.bytes / 1000:6.0f} kB  {one.wrong}"
                )
    Console().print(table)
    write_json(given.json, {"looks": [asdict(one) for one in found], "versions": versions()})
    return 1 if any(one.wrong for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
