"""What the processes of one training do in turns or once for all: read data, fit columns, notice that one has ended.

With one process everything here does nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import torch
from torch import distributed

from regard.training.launch import DESERTED
from regard.training.machine import make_accelerator, process_rank, world_size

Made = TypeVar("Made")
CLOSED = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Broken pipe",
    "Socket closed",
    "Socket Closed",
)
"""What gloo and the store of torch say when another process has ended."""


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
