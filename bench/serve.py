"""A server under load: its rate, its latency, what it does with too much, how it ends, and what hostile input does.

    python bench/serve.py RUN                          10 minutes at twice the saturated rate
    python bench/serve.py RUN --minutes 1 --json serve.json

RUN is a trained model with one text as its input (`regard train translation -o runs/translation`). The server and the
generator of requests (bench/load_serve.py) are processes of their own. Exit status 1 if a bar is missed:

    batching           the saturated rate is at least 5 times that of one request at a time
    80 %               of the saturated rate, Poisson arrivals: the 99th percentile of the latency is at most 5 medians
    200 %              nobody waits past the deadline, the excess gets 429, the memory stays flat
    TERM               under load: every request that was sent is answered, and the process ends with 0
    clients            Triton's client gets the answers of `model.predict`; without the key it gets 401
    fuzz               thousands of mutated requests: no 500, no traceback, no hang
    workers            two processes answer as `model.predict`, count together, and end with 0 on a signal
    ray-serve          two replicas in Ray Serve answer as `model.predict`, the first request too (needs ray[serve])
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from written import parse, write_json

ROOT = Path(__file__).resolve().parents[1]
DEADLINE = 2.0
KEY = "bench-key"
BATCHING, SPREAD, GROWTH = 5.0, 5.0, 1.05
"""Bars: times the rate of one at a time, times the median, times the memory."""
PARTS = ("load", "clients", "fuzz", "workers", "ray-serve")
LONGEST = 10.0
"""Seconds until a fuzzed request counts as hung."""


class Server:
    """A server in a process of its own."""

    def __init__(self, run: Path, place: Path, *options: str, key: str = "") -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.log = place / f"server-{self.port}.txt"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        environment.pop("REGARD_API_KEY", None)
        if key:
            environment["REGARD_API_KEY"] = key
        words = [
            sys.executable,
            "-m",
            "regard",
            "serve",
            str(run),
            "--port",
            str(self.port),
            "--device",
            "cpu",
        ]
        with self.log.open("w") as log:
            self.process = subprocess.Popen([*words, *options], stdout=log, stderr=log, env=environment)
        end = time.monotonic() + 120
        while self.status("GET", "/v2/health/ready") != 200:
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"the server did not start:\n{self.log.read_text()}")
            time.sleep(0.1)

    def status(self, method: str, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request(method, path)
            return connection.getresponse().status
        except OSError:
            return 0
        finally:
            connection.close()

    def counts(self) -> str:
        """What Prometheus would read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    @property
    def memory(self) -> float:
        """Resident megabytes."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return 0.0

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@contextlib.contextmanager
def serving(run: Path, place: Path, *options: str, key: str = "") -> Iterator[Server]:
    server = Server(run, place, *options, key=key)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait()


def load(server: Server, texts: Path, **options: Any) -> subprocess.Popen[str]:
    """Start the generator."""
    words = [
        sys.executable,
        str(ROOT / "bench" / "load_serve.py"),
        "--port",
        str(server.port),
        "--texts",
        str(texts),
    ]
    words += ["--timeout", str(DEADLINE)]
    for name, value in options.items():
        words += [f"--{name}", str(value)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def finished(generator: subprocess.Popen[str]) -> dict[str, Any]:
    content, _ = generator.communicate()
    if generator.returncode:
        raise SystemExit("the generator failed.")
    found: dict[str, Any] = json.loads(content)
    return found


def measure_load(run: Path, place: Path, texts: Path, minutes: float, seconds: float) -> list[dict[str, Any]]:
    """The rates, the latencies, the memory, and the end of a server."""
    found = []
    with serving(run, place, "--timeout", str(DEADLINE)) as server:
        finished(load(server, texts, clients=16, seconds=2))  # kernels of all sizes are compiled
        alone = finished(load(server, texts, clients=1, seconds=seconds))
        full = finished(load(server, texts, clients=192, seconds=seconds))
        alone_again = finished(load(server, texts, clients=1, seconds=seconds))
        full_again = finished(load(server, texts, clients=192, seconds=seconds))
        one, rate = max(alone["rate"], alone_again["rate"]), (full["rate"] + full_again["rate"]) / 2
        told = f"{one:.0f} → {rate:.0f} a second"
        found.append(row("batching", rate / one, f"≥ {BATCHING:g} ×", rate >= BATCHING * one, told))

        some = finished(load(server, texts, rate=0.8 * rate, seconds=3 * seconds))
        spread = some["p99"] / some["median"]
        told = f"median {some['median']:.0f} ms, p99 {some['p99']:.0f} ms, {some['statuses']}"
        found.append(row("80 %", spread, f"≤ {SPREAD:g} medians", spread <= SPREAD, told))

        finished(load(server, texts, rate=2 * rate, seconds=seconds))  # connections and buffers are made
        sampled: list[tuple[float, float]] = []
        generator = load(server, texts, rate=2 * rate, seconds=60 * minutes)
        while generator.poll() is None:
            sampled.append((time.monotonic(), server.memory))
            time.sleep(0.5)
        many = finished(generator)
        told = f"longest {many['longest']:.0f} ms, {many['statuses']}, {many['rate']:.0f} a second"
        if "idle before lost" in many:
            told += f", lost after {many['idle before lost']} seconds without a request"
        fine = many["longest"] <= 1000 * DEADLINE and set(many["statuses"]) == {"200", "429"}
        found.append(row("200 %", many["longest"], f"≤ {1000 * DEADLINE:.0f} ms, 429", fine, told))
        third = max(1, len(sampled) // 3)
        before, after = (
            sorted(one for _, one in part)[len(part) // 2] for part in (sampled[:third], sampled[-third:])
        )
        told = f"{before:.0f} → {after:.0f} MB in {minutes:g} minutes"
        found.append(row("memory", after / before, f"≤ {GROWTH:g} ×", after <= GROWTH * before, told))

        generator = load(server, texts, rate=rate, seconds=30)
        time.sleep(3)
        status = server.stop()
        ended = finished(generator)
        lost = sum(ended["statuses"].get(name, 0) for name in ("lost", "refused"))
        fine = lost == 0 and status == 0 and "200" in ended["statuses"]
        told = f"{ended['sent']} sent, {ended['statuses']}, exit {status}"
        found.append(row("TERM", lost, "0 unanswered", fine, told))
        log = server.log.read_text()
        found.append(row("tracebacks", log.count("Traceback"), "0", "Traceback" not in log, ""))
    return found


def measure_clients(run: Path, place: Path, lines: list[str]) -> list[dict[str, Any]]:
    """Triton's client against `model.predict`."""
    import numpy as np
    import tritonclient.http as triton
    from tritonclient.utils import InferenceServerException

    import regard

    model = regard.load(run, device="cpu")
    name, (source,), (target,) = run.name, model.spec.inputs, model.spec.outputs
    asked = lines[:64]
    truth = model.predict(asked)
    with serving(run, place, key=KEY) as server:
        client = triton.InferenceServerClient(f"127.0.0.1:{server.port}")
        given = triton.InferInput(source, [len(asked)], "BYTES")
        given.set_data_from_numpy(np.array(asked, dtype=object))
        wanted = [target, f"{target}.score", f"{target}.attention.{source}"]
        outputs = [triton.InferRequestedOutput(one) for one in wanted]
        headers = {"authorization": f"Bearer {KEY}"}
        answer = client.infer(name, [given], outputs=outputs, headers=headers)
        texts, scores, looks = (answer.as_numpy(one) for one in wanted)
        same = sum(text.decode() == one.text for text, one in zip(texts, truth, strict=True))
        apart = max(
            max(
                abs(float(score) - one.score) / max(1.0, abs(one.score)),
                float(
                    np.abs(
                        look[: len(one.trace.output), : len(one.trace.input[source])]
                        - one.trace.attention[source]
                    ).max()
                ),
            )
            for score, look, one in zip(scores, looks, truth, strict=True)
        )
        try:
            client.infer(name, [given], outputs=outputs)
            refused = "answered"
        except InferenceServerException as error:
            refused = str(error.status())
        ready = client.is_server_ready(headers=headers) and client.is_model_ready(name, headers=headers)
        server.stop()
    fine = same == len(asked) and apart <= 1e-5 and ready
    told = f"{same} of {len(asked)} texts equal, numbers to {apart:.1e}"
    return [
        row("Triton's client", apart, "≤ 1e-5, same texts", fine, told),
        row("no key", 0, "401", "401" in refused, refused),
    ]


def measure_fuzz(run: Path, place: Path, lines: list[str], cases: int, seed: int) -> list[dict[str, Any]]:
    """Mutated requests; each must be answered, and none with 500."""
    sys.path.insert(0, str(ROOT))
    from tests.serve.hostile import answer_to, hostile_requests

    counts: Counter[str] = Counter()
    examples: list[str] = []
    with serving(run, place, "--max-length", "2000") as server:
        for case in hostile_requests(run.name, lines, cases, random.Random(seed)):
            status = answer_to(server.port, case, LONGEST)
            counts[status] += 1
            if status in ("500", "hung"):
                examples.append(f"{status}: {case[:300]!r}")
        alive = server.status("GET", "/v2/health/ready") == 200
        server.stop()
        log = server.log.read_text()
    bad = counts["500"] + counts["hung"] + log.count("Traceback") + (not alive)
    for example in examples[:10]:
        print(example)
    return [row("fuzz", bad, "no 500, hang or traceback", bad == 0, f"{cases:,} cases, {dict(counts)}")]


def measure_workers(run: Path, place: Path, lines: list[str]) -> list[dict[str, Any]]:
    """Two processes on one port, which share their counts."""
    import regard

    asked = lines[:20]
    truth = regard.load(run, device="cpu").predict(asked, trace=False)
    with serving(run, place, "--workers", "2") as server:
        same = sum(
            post(server.port, {"text": text})[1]["answers"][0]["text"] == one.text
            for text, one in zip(asked, truth, strict=True)
        )
        counted = f'regard_requests_total{{route="/predict",status="200"}} {len(asked)}.0' in server.counts()
        status = server.stop()
    fine = same == len(asked) and counted and status == 0
    return [
        row(
            "workers",
            same,
            f"{len(asked)} equal, exit 0",
            fine,
            f"counted together: {counted}, exit {status}",
        )
    ]


def measure_ray_serve(run: Path, lines: list[str]) -> list[dict[str, Any]]:
    """Replicas in a cluster on this machine, asked over HTTP as soon as Ray says that they are ready."""
    try:
        import ray
        from ray import serve
    except ImportError as error:
        print(f"ray-serve: skipped, {error}. Install it:  pip install 'ray[serve]'")
        return []
    import regard

    asked = lines[:40]
    truth = regard.load(run, device="cpu").predict(asked, trace=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        ray.init(
            address="local", num_cpus=2, include_dashboard=False, object_store_memory=100 << 20,
            log_to_driver=False, logging_level="ERROR", _node_ip_address="127.0.0.1", _temp_dir=folder,
        )  # fmt: skip
        try:
            began = time.monotonic()
            serve.start(http_options={"host": "127.0.0.1", "port": port})
            app = regard.serve.app(run, device="cpu", load_first=True)
            served = serve.deployment(num_replicas=2)(serve.ingress(app)(type("Served", (), {})))
            serve.run(served.bind())
            seconds = time.monotonic() - began
            statuses: Counter[int] = Counter()
            same = 0
            for text, one in zip(asked, truth, strict=True):
                status, content = post(port, {"text": text})
                statuses[status] += 1
                same += status == 200 and content["answers"][0]["text"] == one.text
        finally:
            serve.shutdown()
            ray.shutdown()
    told = f"{dict(statuses)}, ready after {seconds:.0f} s"
    return [row("ray-serve", same, f"{len(asked)} equal", same == len(asked), told)]


def post(port: int, content: dict[str, Any]) -> tuple[int, Any]:
    """The status of a POST of /predict and its answer, on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("POST", "/predict", json.dumps(content), {"content-type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def row(name: str, value: float, bar: str, fine: bool, told: str) -> dict[str, Any]:
    print(f"{name:16}{value:>12.4g}   {bar:28}{'ok' if fine else 'MISSED':8}{told}", flush=True)
    return {"name": name, "value": value, "bar": bar, "fine": bool(fine), "told": told}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of a trained model with one text as its input")
    parser.add_argument("--minutes", type=float, default=10.0, help="minutes at twice the saturated rate")
    parser.add_argument("--seconds", type=float, default=5.0, help="seconds of each other measurement")
    parser.add_argument("--cases", type=int, default=2000, help="mutated requests")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--only", action="append", choices=PARTS, help="only this part")
    options = parse(parser)
    import regard
    from regard.evaluation import open_dataset

    model = regard.load(options.run, device="cpu")
    (source,) = model.spec.inputs
    rows = open_dataset(model, (), ["test"])
    lines = [rows.raw(number)[source] for number in range(min(1000, len(rows)))]
    del model
    wanted = options.only or PARTS
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        texts = place / "texts.txt"
        texts.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        if "clients" in wanted:
            found += measure_clients(options.run, place, lines)
        if "fuzz" in wanted:
            found += measure_fuzz(options.run, place, lines, options.cases, options.seed)
        if "workers" in wanted:
            found += measure_workers(options.run, place, lines)
        if "ray-serve" in wanted:
            found += measure_ray_serve(options.run, lines)
        if "load" in wanted:
            found += measure_load(options.run, place, texts, options.minutes, options.seconds)
    write_json(options.json, {"minutes": options.minutes, "rows": found})
    return 0 if all(one["fine"] for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
