"""How fast the studio opens and answers, whether it keeps its memory, and whether it serves ten tabs at once.

    python bench/studio.py                     a translation model of the zoo's size with drawn weights
    python bench/studio.py --json studio.json

The input has 50 words and the output 50; every edit sets one row of the attention and is answered with the new output,
what changed, and the figure. Memory and ten tabs are measured with the same model on eight words, because they take
many edits. The server is a process of its own, as a user starts it. Exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
from written import parse, write_json

WORDS, FEW = 50, 8
TABS, EACH = 10, 8
TIMED = 60
BARS = {
    "edit, median": 150.0,
    "edit, 95 %": 150.0,
    "opening over import torch": 2.0,
    "memory after 1,000 edits": 10.0,
    "answers lost of ten tabs": 0.0,
}


@dataclass(frozen=True)
class Measured:
    """One line of the table."""

    what: str
    value: float
    unit: str
    bar: float | None

    @property
    def passed(self) -> bool:
        return self.bar is None or self.value <= self.bar


class Server:
    """`regard studio` as a process, and a client with its cookie."""

    def __init__(self, *runs: Path) -> None:
        began = time.perf_counter()
        words = [
            sys.executable,
            "-u",
            "-m",
            "regard",
            "studio",
            *map(str, runs),
            "--no-browser",
            "--device",
            "cpu",
        ]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        url = self.process.stdout.readline().strip()
        self.printed = time.perf_counter() - began
        self.client = httpx.Client(base_url=re.sub(r"\?.*", "", url), timeout=120)
        self.client.get(url)
        assert self.client.get("/").status_code == 200
        self.page = time.perf_counter() - began
        known = {one["name"] for one in self.client.get("/api/runs").json()["runs"]}
        self.opened = time.perf_counter() - began
        assert known == {run.name for run in runs}

    def edit(self, run: str, text: str, step: int, position: int) -> dict[str, Any]:
        edits = [{"edit": "pin", "step": step, "position": position}]
        asked = {"run": run, "inputs": {"source": text}, "edits": edits}
        answer = self.client.post("/api/look", json=asked, headers={"x-regard": "1"})
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    @property
    def memory(self) -> float:
        """Resident memory in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        assert found is not None
        return int(found[1]) / 1024

    def stop(self) -> None:
        self.client.close()
        self.process.terminate()
        self.process.wait(20)


def made_runs(folder: Path) -> tuple[Path, Path, list[str]]:
    """Translation models of the zoo's size that write 50 words and 8, and 50 words for them to read."""
    import torch

    from regard import zoo
    from regard.data.sources import open_splits
    from regard.model import build

    found = []
    for name, words in (("translation", WORDS), ("short", FEW)):
        changes = ["data.world.train=400", "data.world.dev=4", "data.world.test=4"]
        changes += [f"search.min_length={words}", f"search.max_length={words}"]
        spec = zoo.find("translation", changes)
        rows = list(open_splits(spec)["train"])
        torch.manual_seed(1)
        build(spec, rows=rows).save(folder / name)
        found.append(folder / name)
    read = [word for row in rows for word in row["source"].split()]
    return found[0], found[1], read[:WORDS]


def import_seconds() -> float:
    """Of `import torch`, the better of two."""
    found = []
    for _ in range(2):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import torch"], check=True)
        found.append(time.perf_counter() - began)
    return min(found)


def edits(server: Server, run: str, text: str, count: int, seed: int) -> list[float]:
    """Milliseconds of edits of random rows."""
    draw, found, most = random.Random(seed), [], len(text.split())
    for _ in range(count):
        began = time.perf_counter()
        server.edit(run, text, draw.randrange(most), draw.randrange(most))
        found.append(1000 * (time.perf_counter() - began))
    return found


def lost(server: Server, run: str, text: str) -> int:
    """Answers of ten tabs at once that are missing, or not those of their own edits."""
    places = [(number % 7, 3 * number % FEW) for number in range(EACH)]
    alone = [server.edit(run, text, *place)["score"] for place in places]

    def tab(number: int) -> int:
        wrong = 0
        for step in range(EACH):
            place = (number + step) % EACH
            try:
                wrong += server.edit(run, text, *places[place])["score"] != alone[place]
            except (httpx.HTTPError, KeyError):
                wrong += 1
        return wrong

    with ThreadPoolExecutor(TABS) as pool:
        return sum(pool.map(tab, range(TABS)))


def measure(edited: int) -> list[Measured]:
    with tempfile.TemporaryDirectory() as place:
        run, short, words = made_runs(Path(place))
        text, brief = " ".join(words), " ".join(words[:FEW])
        importing = import_seconds()
        first = Server(run)
        first.stop()
        server = Server(run, short)
        try:
            answer = server.edit(run.name, text, 0, 0)
            assert len(answer["pieces"]) >= WORDS, len(answer["pieces"])
            edits(server, run.name, text, 10, 0)
            times = sorted(edits(server, run.name, text, TIMED, 1))
            inner = statistics.median(
                server.edit(run.name, text, number, number + 1)["ms"] for number in range(20)
            )
            edits(server, short.name, brief, edited // 5, 2)
            before = server.memory
            edits(server, short.name, brief, edited, 3)
            grown = server.memory - before
            wrong = lost(server, short.name, brief)
        finally:
            server.stop()
    lines = [
        ("edit, median", statistics.median(times), "ms"),
        ("edit, 95 %", times[int(0.95 * len(times))], "ms"),
        ("of it, in the server", inner, "ms"),
        ("import torch", importing, "s"),
        ("page served after", first.page, "s"),
        ("run described after", first.opened, "s"),
        ("opening over import torch", first.opened - importing, "s"),
        ("memory after 1,000 edits", grown, "MB more"),
        ("answers lost of ten tabs", float(wrong), f"of {TABS * EACH}"),
    ]
    return [Measured(what, value, unit, BARS.get(what)) for what, value, unit in lines]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edits", type=int, default=1000, help="number of edits for the memory")
    options = parse(parser)
    found = measure(options.edits)
    for one in found:
        bar = "" if one.bar is None else f"{'ok' if one.passed else 'MISSED'} (bar {one.bar:g})"
        print(f"{one.what:28}{one.value:10.2f} {one.unit:10}{bar}")
    write_json(options.json, {"measured": [asdict(one) | {"passed": one.passed} for one in found]})
    sys.exit(0 if all(one.passed for one in found) else 1)


if __name__ == "__main__":
    main()
