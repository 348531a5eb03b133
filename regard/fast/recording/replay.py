"""Replays: a function of tensors on CUDA, recorded as a graph for each shape of its inputs.

The first call runs kernel by kernel, which compiles and tunes what is needed. The second call is recorded.
From then on the inputs are copied in, and one launch replays the graph. On other devices, and if a function
cannot be recorded (for example because it reads a number from the device), it runs without a graph.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from regard.fast.recording.buffers import Buffers, using_buffers, workspaces_of
from regard.private import copy_all, eager

KEPT = 48
"""Maximum number of recordings of one owner."""
IDLE = 4
"""A recording may be replaced after IDLE × (maximum number of recordings) calls without its use."""
COUNTED = 4096
"""Maximum number of keys whose calls are counted. Above it all counts are reset."""
PLAIN = (int, float, str, bool, type(None), torch.dtype)


class NoTensors(TypeError):
    """A value contains something that is neither a tensor nor a plain type."""


@cache
def _fields(kind: type) -> tuple[str, ...] | None:
    """The names of the fields of a dataclass; None for another type."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None


def tensors_of(value: Any) -> list[Tensor]:
    """The tensors of nested dataclasses, mappings and sequences, in order."""
    found: list[Tensor] = []
    _collect(value, found)
    return found


def _collect(value: Any, found: list[Tensor]) -> None:
    if isinstance(value, Tensor):
        found.append(value)
    elif isinstance(value, PLAIN):
        return
    elif (names := _fields(value.__class__)) is not None:
        for name in names:
            _collect(getattr(value, name), found)
    elif isinstance(value, (tuple, list)):
        for part in value:
            _collect(part, found)
    elif isinstance(value, Mapping):
        for part in value.values():
            _collect(part, found)
    else:
        raise NoTensors(type(value).__name__)


def with_tensors(value: Any, tensors: Iterator[Tensor]) -> Any:
    """The value with its tensors replaced, in order."""
    if isinstance(value, Tensor):
        return next(tensors)
    if (names := _fields(value.__class__)) is not None:
        return replace(value, **{name: with_tensors(getattr(value, name), tensors) for name in names})
    if isinstance(value, Mapping):
        return {name: with_tensors(part, tensors) for name, part in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(with_tensors(part, tensors) for part in value)
    return value


def plain_parts(value: Any) -> Hashable:
    """Everything but the tensors of a value: numbers, names, and the nesting."""
    if isinstance(value, Tensor):
        return Tensor
    if (names := _fields(value.__class__)) is not None:
        return (type(value), *((name, plain_parts(getattr(value, name))) for name in names))
    if isinstance(value, Mapping):
        return tuple((name, plain_parts(part)) for name, part in value.items())
    if isinstance(value, (tuple, list)):
        return tuple(plain_parts(part) for part in value)
    return value  # type: ignore[no-any-return]


def outside_inference() -> AbstractContextManager[Any]:
    """Leave inference mode, to create persistent tensors: its tensors cannot be written outside of it."""
    if not torch.is_inference_mode_enabled():
        return nullcontext()
    stack = ExitStack()
    stack.enter_context(torch.inference_mode(False))
    stack.enter_context(torch.no_grad())
    return stack


@contextmanager
def on_the_side(side: torch.cuda.Stream | None = None) -> Iterator[None]:
    """Run on `side`, or on a new stream, after all earlier and before all later launches of this stream."""
    here, side = torch.cuda.current_stream(), side or torch.cuda.Stream()
    side.wait_stream(here)
    with torch.cuda.stream(side):
        yield
    here.wait_stream(side)


@contextmanager
def recording(graph: torch.cuda.CUDAGraph, pool: Any) -> Iterator[None]:
    """Record launches into the graph, which takes its memory from the pool."""
    graph.capture_begin(pool=pool, capture_error_mode="thread_local")
    try:
        try:
            yield
        finally:
            graph.capture_end()
    except BaseException:
        _end_well()
        raise


def _end_well() -> None:
    """Reset torch's random generators after an aborted recording: a recording that completes does so."""
    torch.cuda.synchronize()
    graph, number = torch.cuda.CUDAGraph(), torch.zeros((), device="cuda")
    graph.capture_begin(capture_error_mode="thread_local")
    number.zero_()
    graph.capture_end()


class Recording:
    """One graph. Arguments are copied into `inputs`; the result lies in `found` until the next replay.

    workspaces   memory of the graph that its buffers may replace by larger memory
    """

    def __init__(self, function: Callable[[Any], Any], given: Any, pool: Any, buffers: Buffers) -> None:
        self.inputs = [tensor.clone() for tensor in tensors_of(given)]
        self.graph = torch.cuda.CUDAGraph()
        copied = with_tensors(given, iter(self.inputs))
        with on_the_side(), recording(self.graph, pool):
            self.found = function(copied)
        self.workspaces = workspaces_of(buffers)

    def replay(self, tensors: list[Tensor]) -> Any:
        copy_all(self.inputs, tensors)
        self.graph.replay()
        return self.found


Made = TypeVar("Made")


class Recordings(Generic[Made]):
    """Recordings by key: made when a key has been requested often enough, and kept while they are used.

    often   number of requests before a key is recorded: recording does not pay for rare keys
    most    maximum number of recordings; a new one replaces one that has not been used for long
    known   by key, the recording, or the reason why there is none; least recently used first
    """

    def __init__(self, often: int, most: int) -> None:
        self.often, self.most, self.calls = often, most, 0
        self.counts: dict[Hashable, int] = {}
        self.known: OrderedDict[Hashable, Made | str] = OrderedDict()
        self.last: dict[Hashable, int] = {}

    def get(self, key: Hashable, make: Callable[[], Made | str]) -> Made | None:
        """The recording for a key, or None."""
        self.calls += 1
        if key not in self.known:
            self.counts[key] = self.counts.get(key, 0) + 1
            if self.counts[key] <= self.often or not self._has_room():
                return None
            del self.counts[key]
            self.known[key] = make()
        self.known.move_to_end(key)
        self.last[key] = self.calls
        found = self.known[key]
        return None if isinstance(found, str) else found

    def _has_room(self) -> bool:
        if len(self.counts) > COUNTED:
            self.counts.clear()
            return False
        if len(self.known) < self.most:
            return True
        oldest = next(iter(self.known))
        if self.calls - self.last[oldest] < IDLE * self.most:
            return False
        del self.known[oldest], self.last[oldest]
        return True


class Replays:
    """The recordings of one owner, which share memory. A result is valid until the next call."""

    def __init__(self) -> None:
        self.recordings: Recordings[Recording] = Recordings(often=1, most=KEPT)
        self.pool: Any = None
        self.buffers: Buffers = {}

    def __call__(self, key: Hashable, function: Callable[[Any], Any], given: Any) -> Any:
        """function(given). Equal keys must mean equal functions; shapes, dtypes and precision are added."""
        try:
            tensors = tensors_of(given)
        except NoTensors:
            return function(given)
        if not tensors[0].is_cuda or not eager() or torch.cuda.is_current_stream_capturing():
            return function(given)
        shapes = tuple((tensor.shape, tensor.dtype) for tensor in tensors)
        key = (key, shapes, tensors[0].device, torch.get_float32_matmul_precision(), autocast_dtype())
        with using_buffers(self.buffers):
            known = self.recordings.get(key, lambda: self._recorded(function, given))
            return function(given) if known is None else known.replay(tensors)

    def _recorded(self, function: Callable[[Any], Any], given: Any) -> Recording | str:
        if self.pool is None:
            self.pool = torch.cuda.graph_pool_handle()
        try:
            return Recording(function, given, self.pool, self.buffers)
        except RuntimeError as error:  # the function cannot be recorded
            torch.cuda.synchronize()
            self.pool = None  # it may still count as in use
            return str(error)


class Recorder:
    """The recordings of one module. Only one thread at a time may use them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.replays = Replays()


_RECORDERS: WeakKeyDictionary[nn.Module, Recorder] = WeakKeyDictionary()


def recorder_of(owner: nn.Module) -> Recorder:
    return _RECORDERS.setdefault(owner, Recorder())


def autocast_dtype() -> torch.dtype | None:
    """The dtype of autocast, if it is on."""
    return torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else None
