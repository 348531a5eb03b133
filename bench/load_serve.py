"""A load generator for `regard serve`, in a process of its own: requests at Poisson times, or one after the other.

    python bench/load_serve.py --port 8000 --texts texts.txt --rate 300 --seconds 10        open loop
    python bench/load_serve.py --port 8000 --texts texts.txt --clients 64 --seconds 10      closed loop

In an open loop a request is sent at its time, whether or not earlier ones were answered, and its latency is counted
from that time. Prints JSON: how many of each status, latencies of the answers in milliseconds, requests per second.
Connections are kept and used again, as by a proxy. It speaks HTTP itself, to take little of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from typing import Any

REFUSED, LOST = "refused", "lost"
"""No connection was made; a connection was closed without an answer."""
IDLE = 60.0
"""Seconds after which an idle connection is not used again. A server closes such connections too, regard's after 75:
what is sent at that moment is lost, and no server can know of it. So clients and proxies give them up earlier."""


class Connection(asyncio.Protocol):
    """One connection, with at most one request at a time."""

    def __init__(self, load: Load) -> None:
        self.load, self.buffer, self.wanted = load, b"", -1
        self.began: float | None = None
        self.rested = time.perf_counter()
        self.idle = 0.0
        self.transport: Any = None
        self.body, self.status, self.closing = 0, 0, False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def send(self, content: bytes, began: float) -> None:
        self.began, self.wanted, self.buffer = began, -1, b""
        self.idle = time.perf_counter() - self.rested
        self.transport.write(content)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.wanted < 0:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.buffer[:end].lower()
            self.status = int(head[9:12])
            place = head.find(b"content-length: ")
            self.body = int(head[place + 16 :].partition(b"\r")[0]) if place >= 0 else 0
            self.closing, self.wanted = b"connection: close" in head, end + 4 + self.body
        if len(self.buffer) >= self.wanted and self.began is not None:
            began, self.began = self.began, None
            self.rested = time.perf_counter()
            self.load.answered(str(self.status), began, self)

    def connection_lost(self, error: Exception | None) -> None:
        self.closing = True
        if self.began is not None:
            began, self.began = self.began, None
            self.load.lost.append(self.idle)
            self.load.answered(LOST, began, None)


class Load:
    """The requests of one measurement."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.random = given, random.Random(given.seed)
        with open(given.texts, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.requests = [self._request(line) for line in lines]
        self.counts: Counter[str] = Counter()
        self.latencies: dict[str, list[float]] = {}
        self.idle: list[Connection] = []
        self.lost: list[float] = []
        self.open, self.sent, self.ending = 0, 0, False
        self.late: list[float] = []
        self.waiting: set[asyncio.Task[None]] = set()
        self.ended = asyncio.Event()

    def _request(self, line: str) -> bytes:
        body = json.dumps({"text": line, "timeout": self.given.timeout}).encode()
        key = f"authorization: Bearer {self.given.key}\r\n" if self.given.key else ""
        head = f"POST /predict HTTP/1.1\r\nhost: x\r\n{key}content-type: application/json\r\n"
        return head.encode() + f"content-length: {len(body)}\r\n\r\n".encode() + body

    def answered(self, status: str, began: float, connection: Connection | None) -> None:
        self.counts[status] += 1
        self.latencies.setdefault(status, []).append(time.perf_counter() - began)
        self.open -= 1
        if status == "503":
            self.ending = True  # a proxy would send nothing more to this server
        if connection is not None and connection.closing:
            connection.transport.close()
        elif connection is not None:
            self.idle.append(connection)
        if self.open == 0:
            self.ended.set()

    async def one(self, began: float) -> None:
        """Send a request on a connection that is idle, or on a new one."""
        self.open, self.sent = self.open + 1, self.sent + 1
        self.ended.clear()
        content = self.requests[self.random.randrange(len(self.requests))]
        while self.idle:
            connection = self.idle.pop()
            if connection.closing or connection.transport.is_closing():
                continue
            if time.perf_counter() - connection.rested < self.given.idle:
                connection.send(content, began)
                return
            connection.transport.close()
        try:
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: Connection(self), "127.0.0.1", self.given.port
            )
        except OSError:
            self.answered(REFUSED, began, None)
            return
        connection.send(content, began)

    async def opened(self) -> None:
        """Poisson arrivals."""
        began = time.perf_counter()
        due, end = began, began + self.given.seconds
        while not self.ending:
            due += self.random.expovariate(self.given.rate)
            if due > end:
                break
            wait = due - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            self.late.append(max(0.0, time.perf_counter() - due))
            if self.idle:
                await self.one(due)
            else:
                task = asyncio.ensure_future(self.one(due))
                self.waiting.add(task)
                task.add_done_callback(self.waiting.discard)

    async def client(self) -> None:
        """One client of a closed loop, which sends when it was answered."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.given.port)
        end = self.started + self.given.seconds
        try:
            while time.perf_counter() < end:
                began = time.perf_counter()
                writer.write(self.requests[self.random.randrange(len(self.requests))])
                head = await reader.readuntil(b"\r\n\r\n")
                place = head.find(b"content-length: ")
                await reader.readexactly(int(head[place + 16 :].partition(b"\r")[0]))
                status = head[9:12].decode()
                self.counts[status] += 1
                self.latencies.setdefault(status, []).append(time.perf_counter() - began)
        finally:
            writer.close()

    async def run(self) -> dict[str, Any]:
        self.started = time.perf_counter()
        if self.given.clients:
            await asyncio.gather(*(self.client() for _ in range(self.given.clients)))
        else:
            await self.opened()
            while self.waiting:
                await asyncio.sleep(0.01)
            if self.open:
                await asyncio.wait_for(self.ended.wait(), self.given.timeout + 30)
        return self.summary(time.perf_counter() - self.started)

    def summary(self, seconds: float) -> dict[str, Any]:
        fine = sorted(self.latencies.get("200", []))
        every = [one for several in self.latencies.values() for one in several]
        found: dict[str, Any] = {
            "sent": sum(self.counts.values()),
            "statuses": dict(self.counts),
            "seconds": seconds,
            "rate": len(fine) / min(seconds, self.given.seconds) if fine else 0.0,
            "longest": 1000 * max(every, default=0.0),
        }
        if fine:
            marks = {"median": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
            found |= {
                name: 1000 * fine[min(len(fine) - 1, int(share * len(fine)))] for name, share in marks.items()
            }
        if self.lost:
            found["idle before lost"] = [round(one, 3) for one in sorted(self.lost)]
        if self.late:
            late = sorted(self.late)
            found["late p99"] = 1000 * late[int(0.99 * len(late))]
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--texts", required=True, help="a file with one text per line")
    parser.add_argument("--rate", type=float, default=100.0, help="requests per second of the open loop")
    parser.add_argument("--clients", type=int, default=0, help="closed loop with so many clients")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--timeout", type=float, default=2.0, help="deadline of each request")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--key", default="")
    parser.add_argument("--idle", type=float, default=IDLE, help="seconds an idle connection is kept")
    print(json.dumps(asyncio.run(Load(parser.parse_args()).run())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
