"""What a server counts, for Prometheus."""

from __future__ import annotations

import os
from typing import Any

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The folder through which several processes add their counts, as prometheus_client names it."""


class Metrics:
    """Counters of one server, in a registry of their own."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        self._requests = Counter(
            "regard_requests", "Requests by route and status.", ("route", "status"), **own
        )
        self._seconds = Histogram(
            "regard_request_seconds", "Seconds until the answer.", ("route",), buckets=SECONDS, **own
        )
        self._queue = Gauge("regard_queue_rows", "Rows that wait.", multiprocess_mode="livesum", **own)
        self._batches = Histogram("regard_batch_rows", "Rows computed together.", buckets=ROWS, **own)
        self._computing = Histogram(
            "regard_batch_seconds", "Seconds to compute a batch.", buckets=SECONDS, **own
        )
        self._tokens = Counter("regard_tokens", "Tokens written.", **own)
        self._dropped = Counter(
            "regard_dropped_rows",
            "Rows dropped before they were computed: late, or their client left.",
            **own,
        )

    def request(self, route: str, status: int, seconds: float) -> None:
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def batch(self, rows: int, seconds: float) -> None:
        self._batches.observe(rows)
        self._computing.observe(seconds)

    def tokens(self, count: int) -> None:
        self._tokens.inc(count)

    def dropped(self, count: int) -> None:
        self._dropped.inc(count)

    def written(self, waiting: int) -> tuple[bytes, str]:
        """All counts in the format of Prometheus, and its content type."""
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

        self._queue.set(waiting)
        registry = self.registry
        if os.environ.get(SHARED):
            from prometheus_client.multiprocess import MultiProcessCollector

            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry), CONTENT_TYPE_LATEST
