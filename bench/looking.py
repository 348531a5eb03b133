"""Every system of the zoo, briefly trained, is looked into; each look is checked and timed.

    python bench/looking.py                        all systems
    python bench/looking.py --part 1/4             the first of four parts, to run in pieces
    python bench/looking.py --only g2p parser-crf  some systems
    python bench/looking.py --json looking.json

Looks: `short`, the report that `train` writes; `report`, the long one. Each must be a whole page of its sections within
its bars, in CPU seconds and bytes. `show`: the command, in the terminal and as a figure. `trace`: what is recorded
equals what is computed without, and is read from its file as it was written. `studio`: every endpoint of the studio's
server answers, with every panel, edit and download; its size is that of one look. `page`: the studio's page of one row,
drawn in Chromium without an error. Exit status 1 if a look fails or misses a bar.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from written import parse, write_json

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import regard  # noqa: E402
from regard import zoo  # noqa: E402
from regard.fitting.experiment import Experiment  # noqa: E402
from regard.model.saving import versions  # noqa: E402
from regard.report import Report, report, report_of_training  # noqa: E402
from tests.studio.client import Client  # noqa: E402
from tests.zoo.looks import Asking, browser, page_faults, report_faults, show_faults, trace_faults  # noqa: E402
from tests.zoo.test_zoo import small  # noqa: E402

SECONDS = {"short": 2.0, "report": 60.0, "show": 10.0, "trace": 10.0, "studio": 60.0, "page": 10.0}


@dataclass(frozen=True)
class Look:
    """One look at one system: the CPU seconds it took, its size, and what is wrong with it."""

    system: str
    look: str
    seconds: float
    bytes: int
    wrong: str = ""


class Walk:
    """All looks at one system, in turn."""

    def __init__(self, system: str, folder: Path, chromium: Any) -> None:
        self.system, self.chromium = system, chromium
        self.experiment = Experiment.start(
            system, run=folder / system, overrides=small(system), device="cpu", quiet=True
        )
        self.experiment.train()

    def looks(self) -> Iterator[Look]:
        yield self._timed("short", lambda: self._report(report_of_training(self.experiment)))
        yield self._timed("report", lambda: self._report(report(self.experiment.model, figures=4)))
        yield self._timed("show", lambda: (show_faults(self.experiment.model, self.experiment.run), 0))
        yield self._timed("trace", lambda: (trace_faults(self.experiment.model, self.experiment.run), 0))
        with regard.studio.start(self.experiment.run, browser=False, device="cpu") as started:
            client = Client(started)
            asking = Asking(client)
            yield self._timed("studio", lambda: (list(asking.faults()), asking.size))
            if self.chromium is not None:
                yield self._timed("page", lambda: (page_faults(self.chromium, started, asking), 0))
            client.close()

    def _report(self, found: Report) -> tuple[Iterator[str], int]:
        return report_faults(found), len(found.html().encode())

    def _timed(self, name: str, make: Callable[[], tuple[Iterable[str], int]]) -> Look:
        began, size = time.process_time(), 0
        try:
            faults, size = make()
            wrong = "; ".join(faults)
        except Exception as error:  # a look that fails is a result
            wrong = f"{type(error).__name__}: {error}"
        seconds = time.process_time() - began
        if not wrong and seconds > SECONDS[name]:
            wrong = f"{seconds:.1f} s, at most {SECONDS[name]:g}"
        return Look(self.system, name, round(seconds, 2), size, wrong)


def part(text: str) -> tuple[int, int]:
    """`2/4` as numbers."""
    number, _, of = text.partition("/")
    if not (number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(f"expected a part such as 2/4, received {text}")
    return int(number), int(of)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="SYSTEM", default=zoo.names())
    parser.add_argument(
        "--part", type=part, metavar="I/N", default=(1, 1), help="every N-th system, from the I-th"
    )
    given = parse(parser)
    number, of = given.part
    found: list[Look] = []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        os.environ["REGARD_CACHE"] = f"{folder}/cache"
        for system in given.only[number - 1 :: of]:
            for one in Walk(system, Path(folder), chromium).looks():
                found.append(one)
                print(
                    f"{one.system:28} {one.look:7} {one.seconds:6.2f} s {one.bytes / 1000:6.0f} kB  {one.wrong}",
                    flush=True,
                )
            shutil.rmtree(Path(folder) / system)
    Console().print(_slowest(found))
    wrong = [one for one in found if one.wrong]
    print(f"{len(found)} looks in {time.perf_counter() - began:.0f} s, {len(wrong)} with faults")
    write_json(given.json, {"looks": [asdict(one) for one in found], "versions": versions()})
    return 1 if wrong else 0


def _slowest(found: list[Look]) -> Table:
    """The look of each kind that took longest, and the largest."""
    table = Table(box=None, header_style="bold")
    for head in ("look", "systems", "median CPU s", "most", "system", "largest kB"):
        table.add_column(head, justify="left" if head in ("look", "system") else "right")
    for name in SECONDS:
        some = [one for one in found if one.look == name]
        if some:
            most = max(some, key=lambda one: one.seconds)
            middle = statistics.median(one.seconds for one in some)
            largest = max(one.bytes for one in some) / 1000
            table.add_row(
                name, str(len(some)), f"{middle:.2f}", f"{most.seconds:.2f}", most.system, f"{largest:.0f}"
            )
    return table


if __name__ == "__main__":
    sys.exit(main())
