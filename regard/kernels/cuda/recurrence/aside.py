"""Aside: work that nobody on the main way waits for yet, on a stream of its own; in a graph, a branch.

A product of one step fills a large GPU badly. What the gates of the next step need of a state (forward), or the state
before of the gates (backward), is computed while one looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from regard.kernels.cuda.recurrence.plan import Plan

LARGE = 1 << 16
"""Rows times features from which on a branch costs less than it saves."""
_STREAMS: dict[torch.device, torch.cuda.Stream] = {}


class Aside:
    """`with aside.work():` begins after everything before it; `join` waits for all of it."""

    def __init__(self, plan: Plan, device: torch.device) -> None:
        self.active = device.type == "cuda" and plan.rows * plan.size >= LARGE
        if self.active and device not in _STREAMS:
            _STREAMS[device] = torch.cuda.Stream(device)
        self.stream = _STREAMS[device] if self.active else None

    @contextmanager
    def work(self) -> Iterator[None]:
        if self.stream is None:
            yield
            return
        self.stream.wait_stream(torch.cuda.current_stream(self.stream.device))
        with torch.cuda.stream(self.stream):
            yield

    def join(self) -> None:
        if self.stream is not None:
            torch.cuda.current_stream(self.stream.device).wait_stream(self.stream)
