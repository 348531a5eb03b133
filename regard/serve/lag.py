"""How late an event loop is: what waits in its sockets was not even read."""

from __future__ import annotations

import asyncio
import math

EVERY = 0.02
"""Seconds between two measurements."""
FEW = 100
"""Requests per second that cause no lag."""
USUAL = 0.05
"""Seconds of lag that a full server has anyway."""
PATIENCE = 0.25
"""Seconds of lag at which no row may wait."""
TURNS = 5
"""How often a request waits for the loop: it is accepted, read, submitted, resumed and answered."""


class LoopLag:
    """Measures how much later than asked an event loop calls back.

    seconds   the lag; it rises at once and falls slowly
    crowd     requests in the last second, refused ones too
    """

    def __init__(self) -> None:
        self.seconds, self.crowd, self._count = 0.0, 0.0, 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due = 0.0

    def watch(self) -> None:
        """Count a request, and measure the running loop from now on."""
        self._count += 1
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._due = loop, loop.time() + EVERY
            loop.call_at(self._due, self._measure, loop)

    @property
    def felt(self) -> float:
        """The lag if many requests cause it; 0 if the machine is busy with something else."""
        return self.seconds if self.crowd > FEW else 0.0

    @property
    def until_answered(self) -> float:
        """Seconds that a request spends waiting for the loop."""
        return TURNS * self.felt

    @property
    def share(self) -> float:
        """The share of the queue that may be used: 1 with a usual lag, 0 when it is too large."""
        return min(1.0, max(0.0, (PATIENCE - self.felt) / (PATIENCE - USUAL)))

    def _measure(self, loop: asyncio.AbstractEventLoop) -> None:
        if loop is not self._loop:
            return
        late = max(0.0, loop.time() - self._due)
        self.seconds = late if late > self.seconds else 0.8 * self.seconds + 0.2 * late
        past = math.exp(-(late + EVERY))  # the weight of what was counted before, by the second
        self.crowd, self._count = past * self.crowd + self._count, 0
        self._due = loop.time() + EVERY
        loop.call_at(self._due, self._measure, loop)
