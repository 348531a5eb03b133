"""Time, peak memory and kernel launches of one call."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

GIB = 2**30
SLOW = 50.0
"""Milliseconds. If a side takes longer, both have fewer tries."""
WARM_UP = 0.2
"""Seconds that each side runs before the first turn."""
BEFORE_TURN = 0.02
"""Seconds that a side runs at the beginning of each turn before it is measured."""
Call = Callable[[], object]


def timed(call: Call, device: str) -> tuple[float, float]:
    """Wall and CPU time in milliseconds."""
    if device == "cuda":
        torch.cuda.synchronize()
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    if device == "cuda":
        torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu)


def warm(call: Call, device: str, seconds: float, least: int) -> None:
    """Call without measuring, for this long and at least this often."""
    began, count = time.perf_counter(), 0
    while count < least or time.perf_counter() - began < seconds:
        timed(call, device)
        count += 1


def alternating(calls: Mapping[str, Call], device: str, repeats: int) -> dict[str, list[tuple[float, float]]]:
    """Wall and CPU times of each side, in rounds in which each has its turn.

    All sides have equally many tries, at least ten. Each turn begins with calls that are not measured: after a
    long call of another side, caches, clocks and threads are cold.
    """
    for call in calls.values():
        warm(call, device, WARM_UP, 3)
    slow = max(timed(call, device)[0] for call in calls.values()) > SLOW
    rounds, tries = (5, 2) if slow else (repeats, 5)
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    gc.disable()  # as timeit does: no side pays for another's garbage
    try:
        for _ in range(rounds):
            for name, call in calls.items():
                warm(call, device, BEFORE_TURN, 1)
                samples[name] += [timed(call, device) for _ in range(tries)]
    finally:
        gc.enable()
    return samples


def status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    return 0


def peak_memory(call: Call, device: str) -> float:
    """Peak memory of a call in GiB, beyond the memory held before."""
    gc.collect()
    if device == "cuda":
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        call()
        torch.cuda.synchronize()
        return (torch.cuda.max_memory_allocated() - before) / GIB
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    call()
    return max(0, status("VmHWM") - before) / GIB


def launches(call: Call) -> int | None:
    """Number of kernels that one call launches on the device; None if the profiler fails."""
    from torch.profiler import ProfilerActivity, profile

    try:
        with profile(activities=[ProfilerActivity.CUDA]) as record:
            call()
            torch.cuda.synchronize()
    except RuntimeError:
        return None
    return sum(event.count for event in record.key_averages() if not event.key.startswith(("Mem", "cuda")))


def usable(device: str) -> bool:
    """Whether the device still works: after an illegal access every call to it fails in this process."""
    if device != "cuda":
        return True
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        print(f"The device is lost to this process: {str(error).splitlines()[0]}", flush=True)
        return False
    return True
