"""Processes on this machine that train together: started, watched and ended together.

Every process is the same command with its rank in the environment, as torchrun sets it. The first one has the terminal.
What the others print is kept, and its last lines are shown if one of them is the first to fail. If one process ends
with an error, all are ended; if the process that started them ends, even by SIGKILL, they end themselves.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO

from regard.errors import Option, RegardError, Words

LAUNCHED = "REGARD_LAUNCHED"
"""In the environment of a started process: the descriptor of a pipe that closes when its parent ends."""
DESERTED = 70
"""The exit code of a process that stopped because another one ended."""
GRACE = 3.0
"""Seconds in which the others may end by themselves after one failed."""
POLL = 0.02
LAST_LINES = 12


class LaunchedProcesses:
    """Several processes of one command on this machine.

    gpus   whether each has a GPU of its own; else all of them compute on the CPU
    """

    def __init__(self, command: Sequence[str], processes: int, *, gpus: bool) -> None:
        self.command, self.count, self.gpus = list(command), processes, gpus
        self.processes: list[subprocess.Popen[bytes]] = []
        self.printed: list[IO[bytes]] = []
        self.received = 0

    def run(self, *, remedy: Words) -> int:
        """Run the command to its end; its exit code. A failure of a process other than the first raises RegardError.

        remedy   how to go on after a failure
        """
        ended, held = os.pipe()
        with (
            _held_port() as port,
            tempfile.TemporaryDirectory(prefix="regard-launch-") as folder,
            self._signals(),
        ):
            try:
                for rank in range(self.count):
                    self._start(rank, port, ended, Path(folder))
                return self._watch(remedy)
            finally:
                self._end()
                os.close(ended)
                os.close(held)
                for file in self.printed:
                    file.close()

    def _start(self, rank: int, port: int, ended: int, folder: Path) -> None:
        said: IO[bytes] | None = None
        if rank > 0:
            said = (folder / str(rank)).open("w+b")
            self.printed.append(said)
        self.processes.append(
            subprocess.Popen(
                self.command,
                env={**os.environ, **self._environment(rank, port), LAUNCHED: str(ended)},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                pass_fds=(ended,),
                process_group=0,  # Ctrl-C reaches this process alone, which passes it on
            )
        )

    def _environment(self, rank: int, port: int) -> dict[str, str]:
        count, threads = str(self.count), max(1, (os.cpu_count() or 1) // self.count)
        found = {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": count,
            "LOCAL_WORLD_SIZE": count,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "TORCH_CPP_LOG_LEVEL": os.environ.get("TORCH_CPP_LOG_LEVEL", "ERROR"),
        }
        if "OMP_NUM_THREADS" not in os.environ:
            found["OMP_NUM_THREADS"] = str(threads)
        return found if self.gpus else {**found, "CUDA_VISIBLE_DEVICES": ""}

    def _watch(self, remedy: Words) -> int:
        """Wait until all have ended, or one has failed."""
        while True:
            codes = [process.poll() for process in self.processes]
            failed = [rank for rank, code in enumerate(codes) if code]
            if failed or None not in codes:
                break
            time.sleep(POLL)
        if not failed:
            return 0
        self._await_others()
        if self.received:
            return 128 + self.received
        first = min(failed, key=lambda rank: (codes[rank] == DESERTED, rank))
        mine = self.processes[0].poll()
        if mine == 2 or (first == 0 and codes[0] in (1, 130)):  # it has said why
            return mine or 1
        raise RegardError(self._reason(first, int(codes[first] or 0)), fix=remedy)

    def _await_others(self) -> None:
        end = time.monotonic() + GRACE + (60.0 if self.received else 0.0)
        while time.monotonic() < end and any(process.poll() is None for process in self.processes):
            time.sleep(POLL)

    def _reason(self, rank: int, code: int) -> str:
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
            why = f"was killed by {name}"
            why += ", perhaps because memory ran out" if -code == signal.SIGKILL else ""
        else:
            why = f"ended with exit code {code}"
        lines = self._last_lines(rank)
        shown = f":\n{lines}" if lines else "."
        return f"process {rank} of {self.count} {why}, and the others were ended{shown}"

    def _last_lines(self, rank: int) -> str:
        if rank == 0:
            return ""
        file = self.printed[rank - 1]
        file.seek(0)
        lines = file.read().decode("utf-8", errors="replace").rstrip().splitlines()
        return "\n".join(f"  {line}" for line in lines[-LAST_LINES:])

    def _end(self) -> None:
        """End every process that is left, with the processes that it started."""
        for process in self.processes:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in self.processes:
            process.wait()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Pass SIGTERM and Ctrl-C on to all: they agree on a step, write a checkpoint, and stop."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def passed_on(number: int, frame: FrameType | None) -> None:
            self.received = self.received or number
            for process in self.processes:
                with suppress(ProcessLookupError):
                    process.send_signal(number)

        before = {number: signal.signal(number, passed_on) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def _held_port() -> Iterator[int]:
    """A free port of this machine, held until the first process listens there: both sockets may bind it, because
    this one does not listen."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


def is_launched(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this process is one of a `LaunchedProcesses`."""
    return LAUNCHED in environment


def end_with_parent() -> None:
    """In a process of a `LaunchedProcesses`: end as soon as its parent has ended."""
    descriptor = int(os.environ[LAUNCHED])

    def watch() -> None:
        with suppress(OSError):
            os.read(descriptor, 1)
        os.killpg(0, signal.SIGKILL) if os.getpgrp() == os.getpid() else os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def launch_here(arguments: Sequence[str], processes: int, device: str | None, *, remedy: Words) -> int:
    """Run `regard ARGUMENTS` in several processes on this machine; the exit code."""
    import torch

    if device is not None and device not in ("cpu", "cuda"):
        raise RegardError(
            f"{processes} devices are the first {processes} GPUs, or the CPU; received {device}.",
            where=Option("device"),
            fix="Leave it out, or choose the GPUs with CUDA_VISIBLE_DEVICES.",
        )
    found = 0 if device == "cpu" else torch.cuda.device_count()
    if device == "cuda" and found < processes:
        raise RegardError(
            f"{processes} processes need as many GPUs; this machine has {found}.",
            where=Option("devices"),
            fix=f"Use {found}." if found else "Leave out the device to compute on the CPU.",
        )
    command = [sys.executable, "-m", "regard", *arguments]
    return LaunchedProcesses(command, processes, gpus=found >= processes).run(remedy=remedy)
