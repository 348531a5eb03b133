"""Many rows: two Ray workers beside one, a worker killed with -9, memory, and the same answers as `predict`.

    python bench/shards.py                          200,000 rows of Parquet in an S3-compatible store, with runs/g2p
    python bench/shards.py --run RUN --rows 20000   another model, fewer rows
    python bench/shards.py memory                   only the memory of `regard predict RUN -f FILE`
    python bench/shards.py rate --set search.method=greedy
    python bench/shards.py resume pipeline --rows 5000   a killed `regard predict` goes on; the predictor in Ray Data

The store is moto's server on 127.0.0.1; the cluster is Ray's on this machine. Each worker has one torch thread. A rate
counts from the first quarter of the rows on, so that the start of Ray and of the workers is not in it.
Memory is the resident set of each process, sampled five times a second: its growth after the first fifth, for a
million rows. Needs an idle machine with two cores. Exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import logging
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from written import parse, write_json

FASTER, GROWTH = 1.7, 100.0
"""Least ratio of two workers to one; most MB that a million rows add."""
BUCKET, FILES = "rows", 4
PART_ROWS = 2048


class Memory:
    """The resident memory of this process's descendants, sampled by rows."""

    def __init__(self, root: int) -> None:
        self.root, self.rows = root, 0
        self.samples: dict[int, list[tuple[int, float]]] = defaultdict(list)
        self.names: dict[int, str] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(0.2):
            for pid in [self.root, *below(self.root)]:
                try:
                    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
                    self.names[pid] = name_of(pid)
                except OSError:
                    continue
                self.samples[pid].append((self.rows, pages * 4096 / 1e6))

    def growth(self, pid: int, total: int) -> float | None:
        """MB for each million rows after the first fifth: the slope between the medians of two halves."""
        later = [(rows, size) for rows, size in self.samples[pid] if total / 5 <= rows < total]
        if len(later) < 20:
            return None
        half = len(later) // 2
        (row_a, size_a), (row_b, size_b) = (middle(some) for some in (later[:half], later[half:]))
        return max(0.0, (size_b - size_a) / max(row_b - row_a, 1) * 1e6)


def middle(samples: list[tuple[int, float]]) -> tuple[float, float]:
    rows, sizes = zip(*samples, strict=True)
    return sum(rows) / len(rows), sorted(sizes)[len(sizes) // 2]


def below(root: int) -> list[int]:
    """The processes that descend from a process."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
    found, more = [], [root]
    while more:
        more = [pid for pid, parent in parents.items() if parent in more]
        found += more
    return found


def name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")


def workers_of(root: int) -> list[int]:
    """The actors that answer."""
    return [pid for pid in below(root) if name_of(pid).startswith("ray::MapWorker")]


def make_rows(count: int) -> list[str]:
    """Words of letters as they follow each other in English words."""
    letters, generator = "etaoinshrdlucmfwypvbgkjqxz", random.Random(0)
    weights = [1 / (place + 3) for place in range(26)]
    return ["".join(generator.choices(letters, weights, k=generator.randint(3, 12))) for _ in range(count)]


@contextmanager
def store(folder: Path, field: str, words: list[str]) -> Iterator[str]:
    """The words as Parquet files in an S3-compatible store on this machine; gives their pattern."""
    import boto3
    import pyarrow
    from moto.server import ThreadedMotoServer
    from pyarrow import parquet

    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        os.environ.pop(name, None)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    port = server._server.server_port
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    client = boto3.client("s3")
    client.create_bucket(Bucket=BUCKET)
    size = -(-len(words) // FILES)
    for number in range(FILES):
        path = folder / f"rows-{number}.parquet"
        parquet.write_table(pyarrow.table({field: words[number * size : (number + 1) * size]}), path)
        client.upload_file(str(path), BUCKET, path.name)
    try:
        yield f"s3://{BUCKET}/*.parquet"
    finally:
        server.stop()


def answered(
    run: str, pattern: str, out: Path, workers: int, changes: list[str], seen: Callable[[int, float], None]
) -> None:
    from regard.shards import predict_files

    total = 0

    def progress(rows: int) -> None:
        nonlocal total
        total += rows
        seen(total, time.monotonic())

    predict_files(
        run, [pattern], out, engine="ray", workers=workers, part_rows=PART_ROWS, threads=1, device="cpu",
        overrides=changes, progress=progress,
    )  # fmt: skip


def rate(times: list[tuple[int, float]]) -> float:
    start = next(place for place, (rows, _) in enumerate(times) if rows >= times[-1][0] / 4)
    (first, begun), (last, ended) = times[start], times[-1]
    return (last - first) / max(ended - begun, 1e-9)


def same(out: Path, truth: Path) -> bool:
    """Whether the parts in order are the file, byte by byte."""
    whole = out.with_suffix(".jsonl")
    with whole.open("wb") as file:
        for part in sorted(out.glob("part-*.jsonl")):
            file.write(part.read_bytes())
    return filecmp.cmp(whole, truth, shallow=False)


def plain(run: str, words: Path, truth: Path, changes: list[str]) -> tuple[float, float | None]:
    """`regard predict RUN -f FILE`: the seconds, and its growth of memory for a million rows."""
    command = [sys.executable, "-m", "regard", "predict", run, "-f", str(words), f"--json={truth}"]
    command += ["--device", "cpu", "--overwrite", *(one for change in changes for one in ("--set", change))]
    begun = time.monotonic()
    process = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.DEVNULL)
    total = sum(1 for _ in words.open("rb"))
    with Memory(process.pid) as memory:
        while process.poll() is None:
            memory.rows = _lines_written(truth)
            time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: status {process.returncode}")
    return time.monotonic() - begun, memory.growth(process.pid, total)


def _lines_written(path: Path) -> int:
    """Lines in the temporary file that becomes `path`."""
    some = list(path.parent.glob(f".{path.name}.*.regard-tmp"))
    try:
        return sum(chunk.count(b"\n") for chunk in iter_chunks(some[0])) if some else 0
    except OSError:
        return 0


def iter_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            yield chunk


def rates(run: str, pattern: str, folder: Path, changes: list[str], rows: int) -> dict[str, Any]:
    """One worker, then two: their rates, and the growth of every process for a million rows."""
    made: dict[str, Any] = {}
    for workers in (1, 2):
        times: list[tuple[int, float]] = []
        with Memory(os.getpid()) as memory:

            def seen(total: int, now: float, memory: Memory = memory, times: Any = times) -> None:
                memory.rows = total
                times.append((total, now))

            answered(run, pattern, folder / f"of-{workers}", workers, changes, seen)
        made[f"growth_{workers}"] = grown(memory, rows)
        made[f"rate_{workers}"] = rate(times)
    made["ratio"] = made["rate_2"] / made["rate_1"]
    made["growth"] = max([*made["growth_1"].values(), *made["growth_2"].values()], default=None)
    return made


def grown(memory: Memory, rows: int) -> dict[str, float]:
    """The growth of the driver and of every worker."""
    names = {pid: memory.names.get(pid, "") for pid in list(memory.samples)}
    ours = [pid for pid, name in names.items() if pid == os.getpid() or name.startswith("ray::Map")]
    found = {
        f"{'driver' if pid == os.getpid() else names[pid]} {pid}": memory.growth(pid, rows) for pid in ours
    }
    return {name: growth for name, growth in found.items() if growth is not None}


def killed(run: str, pattern: str, out: Path, changes: list[str], rows: int) -> int:
    """Two workers, of which one is killed after a third of the rows; how many were."""
    dead: list[int] = []

    def kill(total: int, now: float) -> None:
        if not dead and total >= rows // 3:
            dead.append(workers_of(os.getpid())[0])
            os.kill(dead[0], signal.SIGKILL)

    answered(run, pattern, out, 2, changes, kill)
    return len(dead)


def resumed(run: str, words: Path, out: Path, changes: list[str], rows: int) -> tuple[int, int]:
    """`regard predict RUN -f FILE -o OUT/`, killed after two parts and typed again: parts that were not whole after the
    kill, and rows that the second process did not compute."""
    command = [
        sys.executable,
        "-m",
        "regard",
        "predict",
        run,
        "-f",
        str(words),
        "-o",
        f"{out}/",
        "--device",
        "cpu",
    ]
    command += [
        "--part-rows",
        str(max(1, rows // 20)),
        *(one for change in changes for one in ("--set", change)),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    while len(list((out / "manifest").glob("part-*"))) < 2 and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    halves = 0
    for part in out.glob("part-*.jsonl"):
        lines = part.read_text(encoding="utf-8").splitlines()
        halves += len(lines) != max(1, rows // 20) or not all(json.loads(line)["input"] for line in lines)
    done = subprocess.run(command, env=environment, text=True, capture_output=True, check=True)
    before = re.search(r"([\d,]+) (?:of them )?(?:were )?answered before", done.stderr)
    return halves, int(before[1].replace(",", "")) if before else 0


def pipeline(run: str, field: str, words: list[str], folder: Path) -> tuple[int, bool]:
    """The predictor in a pipeline of Ray Data: answers that differ from its own; and whether the error of a worker is
    the line that one process prints."""
    import ray.data

    from regard.errors import RegardError
    from regard.shards import BatchPredictor, predict_files

    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    some = words[:200]
    rows = ray.data.from_items([{field: word, "place": place} for place, word in enumerate(some)])
    answered = rows.map_batches(
        BatchPredictor, fn_constructor_args=[run], fn_constructor_kwargs={"device": "cpu"}, concurrency=1
    )
    found = sorted(answered.take_all(), key=lambda row: row["place"])
    ray.shutdown()
    truth = BatchPredictor(run, device="cpu")({field: some})
    differ = sum(one["text"] != text for one, text in zip(found, truth["text"], strict=True))
    bad = folder / "bad.parquet"
    bad.write_text("no table")
    told = []
    for engine in ("plain", "ray"):
        try:
            predict_files(run, [str(bad)], folder / f"bad-{engine}", engine=engine, device="cpu")
        except RegardError as error:
            told.append(str(error))
    return differ, len(told) == 2 and told[0] == told[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", help="some of memory, rate, kill, resume, pipeline; default: all")
    parser.add_argument("--run", default="runs/g2p", help="a trained model with one text as its input")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change the search")
    given = parse(parser)
    what = given.what or ["memory", "rate", "kill", "resume", "pipeline"]
    from regard.model.loading import read_spec

    (name, column), *_ = read_spec(Path(given.run)).inputs.items()
    found: dict[str, Any] = {"rows": given.rows, "run": given.run, "set": given.set}
    bars: list[tuple[str, Any, bool, str]] = []

    def bar(about: str, value: Any, met: bool = True, limit: str = "") -> None:
        bars.append((about, value, met, limit))

    with tempfile.TemporaryDirectory(prefix="regard-shards-") as temporary:
        folder = Path(temporary)
        os.environ["REGARD_CACHE"] = str(folder / "cache")
        words, truth = make_rows(given.rows), folder / "truth.jsonl"
        (folder / "words.txt").write_text("\n".join(words) + "\n")
        if {"memory", "kill", "resume"} & set(what):
            seconds, growth = plain(given.run, folder / "words.txt", truth, given.set)
            found |= {"plain_rate": given.rows / seconds, "plain_growth": growth}
            if "memory" in what:
                bar("predict: rows/s, with its start", found["plain_rate"])
                fine = growth is not None and growth <= GROWTH
                bar("predict: MB for a million rows", growth, fine, f"≤ {GROWTH:g}")
        if "resume" in what:
            halves, before = resumed(given.run, folder / "words.txt", folder / "again", given.set, given.rows)
            found |= {"halves": halves, "before": before}
            bar("killed predict: parts that are not whole", halves, halves == 0, "= 0")
            bar("typed again: rows answered before", before, 0 < before < given.rows, "some")
        with store(folder, column.field or name, words) as pattern:
            if "rate" in what:
                found |= rates(given.run, pattern, folder, given.set, given.rows)
                growth = found["growth"]
                bar("one worker: rows/s", found["rate_1"])
                bar("two workers: rows/s", found["rate_2"])
                bar("two workers / one", found["ratio"], found["ratio"] >= FASTER, f"≥ {FASTER:g}")
                bar("driver, workers: MB for a million rows", growth, growth is not None and growth <= GROWTH, f"≤ {GROWTH:g}")  # fmt: skip  # noqa: E501
            if "kill" in what:
                found["killed"] = killed(given.run, pattern, folder / "killed", given.set, given.rows)
                bar("workers killed", found["killed"], found["killed"] == 1, "= 1")
            if "pipeline" in what:
                differ, told = pipeline(given.run, column.field or name, words, folder)
                found |= {"pipeline_differ": differ, "error_told": told}
                bar("Ray Data: answers that differ", differ, differ == 0, "= 0")
                bar("the error of a worker, in one line", told, told)
            for out in (folder / "of-1", folder / "of-2", folder / "killed", folder / "again"):
                if out.exists() and truth.exists():
                    found[f"same_{out.name}"] = equal = same(out, truth)
                    bar(f"{out.name}: the bytes of predict", equal, equal)
    os.environ.pop("REGARD_CACHE")  # it was in the folder that is gone
    print(f"{given.rows:,} rows, {given.run}")
    for about, value, met, limit in bars:
        shown = f"{value:,.2f}" if isinstance(value, float) else str(value)
        print(f"{about:40} {shown:>12}  {limit:6} {'' if met else 'missed'}")
    write_json(given.json, found)
    sys.exit(not all(met for _, _, met, _ in bars))


if __name__ == "__main__":
    main()
