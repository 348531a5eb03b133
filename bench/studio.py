"""How fast the studio opens and answers, whether it keeps its memory, and whether it serves ten tabs at once.

    python bench/studio.py                     a translation model of the zoo's size with drawn weights
    python bench/studio.py --json studio.json

The input has 50 words and the output 50; every edit sets one row of the attention and is answered with the new output,
what changed, and the figure. The server is a process of its own, as a user starts it. Exit status 1 if a bar is missed.
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

WORDS = 50
TABS, EACH = 10, 20
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

    def __init__(self, run: Path) -> None:
        began = time.perf_counter()
        words = [sys.executable, "-u", "-m", "regard", "studio", str(run), "--no-browser", "--device", "cpu"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        url = self.process.stdout.readline().strip()
        self.printed = time.perf_counter() - began
        self.client = httpx.Client(base_url=re.sub(r"\?.*", "", url), timeout=120)
        self.client.get(url)
        assert self.client.get("/").status_code == 200
        self.page = time.perf_counter() - began
        (about,) = self.client.get("/api/runs").json()["runs"]
        self.opened = time.perf_counter() - began
        self.name = about["name"]

    def edit(self, text: str, step: int, position: int) -> dict[str, Any]:
        edits = [{"edit": "pin", "step": step, "position": position}]
        asked = {"run": self.name, "inputs": {"source": text}, "edits": edits}
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


def made_run(folder: Path) -> tuple[Path, str]:
    """A translation model of the zoo's size that writes 50 words, and 50 words for it to read."""
    import torch

    from regard import zoo
    from regard.data.sources import open_splits
    from regard.model import build

    changes = ["data.world.train=400", "data.world.dev=4", "data.world.test=4"]
    changes += [f"search.min_length={WORDS}", f"search.max_length={WORDS}"]
    spec = zoo.find("translation", changes)
    rows = list(open_splits(spec)["train"])
    torch.manual_seed(1)
    build(spec, rows=rows).save(folder)
    words = [word for row in rows for word in row["source"].split()]
    return folder, " ".join(words[:WORDS])


def import_seconds() -> float:
    """Of `import torch`, the best of three."""
    found = []
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import torch"], check=True)
        found.append(time.perf_counter() - began)
    return min(found)


def edits(server: Server, text: str, count: int, seed: int) -> list[float]:
    """Milliseconds of edits of random rows."""
    draw, found = random.Random(seed), []
    for _ in range(count):
        began = time.perf_counter()
        server.edit(text, draw.randrange(WORDS), draw.randrange(WORDS))
        found.append(1000 * (time.perf_counter() - began))
    return found


def lost(server: Server, text: str) -> int:
    """Answers of ten tabs at once that are missing, or not those of their own edits."""
    places = [(number % 7, 3 * number % WORDS) for number in range(EACH)]
    alone = [server.edit(text, *place)["score"] for place in places]

    def tab(number: int) -> int:
        wrong = 0
        for step in range(EACH):
            place = (number + step) % EACH
            try:
                wrong += server.edit(text, *places[place])["score"] != alone[place]
            except (httpx.HTTPError, KeyError):
                wrong += 1
        return wrong

    with ThreadPoolExecutor(TABS) as pool:
        return sum(pool.map(tab, range(TABS)))


def measure(edited: int) -> list[Measured]:
    with tempfile.TemporaryDirectory() as place:
        run, text = made_run(Path(place) / "translation")
        importing = import_seconds()
        openings = []
        for _ in range(3):
            server = Server(run)
            openings.append((server.opened, server.page))
            if len(openings) < 3:
                server.stop()
        opened, page = min(openings)
        try:
            answer = server.edit(text, 0, 0)
            assert len(answer["pieces"]) >= WORDS, len(answer["pieces"])
            edits(server, text, 50, 0)
            times = edits(server, text, 300, 1)
            before = server.memory
            edits(server, text, edited, 2)
            grown = server.memory - before
            wrong = lost(server, text)
        finally:
            server.stop()
    times.sort()
    lines = [
        ("edit, median", statistics.median(times), "ms"),
        ("edit, 95 %", times[int(0.95 * len(times))], "ms"),
        ("import torch", importing, "s"),
        ("page served after", page, "s"),
        ("run described after", opened, "s"),
        ("opening over import torch", opened - importing, "s"),
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
