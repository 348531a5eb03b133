"""This process among those of a run: its rank, and the signals that stop it.

torchrun and accelerate launch set the rank in the environment. SIGTERM and Ctrl-C stop the run at the next step; a
second Ctrl-C stops it immediately.
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any


def process_rank() -> int:
    """The number of this process among those that train together, from 0."""
    return int(os.environ.get("RANK", "0"))


def world_size() -> int:
    """The number of processes that train together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


class Interrupted(SystemExit):
    """The run stopped after a signal and a checkpoint; exit code 128 + the signal's number, as in a shell."""

    def __init__(self, number: int) -> None:
        self.signal = signal.Signals(number)
        super().__init__(128 + number)


class Signals:
    """Inside `with Signals() as signals`, `signals.received` is the number of the received signal, or 0.

    Python allows signal handlers only in the main thread; in other threads this has no effect.
    """

    WATCHED = (signal.SIGTERM, signal.SIGINT)

    def __init__(self) -> None:
        self.received = 0
        self._before: dict[int, Any] = {}

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and self.received == signal.SIGINT:
            raise KeyboardInterrupt
        self.received = self.received or number

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in self.WATCHED:
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
