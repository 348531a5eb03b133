"""Devices: Accelerate, which manages devices, precision and processes, and copies of batches to a GPU.

Accelerate is set up once, at the start of a run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs

from regard.data.batch import Batch
from regard.errors import RegardError
from regard.model.base import named_device
from regard.private import forget_accelerator


def make_accelerator(precision: str = "fp32", device: str | None = None) -> Accelerator:
    """The named device, or the best available one; every process of a launch has its own.

    Accelerate keeps its first state for the life of the process. Outside a launch the state is reset, so that
    a notebook can train on another device, or with another precision, the next time.
    """
    if device is not None:
        named_device(device)
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        forget_accelerator()
    with _named_device(device):
        accelerator = Accelerator(
            cpu=device == "cpu",
            mixed_precision="no" if precision in ("fp32", "tf32") else precision,
            kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)],
        )
    if device is not None and accelerator.device.type != device.partition(":")[0]:
        raise RegardError(
            f"the device {device} is not available on this machine, only {accelerator.device.type}.",
            where="device",
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
