"""The machine of a run: devices, precision and processes, copies of batches to a GPU, and the signals that stop it.

Accelerate manages devices, precision and processes; it is set up once, at the start of a run. torchrun and accelerate
launch set the rank of a process in the environment. SIGTERM and Ctrl-C stop the run at the next step; a second Ctrl-C
stops it immediately.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from types import FrameType, TracebackType
from typing import Any, TypeVar

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs, InitProcessGroupKwargs
from torch import distributed

from regard.data.batch import Batch
from regard.errors import RegardError
from regard.model.base import named_device
from regard.private import forget_accelerator
from regard.training.launch import DESERTED

Made = TypeVar("Made")
CLOSED = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Broken pipe",
    "Socket closed",
    "Socket Closed",
)
"""What gloo and the store of torch say when another process has ended."""

PATIENCE = timedelta(hours=6)
"""How long a process waits for another that lives: one of them may be encoding a large file for all."""


def make_accelerator(precision: str = "fp32", device: str | None = None) -> Accelerator:
    """The named device, or the best available one; every process of a launch has its own.

    Accelerate keeps its first state for the life of the process. Outside a launch the state is reset, so that
    a notebook can train on another device, or with another precision, the next time.
    """
    if device is not None:
        named_device(device)
    if world_size() == 1:
        forget_accelerator()
    # Accelerate connects processes without GPUs only if it is told to use the CPU.
    on_cpu = device == "cpu" or (device is None and world_size() > 1 and not torch.cuda.is_available())
    with _named_device(device):
        accelerator = Accelerator(
            cpu=on_cpu,
            mixed_precision="no" if precision in ("fp32", "tf32") else precision,
            kwargs_handlers=[
                DistributedDataParallelKwargs(find_unused_parameters=True),
                InitProcessGroupKwargs(timeout=PATIENCE),
            ],
        )
    if device is not None and accelerator.device.type != device.partition(":")[0]:
        raise RegardError(
            f"the device {device} is not available on this machine, only {accelerator.device.type}.",
            where="device",
        )
    if accelerator.num_processes != world_size():
        raise RegardError(
            f"WORLD_SIZE is {world_size()}, but {accelerator.num_processes} processes are connected.",
            where="device",
            fix="Set RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun does.",
        )
    # operations that stay in single precision, such as recurrences, still have more digits in tf32
    torch.set_float32_matmul_precision("highest" if precision == "fp32" else "high")
    if precision == "fp16" and accelerator.device.type == "cpu":
        raise RegardError("fp16 needs a GPU.", where="training.precision", fix="Use bf16 or fp32 on a CPU.")
    return accelerator


@contextmanager
def precision_restored() -> Iterator[None]:
    """Restore the precision of matrix products afterwards: it holds for the whole process, not for one run."""
    before = torch.get_float32_matmul_precision()
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def _named_device(device: str | None) -> Iterator[None]:
    """Set the device in the environment: Accelerate reads a particular one ("cuda:1") only from there."""
    name = "ACCELERATE_TORCH_DEVICE"
    before = os.environ.get(name)
    if device is not None and ":" in device:
        os.environ[name] = device
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


def sent_ahead(batches: Iterator[Batch], device: torch.device) -> Iterator[Batch]:
    """The same batches, in order. On CUDA a yielded batch has arrived, or arrives before it is read."""
    if device.type != "cuda":
        yield from batches
        return
    side = torch.cuda.Stream(device)
    waiting: tuple[Batch, torch.cuda.Event] | None = None
    for batch in batches:
        # The batch after the next reuses the memory of a batch. All kernels that read it have been launched
        # by now.
        side.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(side):
            sent = batch.to(device), side.record_event()
        if waiting is not None:
            yield _arrived(*waiting)
        waiting = sent
    if waiting is not None:
        yield _arrived(*waiting)


def _arrived(batch: Batch, event: torch.cuda.Event) -> Batch:
    torch.cuda.current_stream().wait_event(event)
    return batch


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


class Deserted(SystemExit):
    """Another process of this training has ended, so that this one cannot go on."""

    def __init__(self) -> None:
        super().__init__(DESERTED)


def join(precision: str, device: str | None) -> None:
    """Connect the processes of a launch, before they read data."""
    if world_size() > 1:
        make_accelerator(precision, device)


@contextmanager
def first_on_machine() -> Iterator[None]:
    """Let the first process on this machine do something while the others wait, then the others: what it wrote into a
    cache is there for them."""
    if world_size() == 1:
        yield
        return
    first = int(os.environ.get("LOCAL_RANK", "0")) == 0
    if not first:
        wait_for_all()
    yield
    if first:
        wait_for_all()


def made_once(make: Callable[[], Made]) -> Made:
    """What the first process makes, sent to all."""
    if world_size() == 1:
        return make()
    sent: list[Made | None] = [make() if process_rank() == 0 else None]
    distributed.broadcast_object_list(sent)
    (made,) = sent
    return made  # type: ignore[return-value]


def wait_for_all() -> None:
    """Return when every process is here. With NCCL each names its own GPU."""
    if distributed.get_backend() == "nccl":
        distributed.barrier(device_ids=[torch.cuda.current_device()])
    else:
        distributed.barrier()


@contextmanager
def together(note: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Turn the error of a broken connection into `Deserted`.

    note   called before, in a process that is deserted
    """
    try:
        yield
    except RuntimeError as error:
        if world_size() == 1 or not is_broken(error):
            raise
        note()
        raise Deserted from error


def leave() -> None:
    """Disconnect from the other processes, at the end of the training."""
    if world_size() > 1 and distributed.is_initialized():
        with suppress(RuntimeError):
            distributed.destroy_process_group()


def is_broken(error: RuntimeError) -> bool:
    """Whether an error says that the connection to another process is broken."""
    return isinstance(error, distributed.DistError) or any(words in str(error) for words in CLOSED)
