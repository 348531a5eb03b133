"""Graphs: the steps of a plan, recorded once and replayed, so that a thousand launches cost one.

The first run of a plan goes kernel by kernel, which compiles the kernels. The second run is recorded. Sizes
are rounded, so that many batches share a plan. All plans of one kind, device and precision lie on one buffer;
when it must grow, they are recorded again. At most `KEPT` plans are kept, and the least recently used one is
dropped. Only one stream at a time may use them.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast

import torch
from torch import Tensor

from regard.fast.cuda.recurrence.workspace import Buffer, Named, needed
from regard.fast.recording.buffers import buffers, shared

KEPT = 128
Allocated = TypeVar("Allocated", bound=Named)
SPARE = 1.1
"""A buffer that must grow is allocated larger than requested by this factor."""


class PlanGraphs(Generic[Allocated]):
    """One plan: its workspace, and its graphs by name; None for steps that have run but are not recorded."""

    def __init__(self, workspace: Allocated) -> None:
        self.workspace = workspace
        self.graphs: dict[Any, torch.cuda.CUDAGraph | None] = {}

    def run(self, name: Any, steps: Callable[[], None]) -> None:
        flat = self.workspace.buffer.flat
        if not flat.is_cuda or torch.cuda.is_current_stream_capturing():
            steps()
            return
        name = (name, _precision())
        if name not in self.graphs:
            self.graphs[name] = None
            steps()
            return
        graph = self.graphs[name]
        if graph is None:
            graph = self.graphs[name] = _record(flat.device, steps)
        graph.replay()


class Graphs:
    """The plans of one kind, device, precision and place, and their buffer."""

    def __init__(self) -> None:
        self.buffer: Buffer | None = None
        self.plans: OrderedDict[Hashable, PlanGraphs[Any]] = OrderedDict()

    @property
    def free(self) -> bool:
        return self.buffer is None or self.buffer.holder is None

    def of(
        self, plan: Hashable, size: int, device: torch.device, dtype: torch.dtype
    ) -> PlanGraphs[Any] | None:
        """The record of a plan that needs `size` numbers, or None."""
        if self.buffer is None or len(self.buffer.flat) < size:
            grown = int(size * SPARE) if self.buffer is not None else size
            self.plans.clear()
            self.buffer = None
            self.buffer = Buffer(device, dtype, grown)
        found = self.plans.get(plan)
        if found is not None:
            self.plans.move_to_end(plan)
        return found

    def remember(self, plan: Hashable, found: PlanGraphs[Any]) -> None:
        self.plans[plan] = found
        if len(self.plans) > KEPT:
            self.plans.popitem(last=False)


_SIDE: dict[torch.device, tuple[torch.cuda.Stream, torch.cuda.CUDAGraph, Tensor]] = {}


def recorded(
    plan: Any,
    shapes: Callable[[Any], Mapping[str, tuple[int, ...]]],
    allocate: Callable[[Any, Buffer], Allocated],
    device: torch.device,
    place: int = 0,
) -> PlanGraphs[Allocated]:
    """The workspace of a plan, with tensors of `shapes`, and its graphs, in the buffer of its kind and place."""
    graphs: Graphs = buffers().setdefault(_kind(plan, device, place), Graphs())
    found = graphs.of(plan, _size(plan, shapes), device, plan.dtype)
    if found is None:
        found = PlanGraphs(allocate(plan, cast(Buffer, graphs.buffer)))
        graphs.remember(plan, found)
    return found


def free_place(plan: Any, device: torch.device) -> int:
    """The first place whose values no backward pass waits for, so that each layer of a recording has its own.
    Shared buffers have a single place: running a forward pass again costs less than that much memory."""
    if shared():
        return 0
    kinds = (_kind(plan, device, place) for place in itertools.count())
    found = (buffers().get(kind) for kind in kinds)
    return next(at for at, known in enumerate(found) if known is None or known.free)


def _kind(plan: Any, device: torch.device, place: int) -> Hashable:
    return (type(plan).__name__, device, plan.dtype, place)


@lru_cache(maxsize=256)
def _size(plan: Any, shapes: Callable[[Any], Mapping[str, tuple[int, ...]]]) -> int:
    return needed(shapes(plan))


def unnarrowed(tensor: Tensor) -> AbstractContextManager[Any]:
    """Turn autocast off: a recurrence keeps the precision of its weights."""
    kind = tensor.device.type
    return torch.autocast(kind, enabled=False) if torch.is_autocast_enabled(kind) else nullcontext()


def forget() -> None:
    """Free all graphs and their memory."""
    buffers().clear()


def _precision() -> str:
    """Part of a graph's name, because a graph keeps the precision of its matrix products."""
    return torch.get_float32_matmul_precision()


def _record(device: torch.device, steps: Callable[[], None]) -> torch.cuda.CUDAGraph:
    """Record without the garbage collection of `torch.cuda.graph`, since the steps allocate little."""
    if device not in _SIDE:
        # A pool lives as long as a graph that uses it, so this empty graph is kept.
        anchor, number = torch.cuda.CUDAGraph(), torch.zeros((), device=device)
        side = torch.cuda.Stream(device)
        side.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(side):
            anchor.capture_begin(capture_error_mode="thread_local")
            number.zero_()
            anchor.capture_end()
        _SIDE[device] = side, anchor, number
    side, anchor, _ = _SIDE[device]
    pool = anchor.pool()
    graph, here = torch.cuda.CUDAGraph(), torch.cuda.current_stream(device)
    side.wait_stream(here)
    with torch.cuda.stream(side):
        graph.capture_begin(pool=pool, capture_error_mode="thread_local")
        try:
            steps()
        finally:
            graph.capture_end()
    here.wait_stream(side)
    return graph
